"""Recorded activity of neurons on synapse-list cores: who sends, who is active, and the work that this makes.

Ticks are taken from steady operation, one by one, with their phase of the frame period: which neurons work in the same
tick matters more than how often each does, since a tick lasts as long as its slowest core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.value import Value
from neuromap.cores.synapse_list.fill_cores import ListPartition
from neuromap.cores.synapse_list.list_network import ListNetwork, NeuronGroups, Room, neuron_groups
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.hardware.chip.chip_spec import TickCosts
from neuromap.simulation.cost.steady_figures import SteadyWindow, steady_window
from neuromap.simulation.run.tick_run import run_ticks

Matrix = sparse.csr_matrix
# Ticks that a program without inputs is run, from its silent start.
WITHOUT_FRAMES = 1024
PICOSECOND = 1e-12


@dataclass(frozen=True, eq=False)
class RecordedWork(ReadOnly, Value):
    """Activity in T recorded ticks, independent of the neurons' cores."""

    groups: NeuronGroups
    own: Ints  # (g,): signal that a group sends
    synapses_of: Ints  # (s,): number of synapses by which the reader reads each of ``groups.signal``
    sent: Matrix  # (signals, T): 1 where a signal is sent
    active: Matrix  # (g, T): number of active compartments
    costs: Ints  # access, update, fire, spike, arrival, event in units of ``PICOSECOND``

    def __post_init__(self) -> None:
        for matrix in (self.sent, self.active):
            matrix.sum_duplicates()  # else done on first use, when they are read-only
        super().__post_init__()

    @property
    def n_ticks(self) -> int:
        """Number of recorded ticks."""
        return int(self.sent.shape[1])

    @cached_property
    def reads(self) -> Matrix:
        """Number of synapses of every group by the signal that they read, shape (g, signals)."""
        shape = len(self.groups), self.groups.n_signals
        parts = self.synapses_of, self.groups.signal, self.groups.start
        return sparse.csr_matrix(parts, shape=shape, copy=True)

    def busy(self, ticks: Ints) -> Ints:
        """Return the time each group adds to its core's sending in some ticks, without messages, shape (g, T)."""
        access, update, fire = self.costs[:3]
        fired = self.sent[:, ticks][self.own].toarray()
        active = self.active[:, ticks].toarray()
        return np.asarray(access * self.groups.load[:, None] + update * active + fire * fired, np.int64)

    def heard(self, ticks: Ints) -> Ints:
        """Return the time each group's synapses add to its core's receiving, without messages, shape (g, T)."""
        return np.asarray((self.reads @ self.sent[:, ticks]).toarray() * self.costs[5], np.int64)

    def loads(self, core: Ints, n_cores: int) -> tuple[Ints, Ints]:
        """Return sending and receiving times of a partition's cores, shape (2, C, T), and messages, shape (T,)."""
        # The definition, which the counts that the search updates move by move must equal.
        n, (access, update, fire, spike, arrival, event) = len(self.groups), self.costs.tolist()
        inside = sparse.csr_matrix((np.ones(n, np.int64), (core, np.arange(n))), shape=(n_cores, n))
        synapses = sparse.csr_matrix(inside @ self.reads)  # (C, signals)
        read = synapses.copy()
        read.data[:] = 1
        n_targets = np.bincount(read.indices, minlength=self.groups.n_signals)
        messages = sparse.csr_matrix(self.sent.multiply(n_targets[:, None]))
        send = (
            access * np.bincount(core, self.groups.load, n_cores)[:, None] + update * (inside @ self.active).toarray()
        )
        send = send + (inside @ (fire * self.sent + spike * messages)[self.own]).toarray()
        receive = ((event * synapses + arrival * read) @ self.sent).toarray()
        return np.stack([send, receive]).astype(np.int64), np.asarray(messages.sum(axis=0)).ravel().astype(np.int64)


def recorded_ticks(program: ListProgram, frames: Mapping[str, Bools]) -> SteadyWindow:
    """Run a program on cyclic frames for whole frame periods or, without inputs, for some ticks from the first on."""
    # shapes: frames (n_frames, size)
    if frames:
        return steady_window(program, frames)
    return SteadyWindow((), run_ticks(program, n_ticks=WITHOUT_FRAMES, holding=True))


def record_work(parts: ListPartition, window: SteadyWindow, program: ListProgram, costs: TickCosts) -> RecordedWork:
    """Record what the program of a partition does in a window."""
    lists, groups = parts.lists, neuron_groups(parts.lists)
    signal_at, signal_of_axon = _signals(parts)
    first_axon = np.append(0, np.cumsum(program.axon_counts))
    sent, held, n_ticks = [], [], 0
    group_of = np.full(lists.n_neurons, -1, np.int64)
    group_of[groups.neuron] = np.arange(len(groups))
    compartment = np.flatnonzero(lists.is_computed)
    owner = group_of[lists.soma[compartment]]
    where = parts.core[compartment] * program.shape[1] + parts.slot[compartment]
    has_bias = program.has_bias.ravel()[where]
    for spikes in window.ticks:
        signals = signal_at[spikes.cores, spikes.neurons]
        host = signal_of_axon[first_axon[spikes.host_cores] + spikes.host_axons]
        sent.append(np.unique(np.concatenate([signals[signals >= 0], host])))
        assert spikes.held is not None, "the window of a chip with timed ticks hands out what neurons hold"
        held.append(np.flatnonzero(spikes.held.ravel()[where] | has_bias))
        n_ticks += 1
    shape = (lists.n_signals, n_ticks)
    fires = _by_tick(sent, shape)
    holds = _by_tick(held, (len(compartment), n_ticks))
    active = ((holds + _reached(parts, fires, compartment, program.chip.delay[0])) > 0).astype(np.int64)
    joined = sparse.csr_matrix((np.ones(len(owner), np.int64), (owner, np.arange(len(owner)))))
    reader = group_of[lists.soma[lists.target]]
    _, synapses_of = np.unique(reader * lists.n_signals + lists.signal, return_counts=True)
    own_costs = np.array(costs.whole(PICOSECOND)[:6], np.int64)  # hops depend on places
    return RecordedWork(
        groups, groups.neuron, synapses_of.astype(np.int64), fires, (joined @ active).tocsr(), own_costs
    )


def _signals(parts: ListPartition) -> tuple[Ints, Ints]:
    """Return the signal that every neuron of the program sends, shape (C, N), and every axon carries, shape (L,)."""
    lists = parts.lists
    signal_at = parts.placed(np.arange(lists.n_somas), int(parts.slot.max(initial=0)) + 1, -1, np.int64)
    pairs = np.unique(parts.core[lists.target] * lists.n_signals + lists.signal)  # in the order of the emitted axons
    return signal_at, pairs % max(1, lists.n_signals)


def _by_tick(rows: list[Ints], shape: tuple[int, int]) -> Matrix:
    """Make a 0/1 matrix from the rows that are 1 in every tick."""
    column = np.repeat(np.arange(len(rows)), np.array([len(row) for row in rows], np.int64))
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    return sparse.csr_matrix((np.ones(len(row), np.int64), (row, column)), shape=shape)


def _reached(parts: ListPartition, fires: Matrix, compartment: Ints, least: int) -> Matrix:
    """Count the synapses that reach every compartment in every tick; the window wraps around."""
    lists = parts.lists
    number = np.full(lists.n_neurons, -1, np.int64)
    number[compartment] = np.arange(len(compartment))
    found = _by_tick([], (len(compartment), fires.shape[1]))
    for delay in np.unique(lists.delay).tolist():
        mine = lists.delay == delay
        pairs = number[lists.target[mine]], lists.signal[mine]
        reads = sparse.csr_matrix((np.ones(int(mine.sum()), np.int64), pairs), shape=(len(compartment), fires.shape[0]))
        turned = (np.arange(fires.shape[1]) - delay - least) % fires.shape[1]
        found = found + reads @ fires[:, turned]
    return found.tocsr()


# Rounds of cutting: the time a neuron takes to send depends on the cores that read it, which the cuts decide.
ROUNDS = 3
# Factor by which shares of memory, output axons and neurons are overestimated: blocks are never quite even.
SLACK = 1.15
# Assumed number of cores that read a signal, before the first round.
FIRST_TARGETS = 8
# Weight of receiving relative to sending: it comes in bursts.
RECEIVED = 1.3


@dataclass(frozen=True, eq=False)
class Layout(ReadOnly, Value):
    """Node of every group, and its place in the node."""

    population: Ints  # (g,)
    place: Ints  # (g, 3): row, column and feature
    stride: Ints  # (g, 2): distance between groups of neighbouring columns, and of rows


def layout_of(lists: ListNetwork, groups: NeuronGroups) -> Layout:
    """Find the place of every group in its node; nodes without a shape are a row of features."""
    population = np.searchsorted(lists.offset, groups.neuron, side="right") - 1
    place, stride = np.zeros((len(groups), 3), np.int64), np.ones((len(groups), 2), np.int64)
    for number, one in enumerate(lists.network.populations):
        mine = population == number
        shape = one.shape if one.shape is not None else (1, 1, len(one.neurons))
        place[mine] = np.stack(np.unravel_index(groups.neuron[mine] - lists.offset[number], shape), axis=1)
        stride[mine] = shape[2], shape[1] * shape[2]
    return Layout(population, place, stride)


def block_start(layout: Layout, work: RecordedWork, room: Room, n_cores: int) -> Ints | None:
    """Cut nodes into as many blocks as there are cores; None if there are more nodes than cores."""
    # shapes: returns (g,)
    known, of = np.unique(layout.population, return_inverse=True)
    if len(known) > n_cores:
        return None
    cuts = _Cuts(work, room, layout.place)
    core = np.zeros(len(of), np.int64)
    for _ in range(ROUNDS):
        cuts.weigh(n_cores)
        share = np.bincount(of, cuts.weight)
        number = np.ones(len(known), np.int64)
        for _ in range(n_cores - len(known)):
            number[np.argmax(share / number)] += 1
        targets, first = np.zeros_like(cuts.targets), 0
        for p in range(len(known) - 1, -1, -1):  # readers mostly come later
            for block in cuts.blocks(np.flatnonzero(of == p), int(number[p])):
                core[block] = first
                targets[cuts.read_by(block)] += 1
                first += 1
        cuts.targets = targets
    return core


class _Cuts:
    """Cuts groups into blocks."""

    def __init__(self, work: RecordedWork, room: Room, place: Ints) -> None:
        groups, n_ticks = work.groups, max(1, work.n_ticks)
        self._groups, self._room, self._place, self._own = groups, room, place, work.own
        access, update, fire, spike, arrival, event = work.costs.tolist()
        self._rate: Floats = np.asarray(work.sent.sum(axis=1)).ravel() / n_ticks
        active = np.asarray(work.active.sum(axis=1)).ravel() / n_ticks
        self._busy = access * groups.load + update * active + fire * self._rate[work.own]
        self._heard: Floats = np.asarray(work.reads @ self._rate) * event
        self._spike, self._message = spike, spike + arrival
        self.targets = np.full(groups.n_signals, FIRST_TARGETS, np.int64)
        self.weight: Floats = np.zeros(len(groups))
        self._mean = 1.0

    def weigh(self, n_cores: int) -> None:
        """Weigh groups by their greatest share of a core: of its time, memory, output axons or neurons."""
        groups, room, targets = self._groups, self._room, self.targets[self._own]
        time = np.maximum(RECEIVED * self._heard, self._busy + self._rate[self._own] * targets * self._spike)
        self._mean = max(1.0, time.sum() / n_cores)
        memory = groups.synapses * room.synapse_bits / room.memory
        shares = (memory, targets / room.output_axons, groups.load / room.neurons)
        self.weight = np.maximum(time / self._mean, SLACK * np.maximum.reduce(shares))

    def read_by(self, block: Ints) -> Ints:
        """List the signals that a block reads, ascending."""
        return np.unique(self._groups.read_by(block)).astype(np.int64)

    def blocks(self, mine: Ints, n: int) -> list[Ints]:
        """Cut groups into n blocks, or fewer if there are not enough groups."""
        if n == 1 or len(mine) == 1:
            return [mine]
        best, least = None, np.inf
        for axis in range(3):
            at = self._place[mine, axis]
            at = at - at.min()
            if not at.any():
                continue
            sums = np.cumsum(np.bincount(at, self.weight[mine]))
            for first in {n // 2, n - n // 2}:
                cut = int(np.searchsorted(sums, sums[-1] * first / n))
                for end in {min(max(cut, 1), len(sums) - 1), min(cut + 1, len(sums) - 1)}:
                    one, other = mine[at < end], mine[at >= end]
                    price = self._price(one, other, first, n)
                    if price < least:
                        best, least = (one, other, first), price
        assert best is not None, "two groups differ in a row, a column or a feature"
        one, other, first = best
        return self.blocks(one, first) + self.blocks(other, n - first)

    def _price(self, one: Ints, other: Ints, first: int, n: int) -> float:
        """Return the price of a cut: the fuller of the two sides, plus the messages that both read."""
        uneven = max(self.weight[one].sum() / first, self.weight[other].sum() / (n - first))
        both = np.intersect1d(self.read_by(one), self.read_by(other), assume_unique=True)
        return float(uneven + self._rate[both].sum() * self._message / n / self._mean)
