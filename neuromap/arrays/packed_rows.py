"""Rows of small numbers packed into a few words each, so that millions of them can be sorted and told apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import run_heads

__all__ = ["first_of_equal", "pack"]

Words = NDArray[np.uint64]


def pack(columns: Sequence[NDArray[np.integer]], n_rows: int, bits: Sequence[int]) -> Words:
    """Pack columns of numbers from 0 into words of 64 bits."""
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


def first_of_equal(keys: Words, order_by: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Group equal rows and choose one of each."""
    # gives chosen: position of the chosen row of every group, groups in ascending order of their keys
    # shapes: keys (n, words); order_by (n,); chosen (groups,); group (n,)
    if not len(keys):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((order_by, *keys.T[::-1]))
    ranked = keys[order]
    new = run_heads(ranked)
    group = np.empty(len(keys), np.int64)
    group[order] = np.cumsum(new) - 1
    return order[new], group
