"""Windows: how many axons the neurons of a convolution take, if a core holds n of them.

Sources of neighbouring windows overlap, but not more than the area of a union of windows allows; and a source has one
axon only if all neurons that read it agree on its weight with the other sources of its type (docs/lower-bounds.md has
the proofs). Dense layers are windows of one position.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["Windows", "areas", "axons_of_windows", "find_windows", "single_axon_sources"]

Ints = NDArray[np.int64]
SUBSETS = 5000
"""Sets of features up to which all are looked at."""
KERNELS = 64
"""Different kernels up to which all are looked at."""
PAIRS = 2000
"""Sources of a window up to which all pairs are looked at."""
NEVER = 10**9
"""More than any core has."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Rows that read whole windows of an image, as a convolution does away from the edges.

    Attributes
    ----------
    rows : ndarray of bool, shape (n,)
        Which rows do; those at the edges read less.
    size, stride : tuple of int
        Rows and columns of a window, and between windows.
    channels, features : int
        Of a group: that a row reads, and rows per position (at most).
    groups : int
        Groups; those of a position read different channels.
    extent : tuple of int
        Rows and columns of positions.
    """

    rows: NDArray[np.bool_]
    size: tuple[int, int]
    stride: tuple[int, int]
    channels: int
    features: int
    groups: int
    extent: tuple[int, int]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def find_windows(
    matrix: Matrix, neurons: Ints, shape: tuple[int, int, int] | None, source: tuple[int, int, int] | None
) -> Windows | None:
    """Find whether rows read windows.

    Parameters
    ----------
    matrix : csr_array, shape (n, s)
        Its pattern.
    neurons : ndarray of int64, shape (n,)
        Neuron of every row within its node.
    shape, source : tuple of three int, or None
        Shapes of node and source.

    Returns
    -------
    Windows or None
        ``None`` where rows are no windows of one size, stride and number of channels, in groups without overlap.
    """
    count = np.diff(matrix.indptr)
    if shape is None or source is None or not matrix.nnz:
        return None
    filled = np.flatnonzero(count)
    starts = matrix.indptr[filled]
    low, extent = np.empty((3, len(filled)), np.int64), np.empty((3, len(filled)), np.int64)
    for axis, place in enumerate(np.unravel_index(matrix.indices, source)):
        low[axis] = np.minimum.reduceat(place, starts)
        extent[axis] = np.maximum.reduceat(place, starts) - low[axis] + 1
    whole = (extent == extent.max(axis=1, keepdims=True)).all(axis=0) & (extent.prod(axis=0) == count[filled])
    if not whole.any():
        return None
    rows = np.zeros(len(count), bool)
    rows[filled[whole]] = True
    where = np.array(np.unravel_index(neurons[rows], shape))
    low = low[:, whole]
    strides = [_stride(where[axis], low[axis]) for axis in (0, 1)]
    size = extent.max(axis=1).tolist()
    groups = np.unique(np.stack([low[2], where[2]]), axis=1)[0]
    first, features = np.unique(groups, return_counts=True)
    if strides[0] is None or strides[1] is None or (np.diff(first) < size[2]).any():
        return None
    return Windows(
        rows,
        (size[0], size[1]),
        (strides[0], strides[1]),
        size[2],
        int(features.max()),
        len(first),
        (len(np.unique(where[0])), len(np.unique(where[1]))),
    )


def _stride(position: Ints, start: Ints) -> int | None:
    """Solve start = stride * position + constant; ``None`` where there is no solution."""
    span = int(np.ptp(position))
    if span == 0:
        return 0 if np.ptp(start) == 0 else None
    first, last = int(np.argmin(position)), int(np.argmax(position))
    stride, rest = divmod(int(start[last] - start[first]), span)
    fits = rest == 0 and stride >= 0 and (start - start[first] == stride * (position - position[first])).all()
    return stride if fits else None


def areas(windows: Windows, most: int) -> Ints:
    """Bound the area of a union of windows.

    With windows k and strides s (or k, whichever is less), p positions in w columns, at most h in one, cover at least
    s_x s_y p + s_x (k_y - s_y) w + s_y (k_x - s_x) h + (k_x - s_x) (k_y - s_y) places, and w h >= p.

    Parameters
    ----------
    windows : Windows
        Size, stride and extent.
    most : int
        Greatest number of positions.

    Returns
    -------
    ndarray of int64, shape (most + 1,)
        Places that 0, 1, ... positions cover at least, spread over as many groups as is best.
    """
    (ky, kx), (rows, columns) = windows.size, windows.extent
    sy, sx = min(windows.stride[0], ky), min(windows.stride[1], kx)
    area = np.full(most + 1, NEVER)
    area[0] = 0
    for p in range(1, min(most, rows * columns) + 1):
        w = np.arange(1, min(columns, p) + 1)
        h = -(-p // w)
        w, h = w[h <= rows], h[h <= rows]
        area[p] = (sx * sy * p + sx * (ky - sy) * w + sy * (kx - sx) * h + (kx - sx) * (ky - sy)).min()
    for p in range(1, most + 1 if windows.groups > 1 else 1):  # over several groups
        area[p] = min(int(area[p]), int((area[1 : p + 1] + area[p - 1 :: -1]).min()))
    return area


def single_axon_sources(
    matrix: Matrix, neurons: Ints, windows: Windows, shape: tuple[int, int, int], types: int
) -> Ints:
    """Bound the sources of a window that can do with one axon, if a core holds m neurons of its position.

    Two sources with one axon each may have the same type only if their weights agree in all m neurons. So the sources
    fall into as many classes as there are types; those of one class are equal columns.

    Parameters
    ----------
    matrix : csr_array of int64, shape (n, s)
        Weights; all rows are whole windows.
    neurons : ndarray of int64, shape (n,)
        Neuron of every row within its node.
    windows : Windows
        That were found.
    shape : tuple of three int
        Rows, columns, features of the node.
    types : int
        Axon types.

    Returns
    -------
    ndarray of int64, shape (windows.features + 1,)
        For m = 0, 1, ..., falling.
    """
    whole = windows.channels * windows.size[0] * windows.size[1]
    most = np.full(windows.features + 1, whole)
    if matrix.data.min() == matrix.data.max():
        return most
    kernels = _kernels(matrix, neurons, windows, shape, whole)
    if kernels is None:
        return most
    most[1:] = 0
    for kernel in kernels:
        most[1 : len(kernel) + 1] = np.maximum(most[1 : len(kernel) + 1], _equal_columns(kernel, types))
    return np.minimum.accumulate(most)


def _kernels(
    matrix: Matrix, neurons: Ints, windows: Windows, shape: tuple[int, int, int], whole: int
) -> list[NDArray[np.int64]] | None:
    """List the distinct kernels, a row per feature of a position and group; ``None`` where there are too many."""
    matrix = matrix.copy()
    matrix.sort_indices()
    weights = matrix.data.reshape(-1, whole)
    position = neurons // shape[2]
    order = np.lexsort((neurons, matrix.indices[matrix.indptr[:-1]], position))  # by position, group, feature
    first = matrix.indices[matrix.indptr[:-1]][order]
    position = position[order]
    new = np.flatnonzero((np.diff(position) != 0) | (np.diff(first) != 0)) + 1
    found: dict[tuple[int, bytes], Ints] = {}
    for start, end in zip([0, *new.tolist()], [*new.tolist(), len(order)], strict=True):
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
        # classes of c columns hold c (c - 1) / 2 pairs that agree in all m rows
        size = (1 + np.sqrt(1 + 8 * pairs / types)) / 2
        best[m - 1] = min(columns, int(types * size + 1e-6))
        if comb(n, m) <= SUBSETS and len(values) ** m < 2**62:
            rows = np.array(list(combinations(range(n), m)))
            pattern = np.zeros((len(rows), columns), np.int64)
            for k in range(m):
                pattern = pattern * len(values) + code[rows[:, k]]
            best[m - 1] = min(best[m - 1], max(_largest_classes(row, types) for row in pattern))
    return np.minimum.accumulate(best)


def _largest_classes(pattern: Ints, types: int) -> int:
    count = np.sort(np.unique(pattern, return_counts=True)[1])
    return int(count[-types:].sum())


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


def axons_of_windows(windows: Windows, most: int, single: Ints) -> Ints:
    """Bound the axons that n neurons take in one core.

    p positions read at least a(p) sources. Those with one axon are at most the sum of what the positions allow; and the
    others, since a source lies in at most so many windows, are at least the sum of what they demand over that number.

    Parameters
    ----------
    windows : Windows
        All rows are whole windows.
    most : int
        Greatest n.
    single : ndarray of int64, shape (windows.features + 1,)
        From :func:`single_axon_sources`.

    Returns
    -------
    ndarray of int64, shape (min(most, rows) + 1,)
        Axons that any n of the rows take at least.
    """
    most = min(most, int(windows.rows.sum()))
    whole = windows.channels * windows.size[0] * windows.size[1]
    sources = windows.channels * areas(windows, most)
    least = np.zeros(most + 1, np.int64)
    if (single == whole).all():  # one axon each: as few positions as possible
        fewest: Ints = sources[-(-np.arange(most + 1) // windows.features)]
        return fewest
    over = [
        min(-(-k // s), n) if s else n for k, s, n in zip(windows.size, windows.stride, windows.extent, strict=True)
    ]
    allowed = np.full(most + 1, -NEVER)  # sources with one axon, summed over p positions that hold n neurons
    allowed[0] = 0
    least[1:] = NEVER
    for p in range(1, most + 1):
        before, allowed = allowed, np.full(most + 1, -NEVER)
        for m in range(1, min(windows.features, most) + 1):
            allowed[m:] = np.maximum(allowed[m:], before[: most + 1 - m] + single[m])
        possible = allowed >= 0
        double = np.maximum(sources[p] - allowed, -(-(p * whole - allowed) // (over[0] * over[1])))
        taken = sources[p] + np.maximum(double, 0)
        least[possible] = np.minimum(least[possible], taken[possible])
        if sources[p] >= least.max():
            break  # more positions only take more
    return np.maximum.accumulate(least)
