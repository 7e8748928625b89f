"""The dependency wave on crossbars, and the work of their axons.

Rows of bits are unpacked in portions, and a neuron that gathers parts of a sum may wait for the tick of its node: the
general walk of :mod:`neuromap.verification.wave` does neither.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.packed_rows import ragged_ranges, run_heads
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.cores.crossbar.program import Program
from neuromap.simulation.cost.activity import CoreShares, share_labels
from neuromap.verification.wave import NEVER, Ticks, Wiring, ticks_since_sampling

# Stands for the node label of axons fed by parts of sums, which never lead back to their source.
_PART = -3
# Axons whose synapses are counted at once; bounds the memory beside the program.
_AT_ONCE = 1 << 16
# Crossbar rows unpacked at once (8 MiB of ticks at 256 neurons).
_ROWS = 4096


class CrossbarWiring(Wiring):
    """View of a crossbar program for the wave; axon a of core c has number ``c * A + a``."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._program = program
        asked = program.neurons.saturate_negative.ravel() & (program.neurons.threshold.ravel() > 0)
        self._waits = asked & (self.label >= 0) & ~self.relay  # they gather, and may spike in the tick of their node
        self._n_axons = n_axons = program.axon_types.shape[1]
        core = program.target_core.astype(np.int64).ravel()
        # axon that every neuron feeds, -1 for none
        self._target = np.where(core >= 0, core * n_axons + program.target_axon.ravel(), -1)
        self._delay = program.delay.astype(np.int64).ravel()
        # node label of the neurons that feed an axon, -1 if there are none or they disagree
        self._feeder = np.full(program.axon_types.size, -1, dtype=np.int64)
        sends = np.flatnonzero(self._target >= 0)
        self._feeder[self._target[sends]] = self.label[sends]
        sums = self.part[sends]
        self._feeder[self._target[sends[sums]]] = _PART  # what a part sends never leads back to it
        mixed = self._target[sends][(self._feeder[self._target[sends]] != self.label[sends]) & ~sums]
        self._feeder[mixed] = -1

    def linked(self) -> Bools:
        """Return a mask of the pairs of nodes that a synapse links, source first, shape (nodes, nodes)."""
        label = self.label.reshape(self._program.shape)
        linked = np.zeros((self._n_nodes, self._n_nodes), dtype=np.bool_)
        for axons, live in self._synapses(np.flatnonzero(self._feeder >= 0)):
            row, neuron = np.nonzero(live)
            target = label[axons[row] // self._n_axons, neuron]
            source = self._feeder[axons[row]]
            linked[source[target >= 0], target[target >= 0]] = True
        return linked

    def earliest(self, node: int) -> Ticks:
        """Return the ticks from sampling an input until it first reaches each neuron, or ``NEVER``."""
        reached = np.full(len(self.label), NEVER, dtype=np.int64)
        known = np.zeros(len(self._feeder), dtype=np.bool_)
        axons, arrival = self._starts(node)
        due: dict[int, list[Ints]] = {}
        for tick in np.unique(arrival).tolist():
            due[tick] = [axons[arrival == tick]]
        while due:
            # Ticks come in order, so the first visit of an axon or a neuron is its earliest.
            tick = min(due)
            now = np.unique(np.concatenate(due.pop(tick)))
            now = now[~known[now]]
            known[now] = True
            for part, live in self._synapses(now):
                row, neuron = np.nonzero(live)
                hit = np.unique(part[row] // self._n_axons * self._program.shape[1] + neuron)
                hit = hit[reached[hit] == NEVER]
                reached[hit] = self._spikes_at(np.full(len(hit), tick), hit, node)
                hit = hit[self._target[hit] >= 0]
                arrival = reached[hit] + self._delay[hit]
                for then in np.unique(arrival).tolist():
                    due.setdefault(then, []).append(self._target[hit[arrival == then]])
        return reached

    def latest(self, node: int) -> Ticks | None:
        """Return the ticks from sampling an input until it last reaches each neuron, self-edges masked; see base."""
        reached = np.full(len(self.label), NEVER, dtype=np.int64)
        due = np.full(len(self._feeder), NEVER, dtype=np.int64)
        axons, arrival = self._starts(node)
        np.maximum.at(due, axons, arrival)
        now = np.unique(axons)
        for _ in range(self.longest_path(np.ones(len(self.label), np.bool_))):
            if not len(now):
                return reached
            later = np.full(self._program.shape, NEVER, dtype=np.int64)
            for part, live in self._synapses(now):
                ticks = np.where(live & ~self._masked(part), due[part][:, None], NEVER)
                core = part // self._n_axons
                heads = np.flatnonzero(run_heads(core))  # axons are sorted, so those of a core adjoin
                later[core[heads]] = np.maximum(later[core[heads]], np.maximum.reduceat(ticks, heads, axis=0))
            touched = np.flatnonzero(later.ravel() > NEVER)
            later.reshape(-1)[touched] = self._spikes_at(later.ravel()[touched], touched, node)
            moved = np.flatnonzero(later.ravel() > reached)
            reached[moved] = later.ravel()[moved]
            moved = moved[self._target[moved] >= 0]
            targets, ticks = self._target[moved], reached[moved] + self._delay[moved]
            rises = ticks > due[targets]
            np.maximum.at(due, targets[rises], ticks[rises])
            now = np.unique(targets[rises])
        return None if len(now) else reached

    def _spikes_at(self, ticks: Ticks, neurons: Ints, node: int) -> Ticks:
        """Return the ticks at which reached neurons may spike: at once, or in the next tick of their node."""
        ports, period = self._program.nodes, self._program.period
        sampled = in_parts((port.sample_tick - ports[node].sample_tick for port in ports), period)
        parts = (sampled[self.label[neurons]] - ticks * period.denominator) % period.numerator
        wait = -(-parts // period.denominator)
        spikes: Ticks = ticks + np.where(self._waits[neurons], wait, 0)
        return spikes

    def _synapses(self, axons: Ints) -> Iterator[tuple[Ints, Bools]]:
        """Yield the given axons in portions, shape (k,), with masks of their synapses of nonzero weight, (k, N)."""
        program = self._program
        for start in range(0, len(axons), _ROWS):
            part = axons[start : start + _ROWS]
            core, axon = np.divmod(part, self._n_axons)
            bits = np.unpackbits(program.crossbar[core, axon], axis=-1, count=program.shape[1], bitorder="little")
            weights = program.neurons.weights[core, :, program.axon_types[core, axon]]
            yield part, bits.astype(np.bool_) & (weights != 0)

    def _masked(self, axons: Ints) -> Bools:
        """Mask the synapses of axons that lie within one node, shape (k, N)."""
        shape = self._program.shape
        core = axons // self._n_axons
        feeder = np.where(self._feeder[axons] >= 0, self._feeder[axons], -2)  # -1 also labels neurons without a node
        same: Bools = self.label.reshape(shape)[core] == feeder[:, None]
        same &= ~(self.relay & ~self.part).reshape(shape)[core]
        return same

    def _starts(self, node: int) -> tuple[Ints, Ticks]:
        """Return the axons that the host feeds for one input, and the ticks from its sampling to their arrival."""
        host = self._program.host
        rows = np.flatnonzero(host.node == node)
        axons = host.core[rows].astype(np.int64) * self._n_axons + host.axon[rows]
        return axons, ticks_since_sampling(self._program, node, rows)


class CrossbarShares(CoreShares):
    """Shares of crossbars: a table of all axons for each."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, share_labels(program))
        self._n_axons = n_axons = program.axon_types.shape[1]
        self._first = np.searchsorted(self.core, np.arange(program.n_cores + 1))
        self._synapses = np.empty((len(self), n_axons), np.int32)
        step = max(1, _AT_ONCE // n_axons)
        for start in range(0, len(self), step):
            some = slice(start, start + step)
            members = self._labels[self.core[some]] == self.label[some, None]
            rows = program.crossbar[self.core[some]] & np.packbits(members, axis=1, bitorder="little")[:, None, :]
            self._synapses[some] = np.bitwise_count(rows).sum(axis=2, dtype=np.int32)
        del self._labels, self._numbers, self._keys

    def events(self, ticks: Ints, axons: Ints, n_ticks: int) -> Ints:
        """Count the synaptic events of reached axons."""
        cores, rows = axons // self._n_axons, axons % self._n_axons
        first = self._first[cores]
        each = self._first[cores + 1] - first
        shares = ragged_ranges(first, each)
        return self._added(np.repeat(ticks, each), shares, self._synapses[shares, np.repeat(rows, each)], n_ticks)


wiring = CrossbarWiring
shares = CrossbarShares
