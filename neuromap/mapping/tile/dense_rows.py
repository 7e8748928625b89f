"""Weights of some neurons as a dense array: what one core is planned from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.mapping.legalise.legalised import Matrix

Ints = NDArray[np.int64]


def dense_rows(matrix: Matrix, neurons: Ints) -> tuple[Ints, Ints]:
    """Lay out the weights of some neurons."""
    # gives columns: columns that they read, ascending
    # shapes: matrix (n, s); neurons (k,); columns (c,); weights (k, c)
    begin = matrix.indptr[neurons]
    lengths = (matrix.indptr[neurons + 1] - begin).astype(np.int64)
    place = ragged_ranges(begin, lengths)
    indices = matrix.indices[place]
    columns, inverse = np.unique(indices, return_inverse=True)
    weights = np.zeros((len(neurons), len(columns)), np.int64)
    weights[np.repeat(np.arange(len(neurons)), lengths), inverse] = matrix.data[place]
    return columns.astype(np.int64), weights


def count_columns(matrix: Matrix, neurons: Ints) -> int:
    """Count the columns that some neurons read, without laying out their weights."""
    begin = matrix.indptr[neurons]
    read = np.zeros(matrix.shape[1], np.bool_)
    read[matrix.indices[ragged_ranges(begin, (matrix.indptr[neurons + 1] - begin).astype(np.int64))]] = True
    return int(np.count_nonzero(read))
