"""How few sources can n rows of a matrix have in common: bounds that make a core's axons limit its neurons.

Each function gives, for n = 0, 1, ..., a number of distinct columns that any n rows of a matrix read at least
(docs/lower-bounds.md has the proofs).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.packed_rows import rank_in_run, rows_of_entries, run_heads
from neuromap.mapping.legalise.legalised import Matrix

Ints = NDArray[np.int64]
DENSE = 600
"""Size up to which singular values are computed from a dense matrix."""
LARGEST = 4_000_000
"""Entries up to which a second singular value is searched for."""
ROUNDING = 1e-9
"""On what floating point may get a little wrong; always to the safe side."""
SHORT = 32
"""Steps within which most matrices show whether they fall apart."""
MARGIN = 1.02
"""On what an iteration says of a squared singular value, which it finds from below."""


def by_degrees(matrix: Matrix, most: int) -> Ints:
    """Count both ways: n rows have so many entries, and a column holds at most n of them."""
    # gives columns that any n rows read at least
    # shapes: matrix (rows, columns); returns (min(most, rows) + 1,)
    entries = np.sort(np.diff(matrix.indptr)).astype(np.int64)
    most = min(most, len(entries))
    degrees = np.sort(np.bincount(matrix.indices, minlength=matrix.shape[1]))[::-1].astype(np.int64)
    total, held = np.cumsum(entries)[:most], np.concatenate([[0], np.cumsum(degrees)])
    n = np.arange(1, most + 1)
    full = np.searchsorted(-degrees, -n, side="right")  # columns of degree n or more, of which n entries count
    beyond = np.searchsorted(held, total - n * full + held[full])
    columns = np.where(n * full >= total, -(-total // n), beyond)
    least = np.concatenate([[0], np.maximum(columns, entries[:most])])
    return np.maximum.accumulate(least)


def by_expansion(matrix: Matrix, most: int) -> Ints:
    """Bound by the second singular value: rows of a well mixed matrix have few sources in common."""
    # Let x and y be the shares of all entries that lie in the rows S and in the columns that they read. The expander
    # mixing lemma, with degrees (Chung 1997, chapter 5), gives x / (1 - x) <= sigma^2 y / (1 - y).
    # gives columns that any n rows read at least; zeros where the matrix falls apart or is too large to be looked at
    # shapes: matrix (rows, columns); returns (min(most, rows) + 1,)
    entries = np.sort(np.diff(matrix.indptr)).astype(np.int64)
    most = min(most, len(entries))
    squared = max(ROUNDING, _second_singular_value_squared(matrix))
    if squared >= 1:
        return np.zeros(most + 1, np.int64)
    x = np.concatenate([[0.0], np.cumsum(entries[:most]) / matrix.nnz])
    y = x / (x + squared * (1 - x))
    degrees = np.sort(np.bincount(matrix.indices, minlength=matrix.shape[1]))[::-1]
    held = np.concatenate([[0], np.cumsum(degrees)]) / matrix.nnz
    least: Ints = np.searchsorted(held, y - ROUNDING).astype(np.int64)
    return least


def _second_singular_value_squared(matrix: Matrix) -> float:
    """Of the pattern with every entry divided by the roots of its row's and its column's entries; 1 if unknown."""
    if not 0 < matrix.nnz <= LARGEST or min(matrix.shape) < 2 or matrix.nnz <= max(matrix.shape):
        return 1.0
    pattern = _filled_pattern(matrix)
    if not _is_connected(pattern):
        return 1.0
    if pattern.shape[1] < pattern.shape[0]:
        pattern = pattern.T.tocsr()
    of_rows = np.asarray(pattern.sum(axis=1), np.float64)
    of_columns = np.asarray(pattern.sum(axis=0), np.float64)
    scaled = sparse.diags_array(of_rows**-0.5) @ pattern @ sparse.diags_array(of_columns**-0.5)
    first = np.sqrt(of_rows / of_rows.sum())  # the first singular vector, of the singular value 1
    return min(1.0, _greatest_eigenvalue(scaled, first) + ROUNDING)


def _is_connected(pattern: Any) -> bool:
    """Whether ways over rows and columns lead from any row to any other; every column has an entry."""
    rows = np.zeros(pattern.shape[0], np.bool_)
    rows[0] = True
    for _ in range(SHORT):
        reached: NDArray[np.bool_] = pattern @ (rows @ pattern) > 0
        if reached.all():
            return True
        if np.count_nonzero(reached) == np.count_nonzero(rows):
            return False
        rows = reached
    from scipy.sparse.csgraph import connected_components  # slow to import

    both_ways = sparse.block_array([[None, pattern], [pattern.T, None]], format="csr")
    return int(connected_components(both_ways, directed=False)[0]) == 1


def _filled_pattern(matrix: Matrix) -> Any:
    """Make the pattern of a matrix in ones, without rows and columns that have no entry."""
    pattern: Any = sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    return pattern[np.flatnonzero(np.diff(matrix.indptr))][:, np.unique(matrix.indices)]


def _greatest_eigenvalue(scaled: Any, first: NDArray[np.float64]) -> float:
    """Of the matrix times its transpose, ``first`` taken out; from above, and 1 if an iteration does not get there."""
    n_rows = scaled.shape[0]
    if n_rows <= DENSE:
        dense = (scaled @ scaled.T).toarray() - np.outer(first, first)
        return float(np.linalg.eigvalsh(dense)[-1])
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh  # slow to import

    gram = LinearOperator(
        (n_rows, n_rows), matvec=lambda v: scaled @ (scaled.T @ v) - first * (first @ v), dtype=np.float64
    )
    start = np.random.Generator(np.random.Philox(key=0)).standard_normal(n_rows)
    try:
        found = eigsh(gram, k=1, which="LA", v0=start, tol=1e-3, maxiter=60, return_eigenvectors=False)
    except ArpackNoConvergence:
        return 1.0
    return float(found[0]) * MARGIN


def sources_beyond_palette(matrix: Matrix, types: int) -> Ints:
    """Count for every row the sources that no single axon can serve."""
    # A neuron has ``types`` weights, so at most so many different values of its row are given by one axon each.
    # shapes: matrix (n, s); returns (n,)
    n = matrix.shape[0]
    if not matrix.nnz or matrix.data.max() - matrix.data.min() < types or len(np.unique(matrix.data)) <= types:
        return np.zeros(n, np.int64)
    row, times = _times_of_values(matrix)
    by_frequency = np.lexsort((-times, row))
    row, times = row[by_frequency], times[by_frequency]
    beyond = rank_in_run(row) >= types
    return np.bincount(row[beyond], weights=times[beyond], minlength=n).astype(np.int64)


def _times_of_values(matrix: Matrix) -> tuple[Ints, Ints]:
    """Count how often every row has each of its values: row, ascending, and times."""
    row = rows_of_entries(matrix.indptr)
    order = np.lexsort((matrix.data, row))
    heads = np.flatnonzero(run_heads(row[order], matrix.data[order]))
    return row[order][heads], np.diff(heads, append=len(order))
