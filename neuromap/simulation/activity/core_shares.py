"""Synapses of a program by axon and by node: how many events every share of a core has where axons are reached."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.hardware.chip.chip_spec import CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.list_program import ListProgram
from neuromap.hardware.program.neurons_in_use import neurons_in_use
from neuromap.hardware.program.program import Program

__all__ = ["CoreShares", "shares_of"]

Ints = NDArray[np.int64]
_ROWS = 1 << 16
"""Axons whose synapses are counted at once; bounds the memory beside the program."""


class CoreShares(ABC):
    """Neurons of every core by node, relays apart (S shares, ordered by core), and the synapses onto them."""

    # core, label, neurons: (S,): core of every share; 2 (node + 1), one more for relays; how many neurons it has
    # shapes: labels (C, N)

    # neurons that are computed in every tick: those of all cores in use, idle ones too, where a core goes through all
    # of them; those in use where it goes through these alone, as cores with synapse lists do
    updates: int

    def __init__(self, program: ChipProgram, labels: Ints) -> None:
        self._labels = labels
        n_labels = int(self._labels.max(initial=0)) + 1
        self._numbers = np.arange(program.n_cores)[:, None] * n_labels + self._labels
        self._keys, counts = np.unique(self._numbers, return_counts=True)
        self.core, self.label, self.neurons = self._keys // n_labels, self._keys % n_labels, counts.astype(np.int64)

    def __len__(self) -> int:
        return len(self.core)

    @abstractmethod
    def events(self, ticks: Ints, axons: Ints, n_ticks: int) -> Ints:
        """Count synaptic events where axons are reached."""
        # shapes: ticks, axons (n,); returns (T, S)

    def _added(self, ticks: Ints, shares: Ints, events: NDArray[np.integer], n_ticks: int) -> Ints:
        cells = np.bincount(ticks * len(self) + shares, events, n_ticks * len(self))  # exact: far below 2^53
        return cells.astype(np.int64).reshape(n_ticks, len(self))


class _CrossbarShares(CoreShares):
    """Of crossbars: a table of all axons for every share."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, _labels(program))
        self.updates = int(np.prod(program.shape))
        self._n_axons = n_axons = program.axon_types.shape[1]
        self._first = np.searchsorted(self.core, np.arange(program.n_cores + 1))
        self._synapses = np.empty((len(self), n_axons), np.int32)
        step = max(1, _ROWS // n_axons)
        for start in range(0, len(self), step):
            some = slice(start, start + step)
            members = self._labels[self.core[some]] == self.label[some, None]
            rows = program.crossbar[self.core[some]] & np.packbits(members, axis=1, bitorder="little")[:, None, :]
            self._synapses[some] = np.bitwise_count(rows).sum(axis=2, dtype=np.int32)
        del self._labels, self._numbers, self._keys

    def events(self, ticks: Ints, axons: Ints, n_ticks: int) -> Ints:
        """Count synaptic events where axons are reached."""
        cores, rows = axons // self._n_axons, axons % self._n_axons
        first = self._first[cores]
        each = self._first[cores + 1] - first
        shares = ragged_ranges(first, each)
        return self._added(np.repeat(ticks, each), shares, self._synapses[shares, np.repeat(rows, each)], n_ticks)


class _ListShares(CoreShares):
    """Of synapse lists: for every list the shares that it has synapses onto, and how many."""

    def __init__(self, program: ListProgram) -> None:
        # what a joined current costs is cost of the neuron to which it is joined
        super().__init__(program, _labels(program).ravel()[program.soma].reshape(program.shape))
        self.updates = int(neurons_in_use(program).sum())
        table = program.synapses
        of_list = table.synapse_list
        core = table.list_core[of_list]
        share = np.searchsorted(self._keys, self._numbers[core, table.neuron])
        pairs, self._each = np.unique(of_list * max(1, len(self)) + share, return_counts=True)
        of_list, self._share = np.divmod(pairs, max(1, len(self)))
        self._first = np.searchsorted(of_list, np.arange(len(table.lists)))
        del self._labels, self._numbers, self._keys

    def events(self, ticks: Ints, axons: Ints, n_ticks: int) -> Ints:
        """Count synaptic events where axons are reached: an axon does its whole list."""
        first = self._first[axons]
        each = self._first[axons + 1] - first
        rows = ragged_ranges(first, each)
        return self._added(np.repeat(ticks, each), self._share[rows], self._each[rows], n_ticks)


def _labels(program: ChipProgram) -> Ints:
    labels: Ints = 2 * (program.neuron_node.astype(np.int64) + 1) + program.is_relay
    return labels


def shares_of(program: ChipProgram) -> CoreShares:
    """Find the shares of a program's cores."""
    return _SHARES[program.chip.core_model](program)


_SHARES: Mapping[CoreKind, Callable[..., CoreShares]] = ReadOnlyMapping(
    {"crossbar": _CrossbarShares, "synapse-list": _ListShares}
)
