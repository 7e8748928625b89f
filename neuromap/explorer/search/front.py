"""Which of many rows of figures no other row is better than.

Figures are compared as decimals of 12 significant digits: 10 ticks of 0.1 ms and one tick of 1 ms are the same time,
though their floating-point products differ in the last bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["dominated_by", "front_of"]

Floats = NDArray[np.float64]

_DIGITS = 12
_SMALLEST = 1e-280
"""Smaller figures are compared as they are: the power of ten that scales them is no normal number."""


def front_of(figures: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows that no other row is at least as good as in every column and better in one.

    Equal rows are on the front together. A figure that a row does not have (NaN) makes it comparable to rows without
    that figure only.

    Parameters
    ----------
    figures : array_like of float, shape (n, objectives)
        Less is better in every column.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    table = _rounded(figures)
    if not len(table):
        return np.zeros(0, np.bool_)
    distinct, place = np.unique(np.where(np.isnan(table), -np.inf, table), axis=0, return_inverse=True)
    distinct[np.isneginf(distinct)] = np.nan
    on_front = np.array([not _dominated(row[None, :], distinct)[0] for row in distinct])
    return on_front[place.reshape(-1)]


def dominated_by(figures: ArrayLike, others: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows that some other row is at least as good as in every column, and better in one.

    Parameters
    ----------
    figures : array_like of float, shape (n, objectives)
        Less is better; NaN where a row does not have the figure.
    others : array_like of float, shape (m, objectives)
        What they are held against.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    return _dominated(_rounded(figures), _rounded(others))


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


def _dominated(table: Floats, against: Floats) -> NDArray[np.bool_]:
    found = np.zeros(len(table), np.bool_)
    absent = np.isnan(table)
    for row in against:
        comparable = (absent == np.isnan(row)).all(axis=1)
        as_good = ((row <= table) | absent).all(axis=1)
        better = (row < table).any(axis=1)
        found |= comparable & as_good & better
    return found
