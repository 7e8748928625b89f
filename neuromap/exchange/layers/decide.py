"""From functions of sums to integer thresholds: the least sum at which a neuron has its greater value.

Sums of integer weights and spikes are integers times a unit. Where all functions of a sum rise or fall, and it has
two values, bisection finds the sum at which it changes; functions are computed in float32, as the frameworks do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import NotSupportedError
from neuromap.formats.layers import FUNCTIONS, TensorShape
from neuromap.render.value import Card

_ROUNDED = ("plus", "minus", "from", "times", "divided_by", "batch_norm", "sigmoid", "tanh")
"""Functions whose results are rounded, so that another order of computing may change them."""
_NUDGE = 2.0**-21
"""Part by which another order may change them: a few units of the last place of float32."""


@dataclass(frozen=True, eq=False)
class Decision(ReadOnly, Card):
    """What neurons do, in integers: spike iff their sum is at least theta."""

    sign: Ints  # (n,): -1 where the neuron spikes below a sum: its weights change their signs
    theta: Ints  # (n,): thresholds, after that
    # low, high: values that stand for silence and for a spike
    low: float
    high: float
    n_unsure: int  # neurons whose threshold would be another if floating-point numbers were rounded in another order


def decide(rows: IntegerRows, offset: Floats, pending: tuple[Pending, ...]) -> Decision:
    """Find thresholds."""
    # shapes: offset (n,)
    low, high = _reach(rows.weights)
    least, greatest = _value(low, rows.unit, offset, pending), _value(high, rows.unit, offset, pending)
    if not (np.isfinite(least).all() and np.isfinite(greatest).all()):
        raise NotSupportedError("its values are not finite")
    values = np.unique([*np.unique(least), *np.unique(greatest)])
    if len(values) > 2:
        shown = ", ".join(f"{value:g}" for value in values[:3])
        raise NotSupportedError(f"its neurons take more than two values ({shown}{', ...' if len(values) > 3 else ''})")
    if not all(_is_monotone(one) for one in pending):
        raise NotSupportedError("its activation rises and falls")
    left = np.where(np.diff(rows.weights.indptr) == 1, high - 1, low)  # a single source makes no sums in between
    ends = left, np.where(least == greatest, left, high), least, greatest
    first = _first_high(rows.unit, offset, pending, ends, 0.0)
    others = [_first_high(rows.unit, offset, pending, ends, nudge) for nudge in (-_NUDGE, _NUDGE)]
    n_unsure = int(np.count_nonzero((others[0] != first) | (others[1] != first)))
    rises, falls = greatest > least, greatest < least
    # Neurons that never change take the sign of those of their feature that do: kernels stay the same everywhere.
    sign = np.where(rises, 1, np.where(falls, -1, _slopes(pending, len(low))))
    always = least == (values[-1] if len(values) > 1 else 1.0)
    constant = np.where(always, np.where(sign > 0, low, -high), np.where(sign > 0, high, -low) + 1)
    theta = np.where(rises, first, np.where(falls, 1 - first, constant))
    if len(values) == 1:
        values = np.array([0.0, 1.0]) if values[0] == 1 else np.array([values[0], values[0] + 1])
    return Decision(sign, theta, float(values[0]), float(values[1]), n_unsure)


def _reach(weights: csr_array) -> tuple[Ints, Ints]:
    """Give the least and the greatest sum of every row."""
    negative, positive = weights.copy(), weights.copy()
    negative.data, positive.data = np.minimum(weights.data, 0), np.maximum(weights.data, 0)
    return np.asarray(negative.sum(axis=1)).ravel(), np.asarray(positive.sum(axis=1)).ravel()


def _first_high(
    unit: Floats, offset: Floats, pending: tuple[Pending, ...], ends: tuple[Ints, Ints, Floats, Floats], nudge: float
) -> Ints:
    """Find by bisection the least sum at which the value is that of the greatest; between sums, with these values."""
    left, right, least, greatest = ends
    while np.any(right - left > 1):
        middle = (left + right) // 2
        value = _value(middle, unit, offset, pending, nudge)
        at_end, open_ = np.abs(value - greatest) < np.abs(value - least), right - left > 1
        if not nudge and np.any(open_ & (value != np.where(at_end, greatest, least))):
            raise NotSupportedError("its neurons take more than two values")
        right = np.where(open_ & at_end, middle, right)
        left = np.where(open_ & ~at_end, middle, left)
    return right


def _value(sums: Ints, unit: Floats, offset: Floats, pending: tuple[Pending, ...], nudge: float = 0.0) -> Floats:
    """Compute what neurons give at these sums, in float32; or in float64 with rounded results moved a little."""
    exact = sums * unit + offset
    x = exact.astype(np.float32)
    if not nudge:
        for one in pending:
            with np.errstate(all="ignore"):
                x = FUNCTIONS[one.function].compute(x, *one.constants)
        return x.astype(np.float64)
    for one in pending:
        compute = FUNCTIONS[one.function].compute
        with np.errstate(all="ignore"):
            rounded = compute(exact.astype(np.float32), *one.constants).astype(np.float64)
            wide = compute(exact, *(array.astype(np.float64) for array in one.constants))
            if one.function in _ROUNDED:
                size = np.maximum(np.abs(wide), _size_of_terms(one, exact))
                wide = wide + np.where(rounded == wide, 0.0, nudge * size)
        exact = wide
    return np.asarray(exact.astype(np.float32).astype(np.float64))


def _size_of_terms(one: Pending, x: Floats) -> Floats:
    """Give the size of what a function adds up: of two that nearly cancel, a small part is much."""
    if one.function == "batch_norm":
        mean, variance, scale, shift, epsilon = (array.astype(np.float64) for array in one.constants)
        factor = np.abs(scale / np.sqrt(variance + epsilon))
        found: Floats = (np.abs(x) + np.abs(mean)) * factor + np.abs(shift)
        return found
    return np.maximum(np.abs(x), np.abs(one.constants[0])) if one.constants else np.abs(x)


def _slopes(pending: tuple[Pending, ...], n: int) -> Ints:
    """Tell whether the value of every neuron rises with its sum, 1, or falls, -1."""
    sign = np.ones(n, np.int64)
    for one in pending:
        slope = np.asarray(FUNCTIONS[one.function].slope(*one.constants))
        sign *= np.where(slope < 0, -1, 1)
    return sign


def _is_monotone(one: Pending) -> bool:
    slope = np.asarray(FUNCTIONS[one.function].slope(*one.constants))
    return bool(np.isfinite(slope).all())


# Float weights as integers times a unit, row by row: exactly, or as exactly as float32 holds them.
_MOST_PARTS = 128
"""Least weights of a row that are tried, in units: 8-bit weights have no greater."""
_ROUNDING = 2e-6
"""Parts of a unit by which float32 weights may miss an integer of up to 16; greater ones miss by more."""
_MOST_ROUNDED = 2**15
"""Greatest integer that float32 weights may miss."""
_MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class IntegerRows(ReadOnly, Card):
    """Integer weights, and what one of them is worth."""

    weights: csr_array  # (n, n_sources): integers
    unit: Floats  # (n,): row k of the float weights is ``unit[k]`` times row k of these
    error: float  # most that a weight misses its integer by, in units


def integer_rows(weights: csr_array) -> IntegerRows:
    """Find the unit of every row: 1 where its weights are integers, else the greatest that makes them so."""
    # shapes: weights (n, n_sources)
    data, lengths = weights.data, np.diff(weights.indptr)
    row = np.repeat(np.arange(weights.shape[0]), lengths)
    unit = np.ones(weights.shape[0])
    open_rows = np.zeros(weights.shape[0], bool)
    open_rows[row[~_near_integers(data)]] = True
    if open_rows.any():
        least = np.full(weights.shape[0], np.inf)
        np.minimum.at(least, row, np.where(data == 0, np.inf, np.abs(data)))
        for parts in range(1, _MOST_PARTS + 1):
            mine = open_rows[row]
            trial = data[mine] * parts / least[row[mine]]
            wrong = np.unique(row[mine][~_near_integers(trial)])
            found = open_rows.copy()
            found[wrong] = False
            unit[found] = least[found] / parts
            open_rows &= ~found
            if not open_rows.any():
                break
        else:
            raise NotSupportedError("its weights are not integers times a scale per neuron")
    scaled = data / unit[row]
    integers = np.round(scaled)
    if np.abs(integers).max(initial=0) > _MOST:
        raise NotSupportedError("its weights are greater than 32 bits hold")
    found_weights = csr_array((integers.astype(np.int64), weights.indices, weights.indptr), shape=weights.shape)
    found_weights.eliminate_zeros()
    return IntegerRows(found_weights, unit, float(np.abs(scaled - integers).max(initial=0)))


def _near_integers(values: Floats) -> Bools:
    nearest = np.round(values)
    size = np.abs(nearest)
    with np.errstate(invalid="ignore"):
        near = (np.abs(values - nearest) <= _ROUNDING * np.maximum(1, size / 16)) & (size > 0) & (size <= _MOST_ROUNDED)
    found: Bools = near | (values == nearest)
    return found


# Tensors of a graph as sums of weighted spikes, element by element.


@dataclass(frozen=True, eq=False)
class Pending(ReadOnly, Card):
    """A function that waits for the sum that it is of."""

    function: str  # of :data:`~neuromap.formats.layers.FUNCTIONS`
    constants: tuple[NDArray[np.float32], ...] = ()  # one number per element, or one for all


@dataclass(frozen=True, eq=False)
class SpikeSums(ReadOnly, Card):
    """A tensor: every element is a weighted sum of spikes, plus a number, and functions of that."""

    shape: TensorShape  # the batch first, which is one frame
    weights: Mapping[str, csr_array]  # (n_elements, n_neurons): from every node whose spikes it holds
    offset: Floats  # (n_elements,): what is added
    pending: tuple[Pending, ...] = ()  # functions of the sum, in order

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def spikes_per_element(self) -> Ints:
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

    def picked(self, elements: Ints, shape: TensorShape, otherwise: float = 0.0) -> SpikeSums:
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
