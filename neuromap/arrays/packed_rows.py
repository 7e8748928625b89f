"""Rows of small integers packed into a few words each, so that millions can be sorted and compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints, Words

_Int = TypeVar("_Int", bound=np.integer[Any])


def pack(columns: Sequence[NDArray[np.integer]], n_rows: int, bits: Sequence[int]) -> Words:
    """Pack columns of non-negative integers into 64-bit words."""
    # bits: bits per column, at most 64
    # shapes: columns (n_rows,); returns (n_rows, words)
    words: list[Words] = [np.zeros(n_rows, np.uint64)]
    used = 0
    for column, width in zip(columns, bits, strict=True):
        if n_rows and (int(column.min()) < 0 or int(column.max()) >> width):
            raise AssertionError(f"numbers {column.min()} to {column.max()} do not fit {width} bits")
        if used + width > 64:
            words.append(np.zeros(n_rows, np.uint64))
            used = 0
        words[-1] |= column.astype(np.uint64) << np.uint64(used)
        used += width
    return np.stack(words, axis=1)


def first_of_equal(keys: Words, order_by: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Group equal rows and choose one of each, the least by ``order_by``."""
    # returns chosen: position of the chosen row of every group, groups in ascending order of their keys
    # shapes: keys (n, words); order_by (n,); chosen (groups,); group (n,)
    if not len(keys):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((order_by, *keys.T[::-1]))
    ranked = keys[order]
    new = run_heads(ranked)
    group = np.empty(len(keys), np.int64)
    group[order] = np.cumsum(new) - 1
    return order[new], group


# Ragged arrays: parts of different lengths, concatenated in flat arrays, without a loop over the parts.


def ragged_ranges(start: NDArray[np.integer] | int, length: NDArray[np.integer]) -> Ints:
    """Concatenate ranges, one per part: ``start[0], start[0] + 1, ...``, then ``start[1], ...``, and so on.

    Parameters
    ----------
    start : ndarray of int, shape (n,), or int
        First value of every part, or one for all.
    length : ndarray of int, shape (n,)
        Number of values in every part, 0 or more.

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


def entries_of_rows(indptr: NDArray[np.integer], rows: NDArray[np.integer]) -> Ints:
    """Return the positions of the entries of some rows of a sparse array, row by row."""
    begin = indptr[rows]
    return ragged_ranges(begin, indptr[rows + 1] - begin)


def grouped_by(key: NDArray[np.integer], values: NDArray[_Int], n_keys: int) -> tuple[Ints, NDArray[_Int]]:
    """Group values by a key from 0: start of every group, and the values, in their order within a group."""
    begin = np.concatenate([[0], np.cumsum(np.bincount(key, minlength=n_keys))])
    return begin, values[np.argsort(key, kind="stable")]


def rows_of_entries(indptr: NDArray[np.integer]) -> Ints:
    """Return the row of every entry of a compressed sparse row array.

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
    """Mark the first element of every run of equal elements.

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
    """Rank every element within its run of equal elements.

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
