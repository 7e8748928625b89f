"""Whole windows: the rows of a matrix that read boxes of an image, as a convolution does away from the edges.

Dense layers are windows of one position. Sources of neighbouring windows overlap, but not more than the area of a union
of windows allows (docs/lower-bounds.md has the proof).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["TOO_MANY", "WholeWindows", "areas", "find_windows"]

Ints = NDArray[np.int64]
TOO_MANY = 10**9
"""More than any core has."""


@dataclass(frozen=True, eq=False)
class WholeWindows(Value):
    """Rows that read whole windows of an image, as a convolution does away from the edges."""

    rows: NDArray[np.bool_]  # (n,): which rows do; those at the edges read less
    # size, stride: rows and columns of a window, and between windows
    size: tuple[int, int]
    stride: tuple[int, int]
    # channels, features: of a group: that a row reads, and rows per position (at most)
    channels: int
    features: int
    groups: int  # groups; those of a position read different channels
    extent: tuple[int, int]  # rows and columns of positions

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def sources(self) -> int:
        """Sources that a row reads."""
        return self.channels * self.size[0] * self.size[1]

    @property
    def overlap(self) -> int:
        """Windows of a group in which a source lies at most."""
        of_axis = (min(-(-k // s), n) if s else n for k, s, n in zip(self.size, self.stride, self.extent, strict=True))
        return prod(of_axis)


def find_windows(
    matrix: Matrix, neurons: Ints, shape: tuple[int, int, int] | None, source: tuple[int, int, int] | None
) -> WholeWindows | None:
    """Find whether rows read windows."""
    # gives ``None`` where rows are no windows of one size, stride and number of channels, in groups without overlap
    # shapes: matrix (n, s); neurons (n,)
    if shape is None or source is None or not matrix.nnz:
        return None
    count = np.diff(matrix.indptr)
    filled = np.flatnonzero(count)
    low, extent = _boxes(matrix, filled, source)
    largest = extent.max(axis=1)
    # a row is a window if it reads all of a box, and a whole one if no box is larger
    whole = (extent == largest[:, None]).all(axis=0) & (extent.prod(axis=0) == count[filled])
    if not whole.any():
        return None
    rows = np.zeros(len(count), bool)
    rows[filled[whole]] = True
    at = np.array(np.unravel_index(neurons[rows], shape))
    low = low[:, whole]
    strides = _stride(at[0], low[0]), _stride(at[1], low[1])
    first_channel, features = _groups(low[2], at[2])
    height, width, channels = largest.tolist()
    if strides[0] is None or strides[1] is None or (np.diff(first_channel) < channels).any():
        return None
    return WholeWindows(
        rows,
        size=(height, width),
        stride=(strides[0], strides[1]),
        channels=channels,
        features=int(features.max()),
        groups=len(first_channel),
        extent=(len(np.unique(at[0])), len(np.unique(at[1]))),
    )


def _boxes(matrix: Matrix, filled: NDArray[np.intp], source: tuple[int, int, int]) -> tuple[Ints, Ints]:
    """Least place and extent of what every filled row reads, along rows, columns and channels; each (3, rows)."""
    low, extent = np.empty((3, len(filled)), np.int64), np.empty((3, len(filled)), np.int64)
    starts = matrix.indptr[filled]
    for axis, place in enumerate(np.unravel_index(matrix.indices, source)):
        low[axis] = np.minimum.reduceat(place, starts)
        extent[axis] = np.maximum.reduceat(place, starts) - low[axis] + 1
    return low, extent


def _groups(first_channel: Ints, feature: Ints) -> tuple[Ints, Ints]:
    """First channel of every group, ascending, and its features."""
    pairs = np.unique(np.stack([first_channel, feature]), axis=1)
    first, features = np.unique(pairs[0], return_counts=True)
    return first, features


def _stride(position: Ints, start: Ints) -> int | None:
    """Solve start = stride * position + constant; ``None`` where there is no solution."""
    span = int(np.ptp(position))
    if span == 0:
        return 0 if np.ptp(start) == 0 else None
    first, last = int(np.argmin(position)), int(np.argmax(position))
    stride, rest = divmod(int(start[last] - start[first]), span)
    fits = rest == 0 and stride >= 0 and (start - start[first] == stride * (position - position[first])).all()
    return stride if fits else None


def areas(windows: WholeWindows, most: int) -> Ints:
    """Bound the area of a union of windows."""
    # With windows k and strides s (or k, whichever is less), p positions in w columns, at most h in one, cover at least
    # s_x s_y p + s_x (k_y - s_y) w + s_y (k_x - s_x) h + (k_x - s_x) (k_y - s_y) places, and w h >= p.
    # gives places that 0, 1, ... positions cover at least, spread over as many groups as is best
    # shapes: returns (most + 1,)
    (ky, kx), (rows, columns) = windows.size, windows.extent
    sy, sx = min(windows.stride[0], ky), min(windows.stride[1], kx)
    area = np.full(most + 1, TOO_MANY)
    area[0] = 0
    for p in range(1, min(most, rows * columns) + 1):
        w = np.arange(1, min(columns, p) + 1)
        h = -(-p // w)
        w, h = w[h <= rows], h[h <= rows]
        area[p] = (sx * sy * p + sx * (ky - sy) * w + sy * (kx - sx) * h + (kx - sx) * (ky - sy)).min()
    if windows.groups > 1:
        for p in range(1, most + 1):  # p positions of one group, or the best way to share them out among two
            area[p] = min(int(area[p]), int((area[1 : p + 1] + area[p - 1 :: -1]).min()))
    return area
