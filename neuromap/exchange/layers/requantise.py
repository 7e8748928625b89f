"""Rounding of a quantised graph as multiplier and shift of a graded neuron, checked for every sum that can occur.

The value that a quantised graph gives a sum never falls as the sum rises. It is thus determined by its *thresholds*:
the least sum at which the value is k or more, for every k. A graded neuron rounds ``sum * multiplier / 2**shift``, ties
to even, and has the same thresholds iff its ratio lies in an interval: each threshold t requires that ``ratio * t``
reaches k - 1/2 and ``ratio * (t - 1)`` does not. The intervals are intersected as exact fractions, and the ratio of
fewest bits in the intersection is taken. If that is empty, float32 rounding or ties to an odd zero point have moved a
threshold to where no ratio has it; the sums that differ are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import NotSupportedError
from neuromap.network.spiking_neuron import rounded
from neuromap.render.value import Card

# Greatest weight of an addend: with 8-bit values, sums stay far below 31 bits.
WIDEST = 2**22
# Most bits of a multiplier.
_MOST_BITS = 31
# Most thresholds sought at a time, and of one neuron: a value of b bits has 2**b - 1.
_AT_ONCE = 2**20
# Relative difference of fractions that float64 may confuse: numerators and denominators have at most 33 bits.
_NEAR = 1e-12


@dataclass(frozen=True, eq=False)
class Meaning(ReadOnly, Card):
    """Values that a graph gives the sums of some neurons, one row of numbers per neuron.

    QuantizeLinear takes the real number that a sum stands for in float32 and divides it by the scale in float32. An
    operator fused with the sum (QLinearConv) multiplies the sum by one float32 factor, and rounds after adding the zero
    point. Both round to the nearest integer, ties to even.
    """

    unit: Floats  # (n,): exact real number that a sum of 1 stands for, a product of two float32 numbers
    scale: Floats  # (n,): real number that a value of 1 stands for
    zero_point: int
    low: int
    high: int
    fused: bool = False
    inverse: bool = False  # whether it multiplies by the inverse of the scale, as PyTorch does
    # (n,), or one for all: divisor of the real number, for means; what is added to it, besides the whole units of the
    # bias; its bounds, ReLU and Clip
    count: Ints | int = 1
    rest: Floats | float = 0.0
    floor: Floats | float = -np.inf
    ceiling: Floats | float = np.inf

    def values(self, total: Ints) -> Ints:
        """Compute values of sums, shape (n, k)."""
        arrays = (self.unit, self.scale, self.count, self.rest, self.floor, self.ceiling)
        unit, scale, count, rest, floor, ceiling = (np.reshape(part, (-1, 1)) for part in arrays)
        single = scale.astype(np.float32)
        if self.fused:
            found = np.rint(total * (unit.astype(np.float32) / single).astype(np.float64) + self.zero_point)
            found -= self.zero_point
        else:
            real = (total * unit / count + rest).astype(np.float32)
            found = self.of_reals(np.minimum(np.maximum(real, np.float32(floor)), np.float32(ceiling)), single)
        return np.clip(found, self.low, self.high).astype(np.int64)

    def of_reals(self, real: NDArray[Any], scale: NDArray[Any]) -> NDArray[Any]:
        """Round float32 numbers to units of values."""
        found: NDArray[Any] = np.rint(real * (np.float32(1) / scale) if self.inverse else real / scale)
        return found

    def rows(self, which: slice | Ints) -> Meaning:
        """Select some neurons."""
        names = ("count", "rest", "floor", "ceiling")
        own = {name: part[which] for name in names if np.size(part := getattr(self, name)) > 1}
        return replace(self, unit=self.unit[which], scale=self.scale[which], **own)


class Ratio(NamedTuple):
    """Multipliers and shifts."""

    multiplier: Ints  # (n,)
    shift: Ints  # (n,)
    differ: Ints  # (n,): by how much they miss the graph's values, summed over all sums; mostly the sums that differ


def fitted(meaning: Meaning, low: Ints, high: Ints) -> Ratio:
    """Find the ratios that round as the graph does, for all sums from low to high."""
    # shapes: low, high (n,)
    if meaning.high - meaning.low >= _AT_ONCE:
        raise NotSupportedError(f"its values are {meaning.low} to {meaning.high}; quantise it to 20 bits or fewer")
    n, at_once = len(low), max(1, _AT_ONCE // max(1, meaning.high - meaning.low))
    found = np.zeros((3, n), np.int64)
    for start in range(0, n, at_once):
        rows = slice(start, start + at_once)
        found[:, rows] = _fitted(meaning.rows(rows), low[rows], high[rows])
    return Ratio(*found)


def _fitted(meaning: Meaning, low: Ints, high: Ints) -> Ints:
    steps = np.arange(meaning.low + 1, meaning.high + 1)
    nominal = meaning.unit / (meaning.count * meaning.scale)
    first = least_totals(meaning.values, (steps - 0.5) / nominal[:, None], low, high, steps)
    lower, upper = _interval(first, first - 1, first <= high[:, None], first > low[:, None], steps)
    found = np.zeros((3, len(low)), np.int64)
    for row in range(len(low)):
        ratio = simplest(lower[row], upper[row])
        if ratio is not None:
            found[:2, row] = ratio
            continue
        mine = np.array([row])
        of_row = meaning.rows(mine)
        ratios = (nominal[row], lower[row][0], *(upper[row][:1] if upper[row] != _MOST else ()))
        trials = [nearest(float(ratio)) for ratio in ratios if ratio > 0]
        missed = [_missed(of_row, trial, first[mine], low[mine], high[mine], steps) for trial in trials]
        best = int(np.argmin(missed))
        found[:, row] = (*trials[best], missed[best])
    return found


def _missed(meaning: Meaning, ratio: tuple[int, int], first: Ints, low: Ints, high: Ints, steps: Ints) -> int:
    """Sum the misses of a ratio against the graph's values, over all sums."""

    def values(total: Ints) -> Ints:
        return rounded(total, np.int64(ratio[0]), np.int64(ratio[1]))  # type: ignore[arg-type] # for all

    guess = (steps - 0.5)[None] * (2.0 ** ratio[1] / max(ratio[0], 1))
    return int(np.abs(least_totals(values, guess, low, high, steps) - first).sum())


def least_totals(values: Callable[[Ints], Ints], guess: NDArray[Any], low: Ints, high: Ints, steps: Ints) -> Ints:
    """Find, for every step, the least sum with its value or more; one beyond the greatest sum if there is none."""
    # guess: (n, k), start of the search; mostly it is right to within one
    bottom, top = low[:, None] - 1, high[:, None] + 1
    near = np.floor(np.clip(guess, bottom, top)).astype(np.int64)
    left, right = np.clip(near - 2, bottom, top - 1), np.clip(near + 2, bottom + 1, top)
    left = np.where((left > bottom) & (values(np.maximum(left, low[:, None])) >= steps), bottom, left)
    right = np.where((right < top) & (values(np.minimum(right, high[:, None])) < steps), top, right)
    while np.any(right - left > 1):
        middle = (left + right) >> 1
        is_open = right - left > 1
        reached = values(np.clip(middle, low[:, None], high[:, None])) >= steps
        right = np.where(is_open & reached, middle, right)
        left = np.where(is_open & ~reached, middle, left)
    return right


# A fraction, and whether it is itself allowed.
_Bound = tuple[Fraction, bool]
# Bounds where nothing sets one: 0, and what no multiplier reaches.
_LEAST, _MOST = (Fraction(0), True), (Fraction(2**_MOST_BITS), True)


def _interval(at: Ints, below: Ints, has_at: Bools, has_below: Bools, steps: Ints) -> tuple[list[_Bound], list[_Bound]]:
    """Intersect the intervals of ratios that thresholds allow, row by row."""
    # at: least sums at which a step is reached; below: greatest at which it is not yet
    # shapes: at, below, has_at, has_below (n, k)
    half = np.broadcast_to(2 * steps - 1, at.shape)  # twice the place where a value becomes the step
    even = np.broadcast_to(steps % 2 == 0, at.shape)  # where a tie becomes the step
    # ratio * 2 at >= half, and ratio * 2 below <= half; equal where the tie goes that way
    lowest = (has_at & (at > 0) & (half > 0)), (has_below & (below < 0) & (half < 0))
    highest = (has_at & (at < 0) & (half < 0)), (has_below & (below > 0) & (half > 0))
    never = (has_at & (at <= 0) & (half > 0)) | (has_below & (below >= 0) & (half < 0))
    lower, upper = [], []
    for row in range(len(at)):
        here = at[row], below[row], half[row], even[row]
        lower.append(_greatest(*here, lowest[0][row], lowest[1][row], 1))
        upper.append(
            (Fraction(-1), False) if never[row].any() else _greatest(*here, highest[0][row], highest[1][row], -1)
        )
    return lower, upper


def _greatest(at: Ints, below: Ints, half: Ints, even: Bools, by_at: Bools, by_below: Bools, sign: int) -> _Bound:
    """Greatest of all lower bounds (sign 1), or least of all upper ones (-1)."""
    top = np.concatenate([np.abs(half[by_at]), np.abs(half[by_below])])
    if not len(top):
        return _LEAST if sign > 0 else _MOST
    bottom = 2 * np.concatenate([np.abs(at[by_at]), np.abs(below[by_below])])
    closed = np.concatenate([even[by_at], ~even[by_below]])
    about = top / bottom
    limit = about.max() * (1 - _NEAR) if sign > 0 else about.min() * (1 + _NEAR)
    near = np.flatnonzero(about >= limit if sign > 0 else about <= limit)
    exact = [Fraction(int(top[k]), int(bottom[k])) for k in near]
    best = max(exact) if sign > 0 else min(exact)
    return best, all(closed[k] for k, fraction in zip(near, exact, strict=True) if fraction == best)


def simplest(lower: _Bound, upper: _Bound) -> tuple[int, int] | None:
    """Find the multiplier and shift of fewest bits inside two bounds; ``None`` if there are none."""
    (least, may_least), (most, may_most) = lower, upper
    for shift in range(63 if least <= most else 0):
        multiplier = -((-least.numerator << shift) // least.denominator)
        if not may_least and multiplier * least.denominator == least.numerator << shift:
            multiplier += 1
        if multiplier >= 2**_MOST_BITS:
            return None
        found = Fraction(multiplier, 2**shift)
        if found < most or (may_most and found == most):
            return multiplier, shift
    return None


def nearest(ratio: float) -> tuple[int, int]:
    """Find the multiplier and shift nearest to a positive number."""
    shift = 0
    while shift < 62 and ratio * 2.0 ** (shift + 1) < 2**_MOST_BITS - 1:
        shift += 1
    multiplier = min(round(ratio * 2.0**shift), 2**_MOST_BITS - 1)
    spare = min(shift, (multiplier & -multiplier).bit_length() - 1) if multiplier else shift
    return multiplier >> spare, shift - spare


# Sums of two tensors whose units differ.


class Joined(NamedTuple):
    """Weights of two addends, with the ratio of their sum."""

    weights: tuple[int, int]
    ratio: tuple[int, int]
    differ: int  # pairs of values at which it misses the graph


def joined(
    values: Ints, addends: tuple[Ints, Ints], units: tuple[float, float], scale: float, bounds: tuple[int, int]
) -> Joined:
    """Find integer weights of two addends, and a ratio, that give the graph's values for all pairs."""
    # Weights of few bits first: chips have 8. Pairs with equal weighted sums must have one value in the graph, which
    # must not fall as the weighted sum rises; then thresholds determine the ratio, as for single sums.
    # values: of the graph (n_first, n_second); addends: with their signs; bounds: of values
    given, (first, second), (low, high) = values.ravel(), addends, (int(values.min()), int(values.max()))
    best: Joined | None = None
    for weights in _weights(Fraction(units[0]) / Fraction(units[1]), WIDEST):
        total = (weights[0] * first[:, None] + weights[1] * second[None, :]).ravel()
        near = nearest(units[1] / (weights[1] * scale))
        missed = _differ(total, near, given, bounds)
        if best is None or missed < best.differ:
            best = Joined(weights, near, missed)
        if missed > len(given) // 64:
            continue
        order = np.lexsort((given, total))
        sums, made = total[order], given[order]
        if (np.diff(made) < 0).any() or ((np.diff(sums) == 0) & (np.diff(made) != 0)).any():
            continue
        steps = np.arange(max(low, bounds[0] + 1), min(high + 1, bounds[1]) + 1)
        place = np.searchsorted(made, steps)
        at, below = sums[np.minimum(place, len(sums) - 1)], sums[np.maximum(place - 1, 0)]
        lower, upper = _interval(at[None], below[None], (place < len(sums))[None], (place > 0)[None], steps)
        ratio = simplest(lower[0], upper[0])
        if ratio is not None:
            return Joined(weights, ratio, _differ(total, ratio, given, bounds))
        if best.differ == 0:
            return best
    if best is None:
        raise NotSupportedError(
            f"it adds values of scales {units[0]:.3g} and {units[1]:.3g}; neurons weigh one at most {WIDEST} times the "
            "other, give it closer scales"
        )
    return best


def _differ(total: Ints, ratio: tuple[int, int], given: Ints, bounds: tuple[int, int]) -> int:
    found = rounded(total, np.int64(ratio[0]), np.int64(ratio[1])).clip(*bounds)  # type: ignore[arg-type]
    return int(np.count_nonzero(found != given))


def _weights(ratio: Fraction, most: int) -> Iterator[tuple[int, int]]:
    """Yield ever better fractions for a ratio: convergents of its continued fraction, and some between them."""
    turned = ratio < 1
    rest, (p0, q0), (p1, q1) = (1 / ratio if turned else ratio), (0, 1), (1, 0)
    while True:
        whole = rest.numerator // rest.denominator
        for part in sorted({max(1, (whole + 1) // 2), whole, *range(max(1, whole - 2), whole)} - {0}):
            p, q = part * p1 + p0, part * q1 + q0
            if p > most or q > most:
                return
            if q:
                yield (q, p) if turned else (p, q)
        (p0, q0), (p1, q1) = (p1, q1), (whole * p1 + p0, whole * q1 + q0)
        if rest == whole:
            return
        rest = 1 / (rest - whole)


def common_unit(units: Floats, greatest: Floats, scale: Floats | None, most: int) -> tuple[Ints, Floats, Floats]:
    """Find integer weights of several addends, row by row, and the unit of their sum."""
    # units: (n, m), 0 where a row has no such addend; greatest: (n, m), magnitudes of addends in their units
    # scale: (n,), of the values that are made of them; None: of sums that stay as they are, the least unit
    # returns weights (n, m), unit (n,), and the greatest error of the sum, in scales (n,)
    present = units > 0
    least = np.where(present, units, np.inf).min(axis=1)
    least = np.where(np.isfinite(least), least, 1.0)
    weights, unit = np.zeros(units.shape, np.int64), least.copy()
    error, scale = np.full(len(units), np.inf), least if scale is None else scale
    for parts in (*range(1, 65), *(2**k for k in range(7, 16))):
        trial = np.rint(units * (parts / least)[:, None]).astype(np.int64)
        off = (np.abs(trial * (least / parts)[:, None] - units) * greatest).sum(axis=1) / scale
        better = (off < error / 2) & (error > 2.0**-7) & (trial <= most).all(axis=1)
        better |= np.isinf(error) & (trial <= most).all(axis=1)
        weights[better], unit[better], error[better] = trial[better], (least / parts)[better], off[better]
        if not (error > 2.0**-7).any():
            break
    return weights, unit, error
