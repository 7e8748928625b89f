"""Masks: which offsets a feature of a convolution reads of a channel, where weights of zero make holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import rows_of_entries
from neuromap.arrays.value import Value
from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["Masks", "find_masks"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LARGEST = 10_000_000
"""Entries up to which masks are searched for."""
OFFSETS = 4_000_000
"""Features times channels times offsets up to which they are."""
SHORT = 2**22
"""Features times channels times steps within which groups are sought without importing SciPy's graph functions."""


@dataclass(frozen=True, eq=False)
class Masks(Value):
    """Rows that read all of their feature's offsets, as a convolution with holes does away from the edges."""

    rows: Bools  # (n,): which rows do
    # (features, channels, rows, columns): what a feature reads of a channel, from stride times position on
    offsets: Bools
    stride: tuple[int, int]  # rows and columns between windows
    extent: tuple[int, int]  # rows and columns of positions
    groups: int  # sets of features that have no channel in common
    features: int  # of a group, at most

    def __post_init__(self) -> None:
        freeze_arrays(self)


def find_masks(
    matrix: Matrix, neurons: Ints, shape: tuple[int, int, int], source: tuple[int, int, int]
) -> Masks | None:
    """Find the masks of the features, and the rows that read all of theirs."""
    # The mask of a feature is all that any of its rows reads, so a row reads all of it iff it has as many entries; the
    # stride that is guessed can make masks too large, never wrong.
    # gives ``None`` where no row reads all of its mask, or where it would take too long
    # shapes: matrix (n, s); neurons (n,)
    if not 0 < matrix.nnz <= LARGEST:
        return None
    row = rows_of_entries(matrix.indptr)
    at = np.unravel_index(neurons, shape)
    places = np.unravel_index(matrix.indices, source)
    strides, offsets, sizes = [], [], []
    for axis in (0, 1):
        stride, offset, size = _offsets(at[axis][row], places[axis], shape[axis], source[axis])
        strides.append(stride)
        offsets.append(offset)
        sizes.append(size)
    full = (shape[2], source[2], *sizes)
    if np.prod(full) > OFFSETS:
        return None
    masks = np.zeros(full, bool)
    masks[at[2][row], places[2], offsets[0], offsets[1]] = True
    entries = np.diff(matrix.indptr)
    rows = (entries == masks.sum(axis=(1, 2, 3))[at[2]]) & (entries > 0)
    if not rows.any():
        return None
    present = np.unique(at[2][rows])
    groups, features = _groups(masks[present].any(axis=(2, 3)))
    extent = tuple(len(np.unique(at[axis][rows])) for axis in (0, 1))
    return Masks(rows, masks[present], (strides[0], strides[1]), (extent[0], extent[1]), groups, features)


def _offsets(position: Ints, place: Ints, positions: int, places: int) -> tuple[int, Ints, int]:
    """Guess the stride that leaves the fewest offsets; it, the offsets from 0 on, and how many there may be."""
    guesses = {places // positions, -(-places // positions), (places - 1) // max(1, positions - 1)}
    found = []
    for stride in sorted(guesses | {1}) if positions > 1 else [0]:
        offset = place - stride * position
        low = int(offset.min())
        found.append((int(offset.max()) - low + 1, stride, offset - low))
    size, stride, offset = min(found, key=lambda f: f[:2])
    return stride, offset, size


def _groups(reads: Bools) -> tuple[int, int]:
    """Count the sets of features without a channel in common, and the features of the largest."""
    sizes = _sizes_of_few_groups(reads)
    if sizes is None:
        from scipy.sparse.csgraph import connected_components  # slow to import

        pairs: Any = sparse.csr_array(reads.astype(np.int64))
        both: Any = sparse.block_array([[None, pairs], [pairs.T, None]], format="csr")
        label = connected_components(both, directed=False)[1][: len(reads)]
        sizes = np.bincount(label).tolist()
    return sum(size > 0 for size in sizes), max(sizes)


def _sizes_of_few_groups(reads: Bools) -> list[int] | None:
    """Follow each feature to those that it shares channels with, and on to theirs; ``None`` where that takes long."""
    left, sizes, steps = np.ones(len(reads), bool), [], 0
    while left.any():
        group, n_before = np.zeros(len(reads), bool), 0
        group[left.argmax()] = True
        while (n_now := int(group.sum())) > n_before:
            if (steps := steps + 1) * reads.size > SHORT:
                return None
            n_before = n_now
            group |= reads[:, reads[group].any(axis=0)].any(axis=1)
        sizes.append(n_before)
        left &= ~group
    return sizes
