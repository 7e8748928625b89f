"""The three networks on TrueNorth, beside Nengo's own LIF: ``python benchmarks/nengo/crossbar_networks.py``.

60 neurons a dimension, up to 4 axons for every source; neurons on the chip are ``SpikingRectifiedLinear``, as those of
a crossbar core do not decay. With Nengo's solver as it is, and with half its regularisation. Every figure is written at
once to ``results/nengo_crossbar.json``, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nengo
import numpy as np
from three_networks import NETWORKS

import neuromap.backends.nengo

PER_DIMENSION = 60
DIMENSIONS = {"communication channel": 1, "integrator": 1, "controlled oscillator": 3}
REGULARISATIONS = (0.1, 0.05)
RESULT = Path(__file__).parents[1] / "results" / "nengo_crossbar.json"


def run(
    make: Callable[..., Any], name: str, seed: int, neurons: Any, solver: Any, simulator: Any, **options: Any
) -> Any:
    """Give what a probe with a synapse of 30 ms sees, shape (steps, dimensions), and the simulator."""
    with nengo.Network(seed=seed) as network:
        network.config[nengo.Ensemble].neuron_type = neurons
        network.config[nengo.Connection].solver = solver
        probe = nengo.Probe(make(PER_DIMENSION * DIMENSIONS[name]), synapse=0.03, solver=solver)
    with simulator(network, progress_bar=False, **options) as sim:
        sim.run(NETWORKS[name][1])
    return sim.data[probe], sim


def measure(name: str, seed: int, regularisation: float) -> dict[str, Any]:
    """Give the errors of Nengo's LIF and of the chip, and what the chip takes."""
    make, _ = NETWORKS[name]
    solver = nengo.solvers.LstsqL2(reg=regularisation)
    ideal, _ = run(make, name, 0, nengo.Direct(), solver, nengo.Simulator)
    theirs, _ = run(make, name, seed, nengo.LIF(), solver, nengo.Simulator)
    chip = {"chip": "truenorth", "decoder_error": 0}
    neurons, simulator = nengo.SpikingRectifiedLinear(), neuromap.backends.nengo.Simulator
    found, sim = run(make, name, seed, neurons, solver, simulator, **chip)
    assert all(p.where == "chip" for p in sim.placement if isinstance(p.object, nengo.Ensemble))
    return {
        "nengo": float(np.sqrt(np.mean((theirs - ideal) ** 2))),
        "chip": float(np.sqrt(np.mean((found - ideal) ** 2))),
        "axons": max(group.sums.axons for group in sim.mapped.lines),
        "decoder_error": max(group.sums.error for group in sim.mapped.lines),
        "cores": sim.mapped.program.n_cores,
    }


def main() -> None:
    """Measure what is not there yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    for name in NETWORKS:
        for regularisation in REGULARISATIONS:
            rows = found.setdefault(name, {}).setdefault(str(regularisation), {})
            for seed in range(arguments.seeds):
                if str(seed) not in rows:
                    rows[str(seed)] = measure(name, seed, regularisation)
                    RESULT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
            means = {which: float(np.mean([row[which] for row in rows.values()])) for which in ("nengo", "chip")}
            print(
                f"{name:22}  regularisation {regularisation:4}  RMSE, mean of {len(rows)} seeds: Nengo's LIF "
                f"{means['nengo']:.4f}, chip {means['chip']:.4f}, ratio {means['chip'] / means['nengo']:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
