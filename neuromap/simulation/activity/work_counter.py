"""What the cores of a program do in each tick: synaptic events, counted core by core and node by node.

The engines keep totals only. Here every tick's spikes are followed to their axons, so that it is also known where
the work is done and how much of it falls into one tick: a core works through its synaptic events one after the
other, so its busiest tick says how long a tick it needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.activity.work import NodeShares, Work
from neuromap.simulation.run.tick_run import TickSpikes

__all__ = ["WorkCounter"]

_ROWS = 1 << 16
"""Axons whose synapses are counted at once; bounds the memory beside the program."""


class WorkCounter:
    """Counts the work of a run, tick by tick.

    Parameters
    ----------
    program : ChipProgram
        What runs.
    """

    def __init__(self, program: ChipProgram) -> None:
        self._program = program
        self._n_axons = program.axon_types.shape[1]
        self._core, self._label, self._neurons, self._synapses = _shares_of(program)
        self._first = np.searchsorted(self._core, np.arange(program.n_cores + 1))
        self._peak = np.zeros(len(self._core), np.int64)
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
        arrived.append(spikes.host_cores.astype(np.int64) * self._n_axons + spikes.host_axons)
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
        target = self._program.target_core[spikes.cores, spikes.neurons].astype(np.int64)
        sent = target >= 0
        sources = spikes.cores[sent], spikes.neurons[sent]
        axons = target[sent] * self._n_axons + self._program.target_axon[sources]
        delays = self._program.delay[sources]
        for delay in np.unique(delays).tolist():
            self._due.setdefault(tick + delay, []).append(axons[delays == delay])

    def _integrate(self, axons: NDArray[np.int64]) -> None:
        self._axon_events += len(axons)
        cores, rows = axons // self._n_axons, axons % self._n_axons
        first = self._first[cores]
        each = self._first[cores + 1] - first
        shares = ragged_ranges(first, each)
        done = np.zeros(len(self._core), np.int64)
        np.add.at(done, shares, self._synapses[shares, np.repeat(rows, each)])
        of_core = np.zeros(self._program.n_cores, np.int64)
        np.add.at(of_core, self._core, done)
        np.maximum(self._peak, done, out=self._peak)
        np.maximum(self._peak_core_events, of_core, out=self._peak_core_events)
        self._core_events += of_core

    def result(self) -> Work:
        """Return what was counted so far."""
        is_relay = self._label % 2 == 1
        node = self._label // 2 - 1
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
            neuron_updates=int(np.prod(self._program.shape)) * self._tick,
            core_events=self._core_events,
            peak_core_events=self._peak_core_events,
            nodes=tuple(port.name for port in self._program.nodes),
            shares=NodeShares(self._core, node, is_relay, self._neurons, self._peak),
            node_peak=peak,
        )


def _shares_of(
    program: ChipProgram,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """Core, label and number of neurons of all shares, and the synapses (S, A) of every axon onto them.

    The label is 2 (node + 1), one more for relays.
    """
    n_axons = program.axon_types.shape[1]
    labels = 2 * (program.neuron_node.astype(np.int64) + 1) + program.is_relay
    n_labels = int(labels.max(initial=0)) + 1
    keys, counts = np.unique(np.arange(program.n_cores)[:, None] * n_labels + labels, return_counts=True)
    core, label = keys // n_labels, keys % n_labels
    synapses = np.empty((len(keys), n_axons), np.int32)
    step = max(1, _ROWS // n_axons)
    for start in range(0, len(keys), step):
        some = slice(start, start + step)
        members = np.packbits(labels[core[some]] == label[some, None], axis=1, bitorder="little")
        rows = program.crossbar[core[some]] & members[:, None, :]
        synapses[some] = np.bitwise_count(rows).sum(axis=2, dtype=np.int32)
    return core, label, counts.astype(np.int64), synapses
