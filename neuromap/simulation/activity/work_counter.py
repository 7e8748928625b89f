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
from neuromap.simulation.run.tick_run import TickSpikes

__all__ = ["WorkCounter"]


class WorkCounter:
    """Counts the work of a run, tick by tick.

    Parameters
    ----------
    program : ChipProgram
        What runs.
    """

    def __init__(self, program: ChipProgram) -> None:
        self._program = program
        self._first_axon = np.zeros(program.n_cores + 1, np.int64)
        np.cumsum(program.axon_counts, out=self._first_axon[1:])
        self._shares = shares_of(program)
        self._peak = np.zeros(len(self._shares), np.int64)
        self._core_events = np.zeros(program.n_cores, np.int64)
        self._peak_core_events = np.zeros(program.n_cores, np.int64)
        self._due: dict[int, list[NDArray[np.int64]]] = {}
        self._tick = self._spikes = self._axon_events = 0

    def add(self, spikes: TickSpikes) -> None:
        """Count one tick.

        Parameters
        ----------
        spikes : TickSpikes
            Of the tick after the one before; the first is tick 0.

        Raises
        ------
        InputError
            If it is another tick.
        """
        if spikes.tick != self._tick:
            raise InputError(f"work: found tick {spikes.tick}; tick {self._tick} is next, add them one by one")
        self._spikes += len(spikes.cores)
        self._send(spikes, self._tick)
        arrived = self._due.pop(self._tick, [])
        arrived.append(self._first_axon[spikes.host_cores] + spikes.host_axons)
        self._integrate(np.unique(np.concatenate(arrived)))  # two spikes on one axon are one
        self._tick += 1

    def follow(self, before: Sequence[TickSpikes]) -> None:
        """Begin another stretch of ticks, with what the ticks just before it have under way.

        Parameters
        ----------
        before : sequence of TickSpikes
            These ticks, in order, whatever their numbers. They are not counted themselves; but their spikes are work
            of the tick in which they arrive. What the last stretch left under way is forgotten.
        """
        self._due.clear()
        for back, spikes in zip(range(len(before), 0, -1), before, strict=True):
            self._send(spikes, self._tick - back)
        self._due = {tick: axons for tick, axons in self._due.items() if tick >= self._tick}

    def _send(self, spikes: TickSpikes, tick: int) -> None:
        sent = self._program.sent_by(spikes.cores, spikes.neurons)
        axons = self._first_axon[sent.core] + sent.axon
        for delay in np.unique(sent.delay).tolist():
            self._due.setdefault(tick + delay, []).append(axons[sent.delay == delay])

    def _integrate(self, axons: NDArray[np.int64]) -> None:
        self._axon_events += len(axons)
        done = self._shares.events(axons)
        of_core = np.zeros(self._program.n_cores, np.int64)
        np.add.at(of_core, self._shares.core, done)
        np.maximum(self._peak, done, out=self._peak)
        np.maximum(self._peak_core_events, of_core, out=self._peak_core_events)
        self._core_events += of_core

    def result(self) -> Work:
        """Return what was counted so far."""
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
