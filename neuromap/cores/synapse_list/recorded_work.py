"""What the neurons of synapse-list cores do in recorded ticks: who sends, who is active, what work that makes.

Ticks are taken from steady operation, one by one, with their phase of the frame period: which neurons work in the same
tick says more than how often each does, since a tick lasts as long as its slowest core.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.cores.synapse_list.fill_cores import ListPartition
from neuromap.cores.synapse_list.list_network import NeuronGroups, neuron_groups
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.hardware.chip.tick_costs import TickCosts
from neuromap.simulation.cost.steady_figures import SteadyWindow, steady_window
from neuromap.simulation.run.tick_run import run_ticks

Matrix = sparse.csr_matrix
WITHOUT_FRAMES = 1024
"""Ticks that a program without inputs is run; it begins in silence, and so do they."""
PICOSECOND = 1e-12


@dataclass(frozen=True, eq=False)
class RecordedWork(Value):
    """What happens in T recorded ticks, whatever cores the neurons are in."""

    groups: NeuronGroups
    own: Ints  # (g,): signal that a group sends
    synapses_of: Ints  # (s,): synapses of the reader behind each of ``groups.signal``
    sent: Matrix  # (signals, T): 1 where a signal is sent
    active: Matrix  # (g, T): compartments that are computed
    costs: Ints  # access, update, fire, spike, arrival, event in units of ``PICOSECOND``

    def __post_init__(self) -> None:
        for matrix in (self.sent, self.active):
            matrix.sum_duplicates()  # which reading them would do later, when they cannot be written
        freeze_arrays(self)

    @property
    def n_ticks(self) -> int:
        """Ticks that were recorded."""
        return int(self.sent.shape[1])

    @cached_property
    def reads(self) -> Matrix:
        """Synapses of every group by the signal they read, shape (g, signals)."""
        shape = len(self.groups), self.groups.n_signals
        parts = self.synapses_of, self.groups.signal, self.groups.start
        return sparse.csr_matrix(parts, shape=shape, copy=True)

    def busy(self, ticks: Ints) -> Ints:
        """Give what a group adds to the sending of its core in some ticks, without messages, shape (g, T)."""
        access, update, fire = self.costs[:3]
        fired = self.sent[:, ticks][self.own].toarray()
        active = self.active[:, ticks].toarray()
        return np.asarray(access * self.groups.load[:, None] + update * active + fire * fired, np.int64)

    def heard(self, ticks: Ints) -> Ints:
        """Give what its synapses add to the receiving of its core in some ticks, without messages, shape (g, T)."""
        return np.asarray((self.reads @ self.sent[:, ticks]).toarray() * self.costs[5], np.int64)

    def loads(self, core: Ints, n_cores: int) -> tuple[Ints, Ints]:
        """Count sending and receiving of every core in every tick, and messages, of a partition, shape (2, C, T)."""
        # The definition: what the search keeps move by move must equal it.
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


def recorded_ticks(program: ListProgram, frames: Mapping[str, NDArray[np.bool_]]) -> SteadyWindow:
    """Run a program on frames in a circle, for whole frame periods; without inputs for some ticks from the first on."""
    # shapes: frames (n_frames, size)
    if frames:
        return steady_window(program, frames)
    return SteadyWindow((), run_ticks(program, n_ticks=WITHOUT_FRAMES, holding=True))


def record_work(parts: ListPartition, window: SteadyWindow, program: ListProgram, costs: TickCosts) -> RecordedWork:
    """Keep what the program of a partition does in a window."""
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
    """Find the signal that every place of the program sends, shape (C, N), and that every axon carries, shape (L,)."""
    lists = parts.lists
    signal_at = np.full((parts.n_cores, int(parts.slot.max(initial=0)) + 1), -1, np.int64)
    somas = np.flatnonzero(lists.is_computed[: lists.n_somas])
    signal_at[parts.core[somas], parts.slot[somas]] = somas
    pairs = np.unique(parts.core[lists.target] * lists.n_signals + lists.signal)  # in the order of the emitted axons
    return signal_at, pairs % max(1, lists.n_signals)


def _by_tick(rows: list[Ints], shape: tuple[int, int]) -> Matrix:
    """Make a matrix of what happened in every tick."""
    column = np.repeat(np.arange(len(rows)), np.array([len(row) for row in rows], np.int64))
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    return sparse.csr_matrix((np.ones(len(row), np.int64), (row, column)), shape=shape)


def _reached(parts: ListPartition, fires: Matrix, compartment: Ints, least: int) -> Matrix:
    """Count the synapses that reach every compartment in every tick; the window closes to a circle."""
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
