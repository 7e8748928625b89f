"""The synapses of every neuron as a list of axons: a crossbar read by columns.

Plain loops, compiled: in NumPy it would take as long as some hundred stimuli do afterwards.
"""

from __future__ import annotations

from typing import Any

from numba import int64, njit, uint64

from neuromap.simulation.engine.kernel.emission import CALLED
from neuromap.simulation.engine.kernel.words import trailing_zeros

LEVELS = 16
"""Bits of the magnitude of a weight."""


@njit(**CALLED)
def weigh_synapses(crossbar: Any, axon_types: Any, weights: Any, least: Any, most: Any, n_entries: Any) -> None:
    """Sum up negative and positive weights of every neuron, (C, N), and count entries by level, (C, N, LEVELS)."""
    # A synapse is an entry of every level whose bit is set in the magnitude of its weight. Rows of the crossbar are
    # words of 64 bits, shape (C, A, words).
    n_cores, n_axons, n_words = crossbar.shape
    for core in range(n_cores):
        for axon in range(n_axons):
            kind = axon_types[core, axon]
            for k in range(n_words):
                word = crossbar[core, axon, k]
                while word != uint64(0):
                    neuron = 64 * k + trailing_zeros(word)
                    word &= word - uint64(1)
                    weight = int64(weights[core, neuron, kind])
                    least[core, neuron] += min(weight, 0)
                    most[core, neuron] += max(weight, 0)
                    magnitude = abs(weight)
                    for level in range(LEVELS):
                        if magnitude >> level == 0:
                            break
                        n_entries[core, neuron, level] += magnitude >> level & 1


@njit(**CALLED)
def fill_lists(crossbar: Any, axon_types: Any, weights: Any, cores: Any, position: Any, entries: Any) -> None:
    """Write the entries of some cores; ``position`` (C, N, LEVELS) is where the next one of a list goes."""
    _, n_axons, n_words = crossbar.shape
    for core in cores:
        for axon in range(n_axons):
            kind = axon_types[core, axon]
            for k in range(n_words):
                word = crossbar[core, axon, k]
                while word != uint64(0):
                    neuron = 64 * k + trailing_zeros(word)
                    word &= word - uint64(1)
                    weight = int64(weights[core, neuron, kind])
                    entry = axon if weight > 0 else n_axons + 1 + axon
                    magnitude = abs(weight)
                    for level in range(LEVELS):
                        if magnitude >> level == 0:
                            break
                        if magnitude >> level & 1:
                            entries[position[core, neuron, level]] = entry
                            position[core, neuron, level] += 1
