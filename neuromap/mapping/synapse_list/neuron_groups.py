"""What has one place in a core of lists: a neuron with the compartments of its further currents, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.distinct import distinct
from neuromap.arrays.frozen import adopted, freeze_arrays
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.synapse_list.list_network import ListNetwork
from neuromap.mapping.tile.cut_order import compiled_for

__all__ = ["NeuronGroups", "Room", "neuron_groups", "room_of"]

Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]


@dataclass(frozen=True)
class Room:
    """What a core holds."""

    # neurons, axons, output_axons: compartments, distinct signals that are read, and pairs of one of its neurons and a
    # core that reads it
    neurons: int
    axons: int
    output_axons: int
    memory: int  # bits of synapses
    # list_bits, synapse_bits: bits of a list, without its synapses, and of a synapse
    list_bits: int
    synapse_bits: int

    def as_array(self) -> Ints:
        """Give the figures in the order of the attributes, for compiled code."""
        row = (self.neurons, self.axons, self.output_axons, self.memory, self.list_bits, self.synapse_bits)
        return np.array(row, np.int64)


@dataclass(frozen=True, eq=False)
class NeuronGroups(Value):
    """Neurons with their compartments."""

    neuron: Ints  # (g,): number of the neuron of every group, ascending; only those that are computed
    start: Ints  # (g + 1,): where the signals of a group begin
    signal: SmallInts  # (s,): signals that it reads, each once
    # load, synapses: (g,): compartments and synapses
    load: Ints
    synapses: Ints
    sender: Ints  # (signals,): group that sends a signal, -1 for the host's

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.neuron)

    @property
    def n_signals(self) -> int:
        """Signals, read or not."""
        return len(self.sender)

    @cached_property
    def alike(self) -> Ints:
        """First of the groups that follow each other and read the same signals, shape (g,)."""
        # Features of one position of a convolution do: who has looked at one of them knows what all read.
        first = np.arange(len(self))
        compiled_for(_alike, len(self.signal))(self.start, self.signal, first)
        return adopted(first)

    def readers(self) -> tuple[Ints, SmallInts]:
        """Turn it round: where the readers of every signal begin, and the groups that read it, ascending."""
        order = np.argsort(self.signal, kind="stable")
        reader = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))
        return self.begins(), reader[order]

    def begins(self) -> Ints:
        """Count where the readers of every signal begin, shape (signals + 1,)."""
        counts = np.bincount(self.signal, minlength=self.n_signals)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def deliveries(self, core: Ints) -> int:
        """Count the distinct pairs of a signal and a core that reads it."""
        # shapes: core (g,)
        return len(self.read_in(core)[0])

    def read_in(self, core: Ints) -> tuple[Ints, Ints]:
        """List the distinct pairs of a signal and a core that reads it, by signal."""
        # shapes: core (g,); signal, core (pairs,)
        n_cores = int(core.max(initial=0)) + 1
        pairs = distinct(self.signal.astype(np.int64) * n_cores + np.repeat(core, np.diff(self.start)))
        signal, reader = np.divmod(pairs, n_cores)
        return signal, reader


def _alike(start: Any, signal: Any, first: Any) -> int:
    """Fill ``first``; where signals differ, they mostly do so at once."""
    runs = min(1, len(first))
    for g in range(1, len(first)):
        here, there, degree = start[g], start[g - 1], start[g + 1] - start[g]
        same = here - there == degree
        k = 0
        while same and k < degree:
            same = signal[here + k] == signal[there + k]
            k += 1
        if same:
            first[g] = first[g - 1]
        else:
            runs += 1
    return runs


def neuron_groups(lists: ListNetwork) -> NeuronGroups:
    """Join the compartments of every neuron that is computed."""
    neuron = np.flatnonzero(lists.is_computed[: lists.n_somas])
    group_of = np.full(lists.n_somas, -1, np.int64)
    group_of[neuron] = np.arange(len(neuron))
    compartment = group_of[lists.soma[lists.is_computed]]
    reader = group_of[lists.soma[lists.target]]
    pairs = distinct(reader * lists.n_signals + lists.signal)
    group, signal = np.divmod(pairs, max(1, lists.n_signals))
    sender = np.full(lists.n_signals, -1, np.int64)
    sender[: lists.n_somas] = group_of
    return NeuronGroups(
        neuron,
        np.searchsorted(group, np.arange(len(neuron) + 1)).astype(np.int64),
        signal.astype(np.int32),
        np.bincount(compartment, minlength=len(neuron)).astype(np.int64),
        np.bincount(reader, minlength=len(neuron)).astype(np.int64),
        sender,
    )


def room_of(chip: ChipSpec) -> Room:
    """Find what a core of a chip with lists of synapses holds."""
    lists = chip.lists
    memory = lists.synapse_memory_bits
    return Room(chip.neurons, chip.axons, lists.output_axons, memory, lists.list_bits, lists.synapse_bits)
