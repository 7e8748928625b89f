"""Windows that slide over rows and columns: how many there are, and which cells they touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.errors import NetworkError
from neuromap.files.messages import show
from neuromap.network.transforms.limits import MAX_NEURONS, show_shape

__all__ = ["PADDINGS", "Padding", "Windows", "as_pair", "output_length", "window_pairs"]

Padding: TypeAlias = Literal["same", "valid"]

PADDINGS: tuple[str, ...] = get_args(Padding)


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution or a pool."""

    # kernel, stride: along rows and columns
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: Padding  # see :class:`~neuromap.network.transforms.kinds.Conv`

    def check(self, kind: str, source: Sequence[int], target: Sequence[int], features: int) -> None:
        """Refuse a target shape that the windows do not yield, and say which one they do."""
        if self.padding not in PADDINGS:
            raise NetworkError(f'padding: found {show(self.padding)}; allowed are "same" and "valid"')
        counts = [
            output_length(n, k, s, self.padding) for n, k, s in zip(source[:2], self.kernel, self.stride, strict=True)
        ]
        if min(counts) < 1:
            raise NetworkError(
                f"kernel: {show_shape(self.kernel)} is larger than the source's rows and columns "
                f'{show_shape(source[:2])}; take a smaller one or padding = "same"'
            )
        fits = (*counts, features)
        if tuple(target) != fits:
            raise NetworkError(
                f"{kind}: target shape {show_shape(target)} does not fit; kernel {show_shape(self.kernel)}, "
                f'stride {show_shape(self.stride)}, padding "{self.padding}" make {show_shape(fits)} of the '
                f"source's {show_shape(source)}"
            )

    def pairs(
        self, source: Sequence[int], target: Sequence[int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """List every pair of a source and a target position that touch."""
        # shapes: kernel_cell, source_position, target_position (n_pairs,)
        lengths = zip(source[:2], target[:2], self.kernel, self.stride, strict=True)
        (k0, s0, t0), (k1, s1, t1) = (window_pairs(*along, self.padding) for along in lengths)
        return (
            (k0[:, None] * self.kernel[1] + k1).ravel(),
            (s0[:, None] * source[1] + s1).ravel(),
            (t0[:, None] * target[1] + t1).ravel(),
        )


def as_pair(value: Any, what: str) -> tuple[int, int]:
    """Check a kernel or a stride: two integers from 1 to 2**24, along rows and columns."""
    if (
        not isinstance(value, Sequence)
        or isinstance(value, str)
        or len(value) != 2
        or any(isinstance(n, bool) or not isinstance(n, int | np.integer) for n in value)
        or not all(1 <= n <= MAX_NEURONS for n in value)
    ):
        raise NetworkError(f"{what}: found {show(value)}; allowed are two integers [rows, columns], 1 to 2**24")
    return int(value[0]), int(value[1])


def output_length(length: int, kernel: int, stride: int, padding: Padding) -> int:
    """Count the windows along one axis; 0 or less where the kernel is longer than a ``valid`` axis."""
    if padding == "same":
        return -(-length // stride)
    return (length - kernel) // stride + 1


def window_pairs(
    length: int, windows: int, kernel: int, stride: int, padding: Padding
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """List the cells of all windows along one axis."""
    # gives kernel_cell, cell, window: cell of the kernel, cell of the axis, window; sorted by window, then cell
    # shapes: kernel_cell, cell, window (n_pairs,)
    before = max((windows - 1) * stride + kernel - length, 0) // 2 if padding == "same" else 0
    # Window i touches the cells first[i] .. last[i]; a kernel far longer than the axis costs nothing extra.
    start = np.arange(windows, dtype=np.int64) * stride - before
    first, last = np.maximum(start, 0), np.minimum(start + kernel, length)
    counts = np.maximum(last - first, 0)
    window = np.repeat(np.arange(windows), counts)
    cell = ragged_ranges(first, counts)
    return (cell - start[window]).astype(np.int32), cell.astype(np.int32), window.astype(np.int32)
