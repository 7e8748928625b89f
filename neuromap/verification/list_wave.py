"""The dependency wave on programs of synapse lists: from neuron to axon to neuron, each synapse with its delay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.hardware.program.list_program import ListProgram
from neuromap.verification.wiring import NEVER, Ticks, Wiring, ticks_since_sampling

__all__ = ["ListWiring"]

Ints = NDArray[np.int64]

_NEURONS = 4096
"""Neurons whose synapses are looked at together."""


class _Hits(NamedTuple):
    """Synapses that something reaches: by position of what reaches them, and the neuron and ticks that it takes."""

    source: Ints
    neuron: Ints
    ticks: Ticks


class ListWiring(Wiring):
    """A program of synapse lists as the wave walks it."""

    def __init__(self, program: ListProgram) -> None:
        super().__init__(program)
        self._program = program
        table = program.synapses
        self._live = table.weight != 0
        self._list_core = table.list_core
        self._list_of_target = table.axons[program.targets.core] + program.targets.axon
        self._sends = np.diff(program.targets.start) > 0
        self._soma = program.soma

    def linked(self) -> NDArray[np.bool_]:
        """Which node has a synapse onto which: shape (nodes, nodes), source first."""
        linked = np.zeros((self._n_nodes, self._n_nodes), np.bool_)
        senders = np.flatnonzero(self._sends & (self.label >= 0))
        for first in range(0, len(senders), _NEURONS):
            some = senders[first : first + _NEURONS]
            hits = self._from_neurons(some)
            target = self.label[hits.neuron]
            linked[self.label[some[hits.source]][target >= 0], target[target >= 0]] = True
        return linked

    def earliest(self, node: int) -> Ticks:
        """Ticks from the sampling of an input until each neuron is first reached; ``NEVER`` where it is not."""
        reached = np.full(len(self.label), NEVER, np.int64)
        due: dict[int, list[Ints]] = {}
        _put(due, self._from_host(node))
        while due:
            # Ticks come in order, so the first visit of a neuron is its earliest.
            tick = min(due)
            now = np.unique(np.concatenate(due.pop(tick)))
            now = now[reached[now] == NEVER]
            reached[now] = tick
            hits = self._from_neurons(now)
            fresh = reached[hits.neuron] == NEVER
            _put(due, _Hits(hits.source[fresh], hits.neuron[fresh], tick + hits.ticks[fresh]))
        return reached

    def latest(self, node: int) -> Ticks | None:
        """Ticks from the sampling of an input until it last reaches each neuron, self-edges masked; see the base."""
        reached = np.full(len(self.label), NEVER, np.int64)
        now = _raise(reached, self._from_host(node))
        for _ in range(self.longest_path(self._sends)):
            if not len(now):
                return reached
            hits = self._from_neurons(now)
            source = now[hits.source]
            masked = (self.label[source] == self.label[hits.neuron]) & (self.label[source] >= 0)
            open_ways = ~masked | self.relay[hits.neuron]
            ticks = reached[source] + hits.ticks
            now = _raise(reached, _Hits(source[open_ways], hits.neuron[open_ways], ticks[open_ways]))
        return None if len(now) else reached

    def _from_host(self, node: int) -> _Hits:
        """List what the host reaches of an input, with the ticks since the input was sampled."""
        program = self._program
        rows = np.flatnonzero(program.host.node == node)
        hits = self._of_lists(program.synapses.axons[program.host.core[rows]] + program.host.axon[rows])
        arrival = ticks_since_sampling(program, node, rows)
        return _Hits(hits.source, hits.neuron, arrival[hits.source] + hits.ticks)

    def _from_neurons(self, neurons: Ints) -> _Hits:
        """List what spikes of some neurons reach, with the ticks from the spike."""
        start = self._program.targets.start
        each = start[neurons + 1] - start[neurons]
        hits = self._of_lists(self._list_of_target[ragged_ranges(start[neurons], each)])
        source = np.repeat(np.arange(len(neurons)), each)[hits.source]
        return _Hits(source, hits.neuron, self._program.chip.delay[0] + hits.ticks)

    def _of_lists(self, lists: Ints) -> _Hits:
        """List the synapses of nonzero weight of some lists, with their delays."""
        table = self._program.synapses
        each = table.lists[lists + 1] - table.lists[lists]
        synapse = ragged_ranges(table.lists[lists], each)
        live = self._live[synapse]
        synapse, source = synapse[live], np.repeat(np.arange(len(lists)), each)[live]
        neuron = self._list_core[lists[source]] * self._program.chip.neurons + table.neuron[synapse]
        return _Hits(source, self._soma[neuron], table.delay[synapse].astype(np.int64))


def _put(due: dict[int, list[Ints]], hits: _Hits) -> None:
    for tick in np.unique(hits.ticks).tolist():
        due.setdefault(tick, []).append(hits.neuron[hits.ticks == tick])


def _raise(reached: Ticks, hits: _Hits) -> Ints:
    """Put later ticks into place; say which neurons they concern."""
    before = reached.copy()
    np.maximum.at(reached, hits.neuron, hits.ticks)
    return np.flatnonzero(reached > before)
