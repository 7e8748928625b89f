"""What the cores of a program do in each tick: synaptic events, counted core by core and node by node.

The engines keep totals only. Here every tick's spikes are followed to their axons, so that it is also known where
the work is done and how much of it falls into one tick: a core works through its synaptic events one after the
other, so its busiest tick says how long a tick it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.activity.core_shares import shares_of
from neuromap.simulation.activity.work import NodeShares, Work
from neuromap.simulation.run.tick_run import TickSpikes, together

__all__ = ["WorkCounter"]

_CELLS = 1 << 18
"""Ticks times shares of cores that are counted at once; bounds the memory beside the program."""


class WorkCounter:
    """Counts the work of a run, tick by tick."""

    def __init__(self, program: ChipProgram) -> None:
        self._program = program
        self._first_axon = np.zeros(program.n_cores + 1, np.int64)
        np.cumsum(program.axon_counts, out=self._first_axon[1:])
        self._shares = shares_of(program)
        self._peak = np.zeros(len(self._shares), np.int64)
        self._core_events = np.zeros(program.n_cores, np.int64)
        self._peak_core_events = np.zeros(program.n_cores, np.int64)
        self._kept: list[TickSpikes] = []
        self._at_once = max(1, min(32, _CELLS // max(1, len(self._shares))))
        self._under_way = np.empty(0, np.int64)
        self._tick = self._spikes = self._axon_events = 0

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick."""
        if spikes.tick != self._tick:
            raise InputError(f"work: found tick {spikes.tick}; tick {self._tick} is next, add them one by one")
        self._kept.append(spikes)
        self._tick += 1
        if len(self._kept) >= self._at_once:
            self._count()

    def follow(self, before: Sequence[TickSpikes]) -> None:
        """Begin another stretch of ticks, with what the ticks just before it have under way."""
        self._count()
        arrivals = self._sent(before, self._tick - len(before)) if before else np.empty(0, np.int64)
        self._under_way = arrivals[arrivals >= self._tick * self._n_axons]

    @property
    def _n_axons(self) -> int:
        return int(self._first_axon[-1])

    def _count(self) -> None:
        """Count the ticks that were kept, all at once."""
        if not self._kept:
            return
        first = self._tick - len(self._kept)
        fed = together(self._kept)
        self._spikes += len(fed.cores)
        of_host = self._first_axon[fed.host_cores] + fed.host_axons
        of_host += self._n_axons * (first + _positions([len(spikes.host_cores) for spikes in self._kept]))
        found = np.concatenate([self._under_way, self._sent(self._kept, first), of_host])
        found.sort()
        arrivals = found[np.diff(found, prepend=-1) > 0]  # two spikes on one axon in one tick are one
        done = np.searchsorted(arrivals, self._tick * self._n_axons)
        self._under_way = arrivals[done:]
        self._integrate(arrivals[:done] - first * self._n_axons)
        self._kept.clear()

    def _sent(self, ticks: Sequence[TickSpikes], first: int) -> NDArray[np.int64]:
        """Arrivals of the spikes of ticks from ``first`` on: the tick times all axons, plus the axon."""
        spikes = together(ticks)
        sent = self._program.sent_by(spikes.cores, spikes.neurons)
        when = first + _positions([len(tick.cores) for tick in ticks])[sent.spike] + sent.delay
        arrivals: NDArray[np.int64] = when * self._n_axons + self._first_axon[sent.core] + sent.axon
        return arrivals

    def _integrate(self, arrivals: NDArray[np.int64]) -> None:
        self._axon_events += len(arrivals)
        ticks, axons = np.divmod(arrivals, max(1, self._n_axons))
        done = self._shares.events(ticks, axons, len(self._kept))
        first_share = np.searchsorted(self._shares.core, np.arange(self._program.n_cores))
        of_core = np.add.reduceat(done, first_share, axis=1)  # every core has a share
        np.maximum(self._peak, done.max(axis=0), out=self._peak)
        np.maximum(self._peak_core_events, of_core.max(axis=0), out=self._peak_core_events)
        self._core_events += of_core.sum(axis=0)

    def result(self) -> Work:
        """Return what was counted so far."""
        self._count()
        shares = self._shares
        is_relay, node = shares.label % 2 == 1, shares.label // 2 - 1
        names = {k: port.name for k, port in enumerate(self._program.nodes) if port.kind != "input"}
        peak = dict.fromkeys(names.values(), 0)
        for k, relay, events in zip(node.tolist(), is_relay.tolist(), self._peak.tolist(), strict=True):
            if k in names and not relay:
                peak[names[k]] = max(peak[names[k]], events)
        return Work(
            n_ticks=self._tick,
            spikes=self._spikes,
            axon_events=self._axon_events,
            synaptic_events=int(self._core_events.sum()),
            neuron_updates=self._shares.updates * self._tick,
            core_events=self._core_events,
            peak_core_events=self._peak_core_events,
            nodes=tuple(port.name for port in self._program.nodes),
            shares=NodeShares(shares.core, node, is_relay, shares.neurons, self._peak),
            node_peak=peak,
        )


def _positions(counts: Sequence[int]) -> NDArray[np.int64]:
    """Position of the tick of every spike, where ticks have so many."""
    return np.repeat(np.arange(len(counts)), counts)
