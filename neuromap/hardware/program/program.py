"""Which neurons of a program do anything, whatever its cores are like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.hardware.program.chip_program import ChipProgram, Sent, Wires
from neuromap.render.value import Card

Bools = NDArray[np.bool_]


def neurons_in_use(program: ChipProgram) -> Bools:
    """Find the neurons that bear a node's label, have a synapse, or send spikes; with a bias too."""
    # Where there are any.
    # shapes: returns (C, N)
    used: Bools = program.neuron_node >= 0
    if isinstance(program, Program):
        used |= _read_in_crossbars(program)
        used |= program.target_core >= 0
    if isinstance(program, ListProgram):
        table = program.synapses
        used[table.list_core[table.synapse_list], table.neuron] = True
        used |= np.diff(program.targets.start).reshape(used.shape) > 0
        used |= program.neurons.bias != 0
    return used


def further_compartments(program: ChipProgram) -> Bools:
    """Find what is joined to another: it holds a further current of a neuron, and is no neuron of its own."""
    # gives none of crossbar cores
    # shapes: returns (C, N)
    joined = program.neurons.joined if isinstance(program, ListProgram) else None
    return np.zeros(program.neuron_node.shape, np.bool_) if joined is None else joined >= 0


def _read_in_crossbars(program: Program) -> Bools:
    columns = np.bitwise_or.reduce(program.crossbar, axis=1)
    return np.unpackbits(columns, axis=-1, count=program.shape[1], bitorder="little").astype(np.bool_)


# ListProgram: everything that is loaded onto a chip whose cores keep a list of synapses for every axon.
#
# A neuron sends its spikes to any number of axons; an axon adds a weight to any number of neurons of its core, each
# after a delay of its own. Every neuron has a current u and a voltage v, integers, and computes in every tick t,
# where all divisions round toward zero (Davies et al., IEEE Micro 2018; widths and order as in Lava's bit-accurate
# model):
#
# 1. u := u (2^b - d_u) / 2^b + sum of the weights that are due, wrapped into its width; 2. v := v (2^b - d_v) / 2^b +
# u + bias + the currents that are joined to it, stopped at the rails -(2^(p-1) - 1) and 2^(p-1) - 1 of its width p;
# or v := 0 while the neuron rests after a spike; 3. if v > threshold: spike, v := 0, and the neuron rests for
# ``refractory`` ticks from the next one on.
#
# Where ``joined`` names a neuron of the core, the current of this one is joined to that one's voltage, from step 1 to
# step 2 of the same tick: it is a further compartment of that neuron, without a voltage or spikes of its own.
#
# A spike of tick t reaches its axons in tick t + D, D the least delay of the chip; a synapse with delay d adds its
# weight in tick t + D + d. What the host feeds into an axon in tick t is added in tick t + d.
@dataclass(frozen=True, eq=False)
class CurrentTable(Card):
    """Parameters of all neurons with current and voltage; C cores of the program, N neurons per core."""

    # current_decay, voltage_decay: (C, N): d_u and d_v, in parts of 2**decay_bits: 0 keeps the value, 2**decay_bits
    # forgets it
    current_decay: NDArray[np.int32]
    voltage_decay: NDArray[np.int32]
    threshold: NDArray[np.int32]  # (C, N): above it (not at it) the neuron spikes
    bias: NDArray[np.int32]  # (C, N): added to the voltage in every tick
    refractory: NDArray[np.uint8]  # (C, N): ticks after a spike in which the voltage stays 0
    # current, voltage: (C, N): u and v before the first tick
    current: NDArray[np.int32]
    voltage: NDArray[np.int32]
    # (C, N): the neuron of the core whose voltage takes this one's current, which is not joined itself; -1 for none.
    # None where no neuron is joined
    joined: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class SynapseTable(Card):
    """Lists of synapses: one for every axon in use (L in all), S synapses in all."""

    axons: NDArray[np.int64]  # (C + 1,): axons 0, 1, ... of core c are lists ``axons[c]`` to ``axons[c + 1] - 1``
    lists: NDArray[np.int64]  # (L + 1,): list l holds synapses ``lists[l]`` to ``lists[l + 1] - 1``
    neuron: NDArray[np.int32]  # (S,): neuron of the axon's core
    weight: NDArray[np.int32]  # (S,): what is added to the neuron's current
    delay: NDArray[np.uint8]  # (S,): ticks from the axon to the neuron

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def list_core(self) -> NDArray[np.int64]:
        """Core of every list, shape (L,)."""
        return np.repeat(np.arange(len(self.axons) - 1), np.diff(self.axons))

    @property
    def synapse_list(self) -> NDArray[np.int64]:
        """List of every synapse, shape (S,)."""
        return np.repeat(np.arange(len(self.lists) - 1), np.diff(self.lists))


@dataclass(frozen=True, eq=False)
class TargetTable(Card):
    """Where spikes go: T pairs of a neuron and an axon."""

    # (C * N + 1,): neuron n of core c has targets ``start[c * N + n]`` to ``start[c * N + n + 1] - 1``
    start: NDArray[np.int64]
    core: NDArray[np.int32]  # (T,): target as a row of ``coordinates``
    axon: NDArray[np.int32]  # (T,): axon of the target core

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class ListProgram(ChipProgram):
    """A chip's memory image with labels, for synapse-list cores.

    Attributes
    ----------
    synapses : SynapseTable
        What the axons of every core do.
    neurons : CurrentTable
        Parameters, shape (C, N).
    targets : TargetTable
        Where spikes go.

    Notes
    -----
    Names, labels, clocks and tables of the host are those of
    :class:`~neuromap.hardware.program.chip_program.ChipProgram`.
    """

    synapses: SynapseTable
    neurons: CurrentTable
    targets: TargetTable

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def wires(self) -> Wires:
        """Where every neuron's spikes go: to any number of axons."""
        targets = self.targets
        of = np.repeat(np.arange(len(targets.start) - 1), np.diff(targets.start))
        core, neuron = np.divmod(of, self.chip.neurons)
        delay = np.full(len(of), self.chip.delay[0], np.int64)
        return Wires(core, neuron, targets.core.astype(np.int64), targets.axon.astype(np.int64), delay)

    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        """Say where spikes of some neurons go: to any number of axons."""
        targets = self.targets
        number = cores.astype(np.int64) * self.chip.neurons + neurons
        each = targets.start[number + 1] - targets.start[number]
        row = ragged_ranges(targets.start[number], each)
        delay = np.full(len(row), self.chip.delay[0], np.int64)
        spike = np.repeat(np.arange(len(number)), each)
        return Sent(spike, targets.core[row].astype(np.int64), targets.axon[row].astype(np.int64), delay)

    @property
    def soma(self) -> NDArray[np.int64]:
        """Whose voltage the current of every neuron changes, by ``core * N + neuron``: shape (C * N,)."""
        neuron = np.arange(self.neuron_node.size)
        if self.neurons.joined is None:
            return neuron
        joined = self.neurons.joined.astype(np.int64).ravel()
        return np.where(joined >= 0, neuron - neuron % self.shape[1] + joined, neuron)

    @property
    def axon_counts(self) -> NDArray[np.int64]:
        """Axons in use of every core, shape (C,)."""
        return np.diff(self.synapses.axons)

    @property
    def greatest_delay(self) -> int:
        """The longest way of a spike to a neuron, in ticks."""
        return self.chip.delay[0] + int(self.synapses.delay.max(initial=0))


# Program: everything that is loaded onto a chip of crossbar cores, with its input and output tables.
#
# The mapper writes it, an engine runs it, the checker re-reads it; a program written by hand is just as good. A
# program knows nothing of networks and schedules but node labels, sample ticks and periods.


@dataclass(frozen=True, eq=False)
class NeuronTable(Card):
    """Parameters of all neurons; C cores of the program, N neurons per core, G axon types."""

    # The letters are those of Cassidy et al. (IJCNN 2013). The last three tables are the stochastic modes; None where
    # no neuron has the mode, which is the same as a table of zeros and takes no memory.

    weights: NDArray[np.int16]  # (C, N, G): s_G, one signed weight per axon type
    leak: NDArray[np.int16]  # (C, N): lambda, added every tick
    leak_reversal: NDArray[np.bool_]  # (C, N): eps: the leak is multiplied with the sign of the potential
    threshold: NDArray[np.int32]  # (C, N): alpha: at or above it the neuron spikes
    negative_threshold: NDArray[np.int32]  # (C, N): beta: the negative threshold is -beta
    reset: NDArray[np.int32]  # (C, N): R, the value after a reset of mode 0
    # (C, N): gamma: 0 to R (or -R), 1 subtract (or add) the threshold, 2 keep the potential
    reset_mode: NDArray[np.uint8]
    saturate_negative: NDArray[np.bool_]  # (C, N): kappa: below the negative threshold the potential stays at -beta
    potential: NDArray[np.int32]  # (C, N): V before the first tick
    # (C, N, G): b_G: an event of this axon type adds 1 in the direction of s_G, with a probability that grows with its
    # magnitude, and not s_G itself
    stochastic_weight: NDArray[np.bool_] | None = None
    # (C, N): c: the leak adds 1 in the direction of lambda, with a probability that grows with its magnitude
    stochastic_leak: NDArray[np.bool_] | None = None
    noise_bits: NDArray[np.uint8] | None = None  # (C, N): TM, 0 to 8: noise of 0 to 2^TM - 1 on the thresholds

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False, kw_only=True)
class Program(ChipProgram):
    """A chip's memory image with labels, for crossbar cores: an axon feeds its row of synapses, a neuron one axon.

    Attributes
    ----------
    axon_types : ndarray of uint8, shape (C, A)
        Type of every axon.
    crossbar : ndarray of uint8, shape (C, A, ceil(N / 8))
        One row of synapse bits per axon, neuron n at bit n % 8 (little bit order) of byte n // 8.
    neurons : NeuronTable
        Parameters, shape (C, N).
    target_core : ndarray of int32, shape (C, N)
        Target as a row of ``coordinates``; -1 without one (unused, or read out).
    target_axon : ndarray of int32, shape (C, N)
        Axon of the target core; 0 where there is none.
    delay : ndarray of uint8, shape (C, N)
        Ticks from the spike to its axon; 0 where there is no target.

    Notes
    -----
    Names, labels, clocks and tables of the host are those of
    :class:`~neuromap.hardware.program.chip_program.ChipProgram`.
    """

    axon_types: NDArray[np.uint8]
    crossbar: NDArray[np.uint8]
    neurons: NeuronTable
    target_core: NDArray[np.int32]
    target_axon: NDArray[np.int32]
    delay: NDArray[np.uint8]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def wires(self) -> Wires:
        """Where every neuron's spikes go: to one axon, or none."""
        core, neuron = np.nonzero(self.target_core >= 0)
        found = (self.target_core, self.target_axon, self.delay)
        return Wires(core, neuron, *(table[core, neuron].astype(np.int64) for table in found))

    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        """Say where spikes of some neurons go: to one axon, or none."""
        target = self.target_core[cores, neurons]
        spike = np.flatnonzero(target >= 0)
        here = (cores[spike], neurons[spike])
        return Sent(
            spike,
            target[spike].astype(np.int64),
            self.target_axon[here].astype(np.int64),
            self.delay[here].astype(np.int64),
        )

    @property
    def axon_counts(self) -> NDArray[np.int64]:
        """Axons that every core has, shape (C,): as many as the chip's cores."""
        return np.full(self.n_cores, self.axon_types.shape[1], np.int64)

    @property
    def greatest_delay(self) -> int:
        """The longest way of a spike to its axon, in ticks."""
        return int(self.delay.max(initial=0))
