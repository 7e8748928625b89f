"""Tensors of a graph as sums of weighted spikes, element by element."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NotSupportedError
from neuromap.formats.layers.functions import FUNCTIONS
from neuromap.formats.layers.operator import TensorShape
from neuromap.forms.card import Card

__all__ = ["Pending", "SpikeSums"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pending(Card):
    """A function that waits for the sum that it is of."""

    function: str  # of :data:`~neuromap.formats.layers.functions.FUNCTIONS`
    constants: tuple[NDArray[np.float32], ...] = ()  # one number per element, or one for all

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class SpikeSums(Card):
    """A tensor: every element is a weighted sum of spikes, plus a number, and functions of that."""

    shape: TensorShape  # the batch first, which is one frame
    weights: Mapping[str, csr_array]  # (n_elements, n_neurons): from every node whose spikes it holds
    offset: Floats  # (n_elements,): what is added
    pending: tuple[Pending, ...] = ()  # functions of the sum, in order

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", ReadOnlyMapping(self.weights))
        freeze_arrays(self)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def spikes_per_element(self) -> NDArray[np.int64]:
        """Count the neurons that every element depends on."""
        counts = np.zeros(self.size, np.int64)
        for matrix in self.weights.values():
            counts += np.diff(matrix.indptr)
        return counts

    def with_function(self, function: str, constants: tuple[NDArray[np.float32], ...]) -> SpikeSums:
        """Apply a function of single elements: at once where they are single spikes, else it waits for the sum."""
        found = Pending(function, tuple(_spread(array, self.shape) for array in constants))
        if self.pending or self.spikes_per_element().max(initial=0) > 1:
            return replace(self, pending=(*self.pending, found))
        compute = FUNCTIONS[function].compute
        silent = _of_floats(compute, self.offset, found)
        total = sum((matrix.sum(axis=1) for matrix in self.weights.values()), np.zeros(self.size))
        step = _of_floats(compute, self.offset + total, found) - silent
        weights = {}
        for name, matrix in self.weights.items():
            changed = matrix.copy()
            changed.data = step[np.repeat(np.arange(self.size), np.diff(matrix.indptr))]
            changed.eliminate_zeros()
            weights[name] = changed
        return replace(self, weights=weights, offset=silent)

    def summed(self) -> SpikeSums:
        """Give the same without functions that wait, where all of these only scale and shift."""
        found = replace(self, pending=())
        for one in self.pending:
            if not FUNCTIONS[one.function].linear:
                raise NotSupportedError(f"its value, after {one.function}, is read as a number")
            compute = FUNCTIONS[one.function].compute
            constants = tuple(array.astype(np.float64) for array in one.constants)
            zero = np.zeros(self.size)
            shift, factor = compute(zero, *constants), compute(zero + 1, *constants) - compute(zero, *constants)
            scale = eye_array(self.size).tocsr()
            scale.data = np.array(np.broadcast_to(factor, (self.size,)))
            found = replace(found.through(scale, self.shape), offset=found.offset * factor + shift)
        return found

    def through(self, matrix: csr_array, shape: TensorShape) -> SpikeSums:
        """Apply a linear transform, (n_elements of the result, n_elements)."""
        plain = self.summed() if self.pending else self
        weights = {name: csr_array(matrix @ part) for name, part in plain.weights.items()}
        return SpikeSums(shape, weights, np.asarray(matrix @ plain.offset))

    def picked(self, elements: NDArray[np.int64], shape: TensorShape, otherwise: float = 0.0) -> SpikeSums:
        """Put elements into another order; where a number is -1 there is a constant instead."""
        inside = np.flatnonzero(elements >= 0)
        entries = (np.ones(len(inside)), (inside, elements[inside]))
        moved = self.through(csr_array(entries, shape=(len(elements), self.size)), shape)
        offset = moved.offset.copy()
        offset[elements < 0] = otherwise
        return replace(moved, offset=offset)


def _spread(array: NDArray[np.float32], shape: TensorShape) -> NDArray[np.float32]:
    """Give a constant of a function one number per element, or one for all."""
    if array.size == 1:
        return array.reshape(()).astype(np.float32)
    return np.broadcast_to(array, shape).reshape(-1).astype(np.float32)


def _of_floats(compute: object, x: Floats, found: Pending) -> Floats:
    with np.errstate(all="ignore"):
        result: Floats = compute(x.astype(np.float32), *found.constants).astype(np.float64)  # type: ignore[operator]
    return result
