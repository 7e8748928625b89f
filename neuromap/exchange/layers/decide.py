"""From functions of sums to integer thresholds: the least sum at which a neuron has its greater value.

Sums of integer weights and spikes are integers times a unit. Where all functions of a sum rise or fall, and it has
two values, bisection finds the sum at which it changes; functions are computed in float32, as the frameworks do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import NotSupportedError
from neuromap.exchange.layers.units import IntegerRows
from neuromap.exchange.layers.values import Pending
from neuromap.formats.layers.functions import FUNCTIONS
from neuromap.forms.card import Card

__all__ = ["Decision", "decide"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROUNDED = ("plus", "minus", "from", "times", "divided_by", "batch_norm", "sigmoid", "tanh")
"""Functions whose results are rounded, so that another order of computing may change them."""
_NUDGE = 2.0**-21
"""Part by which another order may change them: a few units of the last place of float32."""


@dataclass(frozen=True, eq=False)
class Decision(Card):
    """What neurons do, in integers: spike iff their sum is at least theta."""

    sign: Ints  # (n,): -1 where the neuron spikes below a sum: its weights change their signs
    theta: Ints  # (n,): thresholds, after that
    # low, high: values that stand for silence and for a spike
    low: float
    high: float
    n_unsure: int  # neurons whose threshold would be another if floating-point numbers were rounded in another order

    def __post_init__(self) -> None:
        freeze_arrays(self)


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
