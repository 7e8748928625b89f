"""How many sources of a window can do with one axon: those that share a type have equal weights in all neurons.

A source has one axon only if all neurons that read it agree on its weight with the other sources of its type
(docs/lower-bounds.md has the proof).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.packed_rows import run_heads
from neuromap.mapping.bounds.window_axons import WholeWindows
from neuromap.mapping.legalise.legalised import Matrix

Ints = NDArray[np.int64]
SUBSETS = 5000
"""Sets of features up to which all are looked at."""
KERNELS = 64
"""Different kernels up to which all are looked at."""
PAIRS = 2000
"""Sources of a window up to which all pairs are looked at."""
ROUNDING = 1e-6
"""On a number that floating point may give a little too low."""


def single_axon_sources(
    matrix: Matrix,
    neurons: Ints,
    windows: WholeWindows | Sequence[WholeWindows],
    shape: tuple[int, int, int],
    types: int,
) -> Ints:
    """Bound the sources of a window that can do with one axon, if a core holds m neurons of its position."""
    # Two sources with one axon each may have the same type only if their weights agree in all m neurons. So the sources
    # fall into as many classes as there are types; those of one class are equal columns.
    # shapes: matrix (n, s); neurons (n,); returns (features + 1,)
    feeds = [windows] if isinstance(windows, WholeWindows) else windows
    features, sources = max(feed.features for feed in feeds), sum(feed.sources for feed in feeds)
    most = np.full(features + 1, sources)
    if matrix.data.min() == matrix.data.max():
        return most
    kernels = _kernels(matrix, neurons, sources, shape[2])
    if kernels is None:
        return most
    most[1:] = 0
    for kernel in kernels:
        most[1 : len(kernel) + 1] = np.maximum(most[1 : len(kernel) + 1], _equal_columns(kernel, types))
    return np.minimum.accumulate(most)


def _kernels(matrix: Matrix, neurons: Ints, sources: int, features: int) -> list[Ints] | None:
    """List the distinct kernels, a row per feature of a position and group; ``None`` where there are too many."""
    # Two rows belong together if they have one position and read from one source on.
    matrix = matrix.copy()
    matrix.sort_indices()
    weights = matrix.data.reshape(-1, sources)
    position, first = neurons // features, matrix.indices[matrix.indptr[:-1]]
    order = np.lexsort((neurons, first, position))
    starts = np.flatnonzero(run_heads(position[order], first[order])).tolist()
    found: dict[tuple[int, bytes], Ints] = {}
    for start, end in pairwise([*starts, len(order)]):
        kernel = weights[order[start:end]]
        found.setdefault((end - start, kernel.tobytes()), kernel)
        if len(found) > KERNELS:
            return None
    return list(found.values())


def _equal_columns(kernel: Ints, types: int) -> Ints:
    """Bound the columns in ``types`` classes of equal ones, for the best m rows, m = 1, 2, ..."""
    n, columns = kernel.shape
    values, code = np.unique(kernel, return_inverse=True)
    code = code.reshape(kernel.shape)
    agreements = _pairs_that_agree(code)
    best = np.full(n, columns)
    for m in range(1, n + 1):
        pairs = columns * columns if agreements is None else int(agreements[m])
        best[m - 1] = min(columns, _most_in_classes(pairs, types))
        if comb(n, m) <= SUBSETS and len(values) ** m < 2**62:
            best[m - 1] = min(best[m - 1], _most_of_any_rows(code, m, len(values), types))
    return np.minimum.accumulate(best)


def _most_in_classes(pairs: int, types: int) -> int:
    """Columns that so many classes hold at most if only so many pairs agree: a class of c has c (c - 1) / 2 pairs."""
    # They hold most where all have one size.
    size = (1 + np.sqrt(1 + 8 * pairs / types)) / 2
    return int(types * size + ROUNDING)


def _most_of_any_rows(code: NDArray[np.intp], m: int, n_values: int, types: int) -> int:
    """Columns in the ``types`` largest classes of equal ones, for the best of all sets of m rows."""
    most = 0
    rows = np.array(list(combinations(range(len(code)), m)))
    pattern = np.zeros((len(rows), code.shape[1]), np.int64)  # a number for what a column has in the rows
    for k in range(m):
        pattern = pattern * n_values + code[rows[:, k]]
    for of_set in pattern:
        sizes = np.sort(np.unique(of_set, return_counts=True)[1])
        most = max(most, int(sizes[-types:].sum()))
    return most


def _pairs_that_agree(code: NDArray[np.intp]) -> Ints | None:
    """Count the pairs of columns that agree in m rows or more, for m = 0, 1, ...; ``None`` where there are too many."""
    n, columns = code.shape
    if columns > PAIRS:
        return None
    equal = np.zeros((columns, columns))
    for value in range(int(code.max()) + 1):
        here = (code == value).astype(np.float64)
        equal += here.T @ here
    upper = np.rint(equal[np.triu_indices(columns, 1)]).astype(np.int64)
    return np.cumsum(np.bincount(upper, minlength=n + 1)[::-1])[::-1]
