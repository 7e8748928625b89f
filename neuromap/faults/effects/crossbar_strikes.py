"""What faults do to a program of crossbars."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.faults.effects.draw_faults import fails
from neuromap.faults.effects.fault_model import Faults
from neuromap.hardware.program.neurons_in_use import neurons_in_use
from neuromap.hardware.program.program import NeuronTable, Program

__all__ = ["axons_in_use", "crossbar_with_stuck", "crossbar_without_ways", "flip_bits"]

Bools = NDArray[np.bool_]

_NO_MORE = (
    "weights", "leak", "leak_reversal", "negative_threshold", "reset", "reset_mode", "saturate_negative", "potential",
    "stochastic_weight", "stochastic_leak", "noise_bits",
)  # fmt: skip


def crossbar_with_stuck(program: Program, stuck: Bools, fires: bool) -> Program:
    """Let neurons never fire, or fire in every tick, whatever reaches them."""
    # Their potential stays 0: no weight, no leak, no noise. A threshold of 1 is out of reach then, one of 0 is reached.
    # shapes: stuck (C, N)
    table = program.neurons
    changed: dict[str, Any] = {name: _cleared(getattr(table, name), stuck) for name in _NO_MORE}
    changed["threshold"] = np.where(stuck, np.int32(0 if fires else 1), table.threshold)
    return replace(program, neurons=NeuronTable(**changed))


def crossbar_without_ways(program: Program, cut: Bools) -> Program:
    """Take their target from neurons."""
    # shapes: cut (n,)
    wires = program.wires
    tables = {name: getattr(program, name).copy() for name in ("target_core", "target_axon", "delay")}
    for name, nothing in (("target_core", -1), ("target_axon", 0), ("delay", 0)):
        tables[name][wires.core[cut], wires.neuron[cut]] = nothing
    return replace(program, **tables)


def flip_bits(program: Program, places: NDArray[np.int64], faults: Faults) -> tuple[Program, int, int]:
    """Turn bits over at the crossings of axons in use with neurons in use."""
    # shapes: places (C,)
    crossbar = program.crossbar.copy()
    struck = at_risk = 0
    cores = zip(places.tolist(), axons_in_use(program), neurons_in_use(program), strict=True)
    for core, (place, axons, neurons) in enumerate(cores):  # one by one: all crossings of a chip take gigabytes
        axon, neuron = np.flatnonzero(axons), np.flatnonzero(neurons)
        flips = np.zeros(axons.shape + neurons.shape, np.bool_)
        flips[np.ix_(axon, neuron)] = fails(faults, "flipped-synapses", place, axon[:, None], neuron)
        crossbar[core] ^= np.packbits(flips, axis=1, bitorder="little")
        struck += int(flips.sum())
        at_risk += len(axon) * len(neuron)
    return replace(program, crossbar=crossbar), struck, at_risk


def axons_in_use(program: Program) -> Bools:
    """Find the axons that a neuron or the host feeds, or that have a synapse: shape (C, A)."""
    used = np.asarray(program.crossbar.any(axis=2))
    wires, host = program.wires, program.host
    used[wires.target_core, wires.target_axon] = True
    used[host.core, host.axon] = True
    return used


def _cleared(table: NDArray[Any] | None, stuck: Bools) -> NDArray[Any] | None:
    if table is None:
        return None
    found = table.copy()
    found[stuck] = 0
    return found
