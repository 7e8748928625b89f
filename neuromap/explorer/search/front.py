"""Which of many rows of figures no other row is better than, energies within a tolerance counting as equal.

Row q *dominates* row r with tolerance t if q is no worse in any figure but energy, its energy is at most (1 + t) times
that of r, and it is better in a figure, for energy: below (1 - t) times that of r. With this one tolerant figure there
are no cycles: along one, all other figures would be equal, so that the energy would fall at every step. But it is not
transitive, as small differences add up. So a row is on the **front** if no row *of the front* dominates it: as there
are no cycles, this is one set, and whatever is left out is matched within t by a row that is shown. With t = 0 it is
the Pareto front. Proofs are in docs/theorems/exact-fronts.md.

Figures are compared as decimals of 12 significant digits: 10 ticks of 0.1 ms and one tick of 1 ms are the same time,
though their floating-point products differ in the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["dominated_by", "excluded_by", "front_of", "matched_by"]

Floats = NDArray[np.float64]

_DIGITS = 12
_SMALLEST = 1e-280
"""Smaller figures are compared as they are: the power of ten that scales them is no normal number."""


def front_of(figures: ArrayLike, tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Mark the rows that are on the front."""
    # Equal rows are on the front together. A figure that a row does not have (NaN) makes it comparable to rows without
    # that figure only.
    # shapes: figures (n, objectives); returns (n,)
    table = _rounded(figures)
    if not len(table):
        return np.zeros(0, np.bool_)
    # whatever dominates a row comes before it in this order: by all other figures, then by energy
    distinct, place = np.unique(np.where(np.isnan(table), -np.inf, table), axis=0, return_inverse=True)
    distinct[np.isneginf(distinct)] = np.nan
    on_front = np.zeros(len(distinct), np.bool_)
    for k, row in enumerate(distinct):
        on_front[k] = not _beaten(row[None, :], distinct[:k][on_front[:k]], 1 + tolerance, 1 - tolerance)[0]
    return on_front[place.reshape(-1)]


def dominated_by(figures: ArrayLike, others: ArrayLike, tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Mark the rows that some other row dominates."""
    # shapes: figures (n, objectives); others (m, objectives); returns (n,)
    return _beaten(_rounded(figures), _rounded(others), 1 + tolerance, 1 - tolerance)


def excluded_by(bounds: ArrayLike, others: ArrayLike, tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Mark the rows that need not be known: whatever they are, some other row dominates them and all they dominate."""
    # It is as good in every figure, the energy without tolerance, and better in one, the energy by more than the
    # tolerance. What dominates such a row also dominates whatever that row does, so the front is the same without it.
    # shapes: bounds (n, objectives); returns (n,)
    return _beaten(_rounded(bounds), _rounded(others), 1.0, 1 - tolerance)


def matched_by(bounds: ArrayLike, others: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows that some other row is as good as in every figure, whatever they are."""
    # Such rows may be on the front, but with no figures that are not on it.
    # shapes: bounds (n, objectives); others (m, objectives); returns (n,)
    table, found = _rounded(bounds), np.zeros(len(np.asarray(bounds)), np.bool_)
    absent = np.isnan(table)
    for row in _rounded(others):
        found |= (absent == np.isnan(row)).all(axis=1) & ((row <= table) | absent).all(axis=1)
    return found


def _rounded(figures: ArrayLike) -> Floats:
    """Round to 12 significant digits; equal decimals give equal numbers, NaN and infinities stay."""
    table = np.array(figures, np.float64)
    scaled = np.isfinite(table) & (np.abs(table) >= _SMALLEST)
    numbers = table[scaled]
    place = np.floor(np.log10(np.abs(numbers))) - (_DIGITS - 1)
    digits = np.rint(numbers / 10.0**place)
    carried = np.abs(digits) >= 10.0**_DIGITS  # 9.99... became 10: the same digits and place as 10 itself
    table[scaled] = np.where(carried, digits / 10, digits) * 10.0 ** (place + carried)
    return table


def _beaten(table: Floats, against: Floats, as_good_below: float, better_below: float) -> NDArray[np.bool_]:
    """Mark the rows that another is as good as and better than, for energy: below such multiples of theirs."""
    found = np.zeros(len(table), np.bool_)
    absent = np.isnan(table)
    still_good, better_from = table.copy(), table.copy()
    still_good[:, -1:] *= as_good_below
    better_from[:, -1:] *= better_below
    for row in against:
        comparable = (absent == np.isnan(row)).all(axis=1)
        as_good = ((row <= still_good) | absent).all(axis=1)
        better = (row < better_from).any(axis=1)
        found |= comparable & as_good & better
    return found
