"""Which of many rows of figures no other row is better than."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["dominated_by", "front_of"]

Floats = NDArray[np.float64]


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
    table = np.asarray(figures, np.float64)
    if not len(table):
        return np.zeros(0, np.bool_)
    distinct, place = np.unique(np.where(np.isnan(table), -np.inf, table), axis=0, return_inverse=True)
    distinct[np.isneginf(distinct)] = np.nan
    on_front = np.array([not dominated_by(row[None, :], distinct)[0] for row in distinct])
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
    table, against = np.asarray(figures, np.float64), np.asarray(others, np.float64)
    found = np.zeros(len(table), np.bool_)
    absent = np.isnan(table)
    for row in against:
        comparable = (absent == np.isnan(row)).all(axis=1)
        as_good = ((row <= table) | absent).all(axis=1)
        better = (row < table).any(axis=1)
        found |= comparable & as_good & better
    return found
