"""DenseProgram: a weight for every axon and neuron of a core, and any number of targets for a neuron.

In every tick a neuron sums the weights of the axons that are reached, fires iff the sum is at its threshold or above,
and forgets the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.hardware.program.chip_program import ChipProgram, Sent, Synapses, Tensors, Wires

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class DenseProgram(ChipProgram):
    """A chip's memory image with labels, for dense cores."""

    weights: NDArray[np.int8]  # (C, A, N)
    threshold: NDArray[np.int32]  # (C, N)
    start: Ints  # (C * N + 1,): neuron n of core c has targets ``start[c * N + n]`` to ``start[c * N + n + 1] - 1``
    # (T,): targets
    target_core: NDArray[np.int32]
    target_axon: NDArray[np.int32]
    delay: NDArray[np.uint8]

    TENSORS: ClassVar[Tensors] = {
        "weights": ("int8", "CAN"),
        "threshold": ("int32", "CN"),
        "start": ("int64", "R"),
        "target_core": ("int32", "T"),
        "target_axon": ("int32", "T"),
        "delay": ("uint8", "T"),
    }

    def extents(self) -> dict[str, int]:
        return {"R": self.n_cores * self.chip.neurons + 1, "T": len(self.target_core)}

    @property
    def wires(self) -> Wires:
        sender = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        targets = (self.target_core, self.target_axon, self.delay)
        return Wires(*np.divmod(sender, self.chip.neurons), *(column.astype(np.int64) for column in targets))

    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        number = cores.astype(np.int64) * self.chip.neurons + neurons
        each = self.start[number + 1] - self.start[number]
        row = ragged_ranges(self.start[number], each)
        targets = (self.target_core, self.target_axon, self.delay)
        return Sent(np.repeat(np.arange(len(number)), each), *(column[row].astype(np.int64) for column in targets))

    @property
    def axon_counts(self) -> Ints:
        return np.full(self.n_cores, self.chip.axons, np.int64)

    @property
    def greatest_delay(self) -> int:
        return int(self.delay.max(initial=0))

    def synapses_of(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> Synapses:
        weights = self.weights[cores, axons]
        row, neuron = np.nonzero(weights)
        return Synapses(row, neuron, weights[row, neuron].astype(np.int64), np.zeros(len(row), np.int64))

    @property
    def n_synapses(self) -> int:
        return int(np.count_nonzero(self.weights))

    def of_cores(self, cores: Ints, local: Ints) -> dict[str, Any]:
        neuron = (cores[:, None] * self.chip.neurons + np.arange(self.chip.neurons)).ravel()
        each = self.start[neuron + 1] - self.start[neuron]
        row = ragged_ranges(self.start[neuron], each)
        here = local[self.target_core[row]] >= 0
        return {
            "weights": self.weights[cores],
            "threshold": self.threshold[cores],
            "start": np.append(0, np.cumsum(here))[np.append(0, np.cumsum(each))],
            "target_core": local[self.target_core[row[here]]].astype(np.int32),
            "target_axon": self.target_axon[row[here]],
            "delay": self.delay[row[here]],
        }


PROGRAM = DenseProgram
