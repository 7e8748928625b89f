"""Windows that slide along one axis: how many there are, and which cells they touch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError
from neuromap.network.limits import MAX_NEURONS, show

__all__ = ["Padding", "as_pair", "output_length", "window_pairs"]

Padding: TypeAlias = Literal["same", "valid"]


def as_pair(value: Any, what: str) -> tuple[int, int]:
    """Check a kernel or a stride: two integers from 1 to 2**24, along rows and columns.

    Raises
    ------
    NetworkError
        If it is anything else.
    """
    if (
        not isinstance(value, Sequence)
        or isinstance(value, str)
        or len(value) != 2
        or any(isinstance(n, bool) or not isinstance(n, int | np.integer) for n in value)
        or not all(1 <= n <= MAX_NEURONS for n in value)
    ):
        raise NetworkError(
            f"{what}: found {show(value)}; allowed are two integers [rows, columns], 1 to 2**24"
        )
    return int(value[0]), int(value[1])


def output_length(length: int, kernel: int, stride: int, padding: Padding) -> int:
    """Count the windows along one axis; 0 or less where the kernel is longer than a ``valid`` axis."""
    if padding == "same":
        return -(-length // stride)
    return (length - kernel) // stride + 1


def window_pairs(
    length: int, windows: int, kernel: int, stride: int, padding: Padding
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """List the cells of all windows along one axis.

    Parameters
    ----------
    length, windows : int
        Cells and windows along the axis.
    kernel, stride : int
        Cells of one window, cells from one window to the next.
    padding : {"same", "valid"}
        Where the first window starts.

    Returns
    -------
    kernel_cell, cell, window : ndarray of int32, shape (n_pairs,)
        Cell of the kernel, cell of the axis, window; sorted by window, then cell.
    """
    before = max((windows - 1) * stride + kernel - length, 0) // 2 if padding == "same" else 0
    # Window i touches the cells first[i] .. last[i]; a kernel far longer than the axis costs nothing extra.
    start = np.arange(windows, dtype=np.int64) * stride - before
    first, last = np.maximum(start, 0), np.minimum(start + kernel, length)
    counts = np.maximum(last - first, 0)
    window = np.repeat(np.arange(windows), counts)
    nth = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    cell = first[window] + nth
    return (cell - start[window]).astype(np.int32), cell.astype(np.int32), window.astype(np.int32)
