"""Ragged arrays: parts of different lengths, one after the other in flat arrays, without a loop over the parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ragged_ranges", "rank_in_run", "rows_of_entries", "run_heads"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def ragged_ranges(start: NDArray[np.integer] | int, length: NDArray[np.integer]) -> Ints:
    """Count up from a start for every part: ``start[0], start[0] + 1, ...``, then ``start[1], ...``, and so on.

    Parameters
    ----------
    start : ndarray of int, shape (n,), or int
        First value of every part, or of each.
    length : ndarray of int, shape (n,)
        Values in every part, 0 or more.

    Returns
    -------
    ndarray of int64, shape (length.sum(),)

    Examples
    --------
    >>> import numpy as np
    >>> ragged_ranges(np.array([10, 20, 30]), np.array([2, 0, 3])).tolist()
    [10, 11, 30, 31, 32]
    >>> ragged_ranges(0, np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    ends = np.cumsum(length, dtype=np.int64)
    ranges: Ints = np.repeat(start - (ends - length), length)
    ranges += np.arange(len(ranges))
    return ranges


def rows_of_entries(indptr: NDArray[np.integer]) -> Ints:
    """Give the row of every entry of a sparse array in compressed rows.

    Parameters
    ----------
    indptr : ndarray of int, shape (n + 1,)
        Where the entries of every row begin; ascending from 0.

    Returns
    -------
    ndarray of int64, shape (indptr[-1],)

    Examples
    --------
    >>> import numpy as np
    >>> rows_of_entries(np.array([0, 2, 2, 5])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def run_heads(*columns: NDArray[Any]) -> Bools:
    """Mark where a run of equal elements begins.

    Parameters
    ----------
    *columns : ndarray, shape (n,) or (n, k)
        Elements are equal where all columns, and all k values of each, are.

    Returns
    -------
    ndarray of bool, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> run_heads(np.array([4, 4, 4, 7]), np.array([1, 1, 2, 2])).tolist()
    [True, False, True, True]
    """
    head = np.zeros(len(columns[0]), np.bool_)
    head[:1] = True
    for column in columns:
        differs = column[1:] != column[:-1]
        head[1:] |= differs if column.ndim == 1 else differs.any(axis=1)
    return head


def rank_in_run(*columns: NDArray[Any]) -> Ints:
    """Give every element its rank in its run of equal ones.

    Parameters
    ----------
    *columns : ndarray, shape (n,) or (n, k)
        As in :func:`run_heads`.

    Returns
    -------
    ndarray of int64, shape (n,)
        0 for the first of a run, 1 for the second, and so on.

    Examples
    --------
    >>> import numpy as np
    >>> rank_in_run(np.array([4, 4, 4, 7]), np.array([1, 1, 2, 2])).tolist()
    [0, 1, 0, 0]
    """
    position = np.arange(len(columns[0]))
    rank: Ints = position - np.maximum.accumulate(np.where(run_heads(*columns), position, 0))
    return rank
