"""What RANC cannot say of a program, refused in one line; and how far potentials go, as RANC has no rails.

RANC's neuron adds what it hears and its leak; at or above the positive threshold it spikes and is reset to R or by the
threshold; else, below the negative one, it is reset to -R or by that threshold (``simulator/src/neuronblock.cpp``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import NotSupportedError
from neuromap.files.messages import counted, show_name
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program import Program

__all__ = ["Reach", "potential_reach", "require_suited"]

_CORES_AT_ONCE = 64
"""Cores whose crossbars are unpacked at a time (16 MB of TrueNorth cores as 32-bit floats)."""


@dataclass(frozen=True, eq=False)
class Reach(Card):
    """How far the potential of every neuron may go, whatever spikes come; C cores, N neurons."""

    fires: NDArray[np.bool_]  # (C, N): whether it may reach its threshold
    falls: NDArray[np.bool_]  # (C, N): whether it may fall below its negative threshold
    rails: NDArray[np.bool_]  # (C, N): whether it may reach the ends of the chip's range within a tick or over many
    # lowest, highest: (C, N): how far it may be when it is compared with the thresholds, within the chip's range
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def require_suited(given: ChipProgram) -> tuple[Program, Reach]:
    """Refuse what RANC has not."""
    name = f"program {show_name(given.name)}"
    if not isinstance(given, Program):
        raise NotSupportedError(
            f"{name}: its cores ({given.chip.name}) keep lists of synapses; RANC has crossbars: map the network onto "
            "truenorth or ranc"
        )
    size = np.array(given.chip.cores)
    n_chips = len(np.unique(given.coordinates // size, axis=0))
    if n_chips > 1:
        raise NotSupportedError(
            f"{name}: lies on {counted(n_chips, 'chip')} of {given.chip.name}; RANC has one: map it onto one chip with "
            "as many cores (--set grid.cores=[x, y])"
        )
    table = given.neurons
    reach = potential_reach(given)
    floor = table.saturate_negative & reach.falls
    floor &= (table.reset_mode != 0) | (table.reset != table.negative_threshold)
    stochastic = np.zeros(given.shape, np.bool_)
    for mode in (table.stochastic_weight, table.stochastic_leak, table.noise_bits):
        if mode is not None:
            stochastic |= mode.reshape(*given.shape, -1).any(axis=2)
    for wrong, what, way in (
        (stochastic, "has a stochastic mode", "map with deterministic neurons"),
        (table.leak_reversal & (table.leak != 0), "its leak turns with the potential's sign", "give it a plain leak"),
        ((table.reset_mode == 2) & reach.fires, "keeps its potential when it spikes", "give it a reset of mode 0 or 1"),
        (
            floor,
            "stops at its negative threshold, which RANC says only where it is the reset, too",
            "give it a negative threshold of mode 0, or a reset as great as the negative threshold",
        ),
    ):
        at = np.argwhere(wrong)
        if len(at):
            core, neuron = at[0].tolist()
            place = f"core ({', '.join(map(str, given.coordinates[core].tolist()))}), neuron {neuron}"
            raise NotSupportedError(
                f"{name}: {place}: {what} ({counted(len(at), 'neuron')}); RANC's neuron does not: {way}"
            )
    return given, reach


def potential_reach(program: Program) -> Reach:
    """Bound the potentials of all neurons by the weights that they are connected with."""
    table = program.neurons
    up, down = _sums(program)
    leak, alpha, beta, reset = (
        values.astype(np.int64) for values in (table.leak, table.threshold, table.negative_threshold, table.reset)
    )
    start = table.potential.astype(np.int64)
    to_value, by_threshold = table.reset_mode == 0, table.reset_mode == 1
    # between ticks: below the threshold, or what a reset left
    left = [np.where(to_value, reset, start), np.where(to_value, -reset, start), np.where(by_threshold, 0, start)]
    left.append(np.where(table.saturate_negative, -beta, np.where(by_threshold, -1, start)))
    high = np.maximum.reduce([alpha - 1, start, *left])
    low = np.minimum.reduce([-beta, start, *left])
    endless = (table.reset_mode == 2) | table.leak_reversal
    endless |= by_threshold & ((up + leak > alpha) | (~table.saturate_negative & (-(down + leak) > beta)))
    least, greatest = program.chip.potential_range
    top, bottom = high + up + np.maximum(leak, 0), low + down + np.minimum(leak, 0)
    rails = endless | (top > greatest) | (bottom < least)
    highest = np.where(endless, greatest, np.minimum(high + up + leak, greatest))
    lowest = np.where(endless, least, np.maximum(low + down + leak, least))
    falls = lowest < -beta + (program.chip.rules.negative_comparison == "<=")
    return Reach(highest >= alpha, falls, rails, lowest, highest)


def _sums(program: Program) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add the positive and the negative weights that every neuron is connected with, shape (C, N)."""
    up, down = np.zeros(program.shape, np.int64), np.zeros(program.shape, np.int64)
    types = np.arange(program.chip.axon_types)[:, None]
    for start in range(0, program.n_cores, _CORES_AT_ONCE):
        some = slice(start, start + _CORES_AT_ONCE)
        bits = np.unpackbits(program.crossbar[some], axis=2, count=program.chip.neurons, bitorder="little")
        # at most 65536 axons: counts are exact in 32-bit floats, whose product is a fast one
        counts = ((program.axon_types[some, None, :] == types).astype(np.float32) @ bits.astype(np.float32)).astype(
            np.int64
        )
        weights = program.neurons.weights[some].astype(np.int64).transpose(0, 2, 1)
        up[some] = (counts * np.maximum(weights, 0)).sum(axis=1)
        down[some] = (counts * np.minimum(weights, 0)).sum(axis=1)
    return up, down
