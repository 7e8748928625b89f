"""Fit weights to the lists of a chip: mantissas times one power of two.

A list of both signs may lack the lowest bit of its mantissas. If that, or one power for both, does not hold its
weights, the list has two runs, one for each sign; a weight wider than a mantissa becomes two synapses that add up to
it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.cores.synapse_list.list_network import ListNetwork, NeuronGroups
from neuromap.cores.synapse_list.program import one_run_holds
from neuromap.hardware.chip.chip_spec import ChipSpec


def in_two_synapses(lists: ListNetwork, chip: ChipSpec) -> ListNetwork:
    """Split weights wider than a mantissa in the run of their sign into two synapses; others stay."""
    least, greatest = chip.lists.weight_shifts
    most, weight = chip.weight_range[1], lists.weight
    run = 2 * lists.signal + (weight > 0)
    rest = np.zeros(2 * lists.n_signals, np.int64)
    np.bitwise_or.at(rest, run, np.abs(weight))
    shift = np.clip(np.bitwise_count((rest & -rest) - 1), least, greatest).astype(np.int64)[run]
    wide = (np.abs(weight) >> shift > most) & ~_held_whole(lists, chip)[lists.signal]
    first = np.where(wide, np.sign(weight) * (most << shift), weight)
    times = 1 + wide
    at = np.repeat(np.arange(len(weight)), times)
    second = np.append(False, at[1:] == at[:-1])
    cut = np.where(second, (weight - first)[at], first[at])
    start = np.append(0, np.cumsum(times))[lists.start]
    return replace(lists, start=start, signal=lists.signal[at], weight=cut, delay=lists.delay[at])


def held(group: Ints, weight: NDArray[np.integer], chip: ChipSpec) -> tuple[Bools, Bools]:
    """Test for every group whether one run holds its weights, and whether one of each sign does."""
    # shapes: group, weight (s,); groups are numbered from 0, and none is empty
    size = int(group.max(initial=-1)) + 1
    ways = []
    for some in (weight, np.maximum(weight, 0), np.minimum(weight, 0)):
        low, high, unit = (np.zeros(size, np.int64) for _ in range(3))
        np.minimum.at(low, group, some)
        np.maximum.at(high, group, some)
        np.bitwise_or.at(unit, group, np.abs(some))
        unit &= -unit  # the greatest power of two in all
        ways.append(one_run_holds(low, high, unit, chip))
    return ways[0], ways[1] & ways[2]


BOTH_TOO_WIDE, PLUS, MINUS = 1, 2, 4
# All flags, of a list that may need a second run.
NEEDS_TWO = BOTH_TOO_WIDE | PLUS | MINUS


def asks_for_runs(lists: ListNetwork, groups: NeuronGroups, chip: ChipSpec) -> NDArray[np.uint8]:
    """Flag for every signal that a group reads the signs of its weights, and any too wide for both signs."""
    # A list whose weights all have one sign, or none of which is too wide beside the other sign, has one run: each is
    # tested with the power of two that all weights of its signal share, in whichever core.
    # shapes: returns (s,), in the order of ``groups.signal``
    unit = np.zeros(lists.n_signals, np.int64)
    np.bitwise_or.at(unit, lists.signal, np.abs(lists.weight))
    step = (unit & -unit)[lists.signal]
    wide = ~one_run_holds(np.minimum(lists.weight, -step), np.maximum(lists.weight, step), step, chip)
    group_of = np.full(lists.n_somas, -1, np.int64)
    group_of[groups.neuron] = np.arange(len(groups))
    pair = group_of[lists.soma[lists.target]] * lists.n_signals + lists.signal
    known, number = np.unique(pair, return_inverse=True)  # as the signals of the groups are ordered
    asks = np.zeros(len(known), np.uint8)
    flags = BOTH_TOO_WIDE * wide + PLUS * (lists.weight > 0) + MINUS * (lists.weight < 0)
    np.bitwise_or.at(asks, number, flags.astype(np.uint8))
    return asks


def _held_whole(lists: ListNetwork, chip: ChipSpec) -> Bools:
    """Test for every signal whether one run holds all the weights that it feeds, in whichever core."""
    whole = np.ones(lists.n_signals, np.bool_)
    signal, group = np.unique(lists.signal, return_inverse=True)
    whole[signal] = held(group, lists.weight, chip)[0]
    return whole
