"""The dependency wave on crossbars, and the work of their axons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.cores.crossbar.program import Program
from neuromap.simulation.cost.activity import CoreShares, share_labels
from neuromap.verification.wave import Hits, ProgramWiring, Ticks

# Axons whose synapses are counted at once; bounds the memory beside the program.
_AT_ONCE = 1 << 16


class CrossbarWiring(ProgramWiring):
    """View for the wave: a neuron that gathers parts of a sum may wait for the tick of its node."""

    _program: Program

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        asked = program.neurons.saturate_negative.ravel() & (program.neurons.threshold.ravel() > 0)
        self._waits = asked & (self.label >= 0) & ~self.relay  # they gather, and may spike in the tick of their node

    def _spikes_at(self, ticks: Ticks, neurons: Ints, node: int) -> Ticks:
        """Return the ticks at which reached neurons may spike: at once, or in the next tick of their node."""
        ports, period = self._program.nodes, self._program.period
        sampled = in_parts((port.sample_tick - ports[node].sample_tick for port in ports), period)
        parts = (sampled[self.label[neurons]] - ticks * period.denominator) % period.numerator
        wait = -(-parts // period.denominator)
        spikes: Ticks = ticks + np.where(self._waits[neurons], wait, 0)
        return spikes

    def _of_axons(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> Hits:
        """List the synapses of nonzero weight: faster than from one synapse to the next."""
        program, n = self._program, self._program.shape[1]
        bits = np.unpackbits(program.crossbar[cores, axons], axis=-1, count=n, bitorder="little").view(np.bool_)
        source, neuron = np.nonzero(bits & (program.neurons.weights[cores, :, program.axon_types[cores, axons]] != 0))
        return Hits(source, cores[source] * n + neuron, np.zeros(len(source), np.int64))


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
