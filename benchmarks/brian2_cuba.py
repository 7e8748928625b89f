"""Brian2's example CUBA by Brian2 and on loihi1: equal to the integers' meaning, and how far from Brian2's own run.

    python -m benchmarks.brian2_cuba --neurons 1000 --dt 0.1 --ms 100 --out benchmarks/results/brian2_cuba.json

Fewer neurons than 4000 have as many synapses each as there (80). The yardstick is Brian2 against itself, with initial
voltages that differ by a millionth of a volt: the network is chaotic, and no two simulators agree for long.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import brian2 as b2
import numpy as np
from brian2 import ms, mV

import neuromap as nm
import neuromap.backends.brian2
from neuromap.quantise.spike_distance import train_distance

EQUATIONS = """
dv/dt  = (ge+gi-(v-El))/taum : volt (unless refractory)
dge/dt = -ge/taue : volt
dgi/dt = -gi/taui : volt
"""


def cuba(n_neurons: int, duration: float, shift: float = 0.0) -> Any:
    """Build and run the example, the same for the same seed; return its monitor."""
    b2.start_scope()
    rng = np.random.default_rng(0)
    namespace = {"taum": 20 * ms, "taue": 5 * ms, "taui": 10 * ms, "Vt": -50 * mV, "Vr": -60 * mV, "El": -49 * mV}
    namespace |= {"we": 60 * 0.27 / 10 * mV, "wi": -20 * 4.5 / 10 * mV}
    group = b2.NeuronGroup(
        n_neurons, EQUATIONS, threshold="v>Vt", reset="v = Vr", refractory=5 * ms, method="exact", namespace=namespace
    )
    group.v = (-60e-3 + rng.random(n_neurons) * 10e-3 + shift) * b2.volt
    pre, post = np.nonzero(rng.random((n_neurons, n_neurons)) < 80 / n_neurons)
    synapses = []
    for code, mine in (("ge += we", pre < 0.8 * n_neurons), ("gi += wi", pre >= 0.8 * n_neurons)):
        synapses.append(b2.Synapses(group, group, on_pre=code, namespace=namespace))
        synapses[-1].connect(i=pre[mine], j=post[mine])
    monitor = b2.SpikeMonitor(group)
    b2.Network(group, *synapses, monitor).run(duration * ms)
    return monitor


def frames(monitor: Any, dt: float, steps: int) -> Any:
    """Spikes as an array, a row for every step."""
    found = np.zeros((steps, len(monitor.source)), np.bool_)
    found[np.rint(np.array(monitor.t) / (1e-3 * dt)).astype(int), np.array(monitor.i)] = True
    return found


def measure(n_neurons: int, dt: float, duration: float) -> dict[str, Any]:
    """Run it three times and compare."""
    b2.prefs.codegen.target = "numpy"
    b2.defaultclock.dt = dt * ms
    steps = round(duration / dt)
    own = frames(cuba(n_neurons, duration), dt, steps)
    again = frames(cuba(n_neurons, duration, 1e-6), dt, steps)
    b2.set_device("neuromap", chip="loihi1")
    b2.defaultclock.dt = dt * ms
    chip = frames(cuba(n_neurons, duration), dt, steps)
    loaded = neuromap.backends.brian2.device.chip
    (name,) = loaded.translated.groups
    exact = np.array_equal(chip, nm.reference(loaded.rollout, loaded.frames)[name][1:])
    (errors,) = loaded.quantised.quantisation.nodes
    distances = {
        key: train_distance(name, found, own, 1e-3 * dt, by="Brian2")
        for key, found in (("chip", chip), ("again", again))
    }
    return {
        "neurons": n_neurons,
        "dt_ms": dt,
        "duration_ms": duration,
        "cores": loaded.program.n_cores,
        "equal_to_integer_reference": exact,
        "spikes_of_brian2": int(own.sum()),
        "spikes_on_chip": int(chip.sum()),
        "tau_error": errors.tau_error,
        "weight_error": max(edge.weight_error for edge in loaded.quantised.quantisation.edges),
        "van_rossum_10_ms": round(distances["chip"].distance, 4),
        "of_brian2_after_1_uV": round(distances["again"].distance, 4),
        "of_silence": round(distances["chip"].of_silence, 4),
    }


def main() -> None:
    """Measure one size and add it to the results."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--neurons", type=int, default=1000)
    arguments.add_argument("--dt", type=float, default=0.1, help="milliseconds of a tick")
    arguments.add_argument("--ms", type=float, default=100)
    arguments.add_argument("--out", type=Path)
    given = arguments.parse_args()
    row = measure(given.neurons, given.dt, given.ms)
    print(json.dumps(row, indent=2))
    if given.out:
        rows = json.loads(given.out.read_text(encoding="utf-8")) if given.out.exists() else []
        given.out.write_text(json.dumps([*rows, row], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
