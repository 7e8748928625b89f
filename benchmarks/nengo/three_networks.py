"""Error of three networks on the chip, beside Nengo's own simulator: ``python benchmarks/nengo/three_networks.py``.

A communication channel, an integrator and a controlled oscillator, 200 neurons an ensemble, ten seeds. The ideal signal
is what the same network computes in direct mode, where every ensemble is replaced by its mathematics. Writes
``results/nengo_three_networks.json`` beside the other results.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nengo
import numpy as np

import neuromap.backends.nengo

N_NEURONS = 200
RESULT = Path(__file__).parents[1] / "results" / "nengo_three_networks.json"


def channel(neurons: int = N_NEURONS) -> Any:
    """Two ensembles, one after the other, on a random signal below 5 Hz; 2 s."""
    stimulus = nengo.Node(nengo.processes.WhiteSignal(2.0, high=5, rms=0.4, seed=1))
    first, second = nengo.Ensemble(neurons, 1), nengo.Ensemble(neurons, 1)
    nengo.Connection(stimulus, first)
    nengo.Connection(first, second)
    return second


def integrator(neurons: int = N_NEURONS) -> Any:
    """One ensemble that integrates pulses; 3 s."""
    tau = 0.1
    stimulus = nengo.Node(lambda t: 1.5 * ((0.2 < t < 0.7) - (1.2 < t < 1.9)) + 0.5 * (2.2 < t < 2.7))
    state = nengo.Ensemble(neurons, 1)
    nengo.Connection(stimulus, state, transform=tau, synapse=tau)
    nengo.Connection(state, state, synapse=tau)
    return state


def oscillator(neurons: int = N_NEURONS) -> Any:
    """One ensemble of three dimensions that turns two of them at the speed which the third tells; 2 s."""
    tau, fastest = 0.1, 10.0
    kick = nengo.Node(lambda t: [1.0, 0.0] if t < 0.1 else [0.0, 0.0])
    speed = nengo.Node(lambda t: 0.6 if t < 1.0 else 0.9)
    state = nengo.Ensemble(neurons, 3, radius=1.7)

    def turn(x: Any) -> Any:
        step = tau * fastest * x[2]
        return x[0] - step * x[1], x[1] + step * x[0]

    nengo.Connection(kick, state[:2])
    nengo.Connection(speed, state[2])
    nengo.Connection(state, state[:2], function=turn, synapse=tau)
    return state[:2]


NETWORKS: dict[str, tuple[Callable[..., Any], float]] = {
    "communication channel": (channel, 2.0),
    "integrator": (integrator, 3.0),
    "controlled oscillator": (oscillator, 2.0),
}


def run(
    make: Callable[[], Any], seconds: float, seed: int, simulator: Any, direct: bool = False, **options: Any
) -> Any:
    """Give what a probe with a synapse of 30 ms sees, shape (steps, dimensions), and the simulator."""
    with nengo.Network(seed=seed) as network:
        if direct:
            network.config[nengo.Ensemble].neuron_type = nengo.Direct()
        probe = nengo.Probe(make(), synapse=0.03)
    with simulator(network, progress_bar=False, **options) as sim:
        sim.run(seconds)
    return sim.data[probe], sim


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--ticks-per-step", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the results' file")
    arguments = parser.parse_args()
    rows = {}
    for name, (make, seconds) in NETWORKS.items():
        ideal, _ = run(make, seconds, 0, nengo.Simulator, direct=True)
        errors: dict[str, list[float]] = {"nengo": [], "chip": []}
        for seed in range(arguments.seeds):
            for which, simulator in (("nengo", nengo.Simulator), ("chip", neuromap.backends.nengo.Simulator)):
                options = {"ticks_per_step": arguments.ticks_per_step} if which == "chip" else {}
                found, sim = run(make, seconds, seed, simulator, **options)
                errors[which].append(float(np.sqrt(np.mean((found - ideal) ** 2))))
                assert which == "nengo" or all(
                    p.where == "chip" for p in sim.placement if "Ensemble" in str(p.object)[:9]
                )
        means = {which: float(np.mean(values)) for which, values in errors.items()}
        rows[name] = {"seconds": seconds, "rmse": errors, "mean": means, "ratio": means["chip"] / means["nengo"]}
        print(
            f"{name:22}  {seconds:.0f} s  RMSE, mean of {arguments.seeds} seeds: Nengo's LIF {means['nengo']:.4f}, "
            f"chip {means['chip']:.4f}, ratio {rows[name]['ratio']:.2f}",
            flush=True,
        )
    if arguments.write:
        RESULT.write_text(json.dumps({"neurons": N_NEURONS, "networks": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
