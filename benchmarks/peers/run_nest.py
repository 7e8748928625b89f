"""NEST on one thread: ``iaf_psc_delta`` with next to no decay, static synapses of one weight per model.

In a step NEST adds the constant current, takes the spikes that are due and compares: the chip's tick. The membrane
decays by 10^-9 of itself in a step, and the threshold lies half a unit lower, so no rounding can move a spike.
"""

from __future__ import annotations

import time

import nest
import numpy as np
from measure import Stopwatch, arguments, report
from network import Network, read_network, synapses

_TAU_MS = 1e9
_NEVER = -1e9
_NEURONS_OF_A_THREAD = 2**19
"""NEST numbers the neurons of a thread with 19 bits (TargetData) and does not notice more: spikes go astray."""


def _build(network: Network) -> None:
    nest.ResetKernel()
    nest.verbosity = nest.VerbosityLevel.ERROR
    nest.SetKernelStatus({"resolution": 1.0, "local_num_threads": 1, "overwrite_files": True})
    cells = nest.Create(
        "iaf_psc_delta",
        network.n_neurons,
        {
            "C_m": 1.0,
            "tau_m": _TAU_MS,
            "t_ref": 0.0,
            "E_L": 0.0,
            "V_min": _NEVER,
            "V_th": network.threshold - 0.5,
            "V_reset": float(network.reset),
            "I_e": float(network.leak),
        },
    )
    cells.V_m = np.array(network.potential, np.float64).reshape(-1)
    for weight in network.weight_values:
        model = f"synapse_{'minus' if weight < 0 else 'plus'}_{abs(weight)}"
        nest.CopyModel("static_synapse_hom_w", model, {"weight": float(weight), "delay": float(network.delay)})
        for pre, post, _ in synapses(network, weight, cores_at_once=16):
            # Numbers in NEST start at 1.
            nest.Connect(pre.astype(np.int64) + 1, post.astype(np.int64) + 1, "one_to_one", {"synapse_model": model})


def main() -> None:
    """Build, run, count."""
    asked = arguments()
    start = time.perf_counter()
    network = read_network(asked.network)
    if network.n_neurons > _NEURONS_OF_A_THREAD:
        raise SystemExit("one thread holds at most 2^19 neurons, 2048 cores; its spikes go astray beyond")
    _build(network)
    nest.Prepare()
    build_s = time.perf_counter() - start
    spikes = []
    for _ in range(asked.warm):
        nest.Run(1.0)
        spikes.append(nest.local_spike_counter)  # of the last run alone
    with Stopwatch() as clock:
        nest.Run(float(asked.ticks))
    spikes.append(nest.local_spike_counter)
    nest.Cleanup()
    report(asked, version=nest.__version__, cpu_s=clock.cpu_s, wall_s=clock.wall_s, build_s=build_s, spikes=spikes)


if __name__ == "__main__":
    main()
