"""Crowding: the most neurons of a population that a core holds, given the distinct sources that they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import rows_of_entries
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.readers import Feed, Key, Reader, by_degrees, by_expansion, sources_beyond_palette
from neuromap.mapping.bounds.window_axons import (
    TOO_MANY,
    WholeWindows,
    axons_of_feeds,
    find_windows,
    single_axon_sources,
)
from neuromap.mapping.legalise.legalised import Matrix


@dataclass(frozen=True, eq=False)
class Crowd(ReadOnly, Value):
    """Some neurons of a reader and what they need together."""

    reader: Reader
    which: Bools  # which of its neurons
    rows: int  # number of these
    need: dict[Key, Ints]  # ``need[key][n]``: fewest axons of a feed in a core that holds n of the neurons
    reads: dict[Key, Ints]  # least number of cores that read each column of a feed
    room: int  # most neurons that a core holds
    windows: dict[Key, WholeWindows]  # the whole windows of the feeds of which all of the neurons read one
    together: Ints  # ``together[n]``: fewest axons of all feeds in a core that holds n of the neurons

    def limit(self, chip: ChipSpec) -> str:
        """Name the resource that keeps one more neuron from a core; ``neurons`` if all fit."""
        return "axons" if self.room < min(self.rows, chip.neurons) else "neurons"

    @property
    def cores(self) -> int:
        """Least number of cores over which the neurons spread."""
        return -(-self.rows // self.room)


@dataclass(frozen=True, eq=False)
class _Limit:
    """What any n of some rows take of a feed at least: sources, or axons where weights need more than one each."""

    rows: Bools
    least: Ints
    windows: WholeWindows | None = None
    """Where the rows are whole windows; then axons are counted."""


def crowds_of(reader: Reader, chip: ChipSpec, proven: bool) -> list[Crowd]:
    """Bound all rows of a reader, and separately those rows of which more is known."""
    limits = {feed.key: _limits(reader, feed, chip) for feed in reader.feeds}
    everything = np.ones(len(reader.neurons), bool)
    rows = [everything, *(limit.rows for some in limits.values() for limit in some)]
    inner = np.logical_and.reduce(rows)
    if not inner.all() and inner.any():
        rows += [inner, ~inner]
    distinct = {some.tobytes(): some for some in rows}
    return [_crowd(reader, some, limits, chip, proven) for some in distinct.values()]


def _limits(reader: Reader, feed: Feed, chip: ChipSpec) -> list[_Limit]:
    """Find the limits that the geometry of a feed sets for its rows."""
    if reader.shape is None or feed.shape is None:
        return []
    found: list[_Limit] = []
    windows = find_windows(feed.matrix, reader.neurons, reader.shape, feed.shape)
    masks = find_masks(feed.matrix, reader.neurons, reader.shape, feed.shape)
    if masks is not None and (windows is None or (masks.rows & ~windows.rows).any()):
        most = min(chip.neurons, int(masks.rows.sum()))
        found.append(_Limit(masks.rows, mask_sources(masks, most)))
    elif windows is not None:
        whole = feed.matrix[np.flatnonzero(windows.rows)]
        single = single_axon_sources(whole, reader.neurons[windows.rows], [windows], reader.shape, chip.axon_types)
        most = min(chip.neurons, int(windows.rows.sum()))
        found.append(_Limit(windows.rows, axons_of_feeds([windows], most, single, chip.axons), windows))
    return found


def _crowd(reader: Reader, rows: Bools, limits: dict[Key, list[_Limit]], chip: ChipSpec, proven: bool) -> Crowd:
    n_rows = int(rows.sum())
    most = min(chip.neurons, n_rows)
    matrices = {f.key: f.matrix if rows.all() else f.matrix[np.flatnonzero(rows)] for f in reader.feeds}
    need = {key: _need(matrix, rows, limits[key], most, chip, proven) for key, matrix in matrices.items()}
    whole = [(key, found) for key, some in limits.items() for found in some if not (rows & ~found.rows).any()]
    windows = {key: found.windows for key, found in whole if found.windows is not None}
    together = sum(need.values(), np.zeros(most + 1, np.int64))
    joint = _joint(reader, rows, windows, most, chip)
    if joint is not None:
        others = (least for key, least in need.items() if key not in windows)
        together = np.maximum(together, sum(others, joint))
    # a row that fits no core at all is refused by the mapper; here it counts as one that fills a core
    room = max(1, int(np.searchsorted(together, chip.axons, side="right")) - 1)
    reads = {key: -(-_readers_of_columns(matrix) // room) for key, matrix in matrices.items()}
    return Crowd(reader, rows, n_rows, need, reads, room, windows, together)


def _joint(reader: Reader, rows: Bools, windows: dict[Key, WholeWindows], most: int, chip: ChipSpec) -> Ints | None:
    """Bound the axons of several feeds of whole windows together: their sources share the types of a core."""
    # Rows that share a window of one feed must share those of all.
    if len(windows) < 2 or reader.shape is None:
        return None
    matrices = [feed.matrix[np.flatnonzero(rows)] for feed in reader.feeds if feed.key in windows]
    neurons = reader.neurons[rows]
    first = [np.minimum.reduceat(m.indices, m.indptr[:-1]).astype(np.int64) for m in matrices]
    position = neurons // reader.shape[2]
    ways = [[position, f] for f in first] + [[position, *first]]
    if len({np.unique(np.stack(way), axis=1).shape[1] for way in ways}) > 1:
        return None
    feeds = [windows[feed.key] for feed in reader.feeds if feed.key in windows]
    side_by_side = sparse.csr_array(sparse.hstack(matrices, format="csr"))
    single = single_axon_sources(side_by_side, neurons, feeds, reader.shape, chip.axon_types)
    return axons_of_feeds(feeds, most, single, chip.axons)


def _need(matrix: Matrix, rows: Bools, limits: list[_Limit], most: int, chip: ChipSpec, proven: bool) -> Ints:
    """Bound the axons of one feed that 0, 1, ... of some rows of a reader take in a core: the best of all arguments."""
    known = [limit for limit in limits if not (rows & ~limit.rows).any()]
    least = by_degrees(matrix, most)
    for limit in known:
        if limit.windows is None:
            least = np.maximum(least, limit.least[: most + 1])
    if not known and least[-1] <= chip.axons and not proven:
        least = np.maximum(least, by_expansion(matrix, most))
    least[1:] += sources_beyond_palette(matrix, chip.axon_types).min()
    for limit in known:
        if limit.windows is not None:
            least = np.maximum(least, limit.least[: most + 1])
    return least


def _readers_of_columns(matrix: Matrix) -> Ints:
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)


# How many sources n neurons of a convolution with holes read at least (docs/lower-bounds.md has the proof).
# Maximum number of different masks of a channel that are all examined.
MASKS = 4000


def mask_sources(masks: Masks, most: int) -> Ints:
    """Bound the sources that n of the rows read."""
    # One of a group's features has at least its share of the group's neurons, and they read the feature's masks.
    # shapes: returns (most + 1,)
    least = np.full(most + 1, TOO_MANY)
    for flip in (False, True):
        offsets = masks.offsets.transpose(0, 1, 3, 2) if flip else masks.offsets
        stride, extent = (pair[::-1] if flip else pair for pair in (masks.stride, masks.extent))
        here = least_of_masks(offsets, (stride[0], stride[1]), (extent[0], extent[1]), most)
        least = np.maximum(least, here) if flip else here
    return shared_out(least, masks.features, masks.groups)


def least_of_masks(offsets: Bools, stride: tuple[int, int], extent: tuple[int, int], most: int) -> Ints:
    """Bound the sources that p positions of one feature read, by chains of columns: whichever feature reads fewest."""
    # shapes: offsets (features, channels, rows, columns); returns (most + 1,)
    area = np.full(most + 1, TOO_MANY)
    area[0] = 0
    most = min(most, extent[0] * extent[1])
    if most == 1:  # a single window: chains of columns give the same
        area[1] = int(offsets.reshape(len(offsets), -1).sum(axis=1).min())
        return area
    p, w, h = _columns_of_positions(most, extent)
    numbers = np.packbits(offsets.reshape(len(offsets) * offsets.shape[1], -1), axis=1)
    names = numbers.view(np.dtype((np.bytes_, numbers.shape[1]))).ravel()
    _, heads, code = np.unique(names, return_index=True, return_inverse=True)
    if len(heads) > MASKS:
        return np.zeros(len(area), np.int64)
    channels = offsets.reshape(-1, *offsets.shape[2:])[heads]
    # of a channel's columns only the numbers of offsets and classes matter
    kinds, kind = np.unique(_offsets_and_classes(channels, stride[0]), axis=0, return_inverse=True)
    of_kind = [_places(both, stride[1] or 1, p, w, h) for both in kinds]
    of_channel = [of_kind[k] for k in kind.ravel()]
    code = np.unique(np.sort(code.reshape(offsets.shape[:2]), axis=1), axis=0)
    starts = np.flatnonzero(np.diff(p, prepend=0))
    for feature in code:
        used, times = np.unique(feature, return_counts=True)
        places = sum((n * of_channel[k] for k, n in zip(used, times, strict=True)), np.zeros(len(p), np.int64))
        area[1 : most + 1] = np.minimum(area[1 : most + 1], np.minimum.reduceat(places, starts))
    return area


def _columns_of_positions(most: int, extent: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    """List how p positions may lie in w columns, the tallest of h or more; p ascending, from 1."""
    p, w = np.divmod(np.arange((most + 1) * (extent[1] + 1)), extent[1] + 1)
    h = -(-p // np.maximum(w, 1))
    here = (p > 0) & (w > 0) & (w <= p) & (h <= extent[0])
    return p[here], w[here], h[here]


def _offsets_and_classes(channels: Bools, stride: int) -> Ints:
    """Count the offsets of every column, and their classes modulo the stride; shape (channels, 2, columns)."""
    offsets = channels.sum(axis=1)
    classes = sum((channels[:, k::stride].any(axis=1).astype(np.int64) for k in range(stride)), np.zeros_like(offsets))
    return np.stack([offsets, classes], axis=1)


def _places(columns: Ints, step: int, p: Ints, w: Ints, h: Ints) -> Ints:
    """Bound the places of one channel, its columns modulo the stride one after the other."""
    places = np.zeros(len(p), np.int64)
    for k in range(min(step, columns.shape[1])):
        part = columns[:, k::step]
        part = part[:, part[0] > 0]
        if part.size:
            places += _in_chains(part[0], part[1], p, w, h)
    return places


def _in_chains(d: Ints, r: Ints, p: Ints, w: Ints, h: Ints) -> Ints:
    """Bound the places of a chain: the tallest column meets all slices, or every column the same slice; the greater."""
    # q positions of a column and a slice of d offsets, in r classes modulo the stride, reach r q + d - r places or
    # more.
    gain = d - r
    # columns on one side of the tallest take the first slice, those on the other side the last
    best = r.sum() * h + gain.sum() + min(r[0], r[-1]) * (p - h) + min(gain[0], gain[-1]) * (w - 1)
    for b in range(len(d)):
        best = np.maximum(best, r[b] * p + gain[b] * w + (d.sum() - d[b]))
    return np.asarray(best, np.int64)


# Sources of neurons that lie in several groups of channels, from those of one group.
def shared_out(of_positions: Ints, features: int, groups: int) -> Ints:
    """Distribute n neurons over groups without common sources so that they read fewest."""
    # of_positions: fewest sources that p neurons of one feature read, in any group
    # features: features of a group, at most; n of its neurons lie at n / features positions or more
    # returns the fewest sources that n neurons read
    # shapes: of_positions (m + 1,); returns (m + 1,)
    n = np.arange(len(of_positions))
    least: Ints = np.maximum.accumulate(of_positions[-(-n // features)])
    if groups > 1:
        for k in range(2, len(least)):
            least[k] = min(int(least[k]), int((least[1:k] + least[k - 1 : 0 : -1]).min()))
    return least


# Masks: which offsets a feature of a convolution reads of a channel, where weights of zero make holes.


# Maximum number of entries for which masks are searched.
LARGEST = 10_000_000
# Maximum of features times channels times offsets for which they are.
OFFSETS = 4_000_000
# Features times channels times steps within which groups are sought without importing SciPy's graph functions.
SHORT = 2**22


@dataclass(frozen=True, eq=False)
class Masks(ReadOnly, Value):
    """Rows that read all of their feature's offsets, as a convolution with holes does away from the edges."""

    rows: Bools  # (n,): which rows do
    # (features, channels, rows, columns): what a feature reads of a channel, from stride times position on
    offsets: Bools
    stride: tuple[int, int]  # rows and columns between windows
    extent: tuple[int, int]  # rows and columns of positions
    groups: int  # sets of features that have no channel in common
    features: int  # of a group, at most


def find_masks(
    matrix: Matrix, neurons: Ints, shape: tuple[int, int, int], source: tuple[int, int, int]
) -> Masks | None:
    """Find the masks of the features, and the rows that read all of theirs."""
    # The mask of a feature is all that any of its rows reads, so a row reads all of it iff it has as many entries; a
    # wrongly guessed stride can make masks too large, never wrong.
    # returns ``None`` if no row reads all of its mask, or if it would take too long
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
    """Guess the stride that leaves the fewest offsets; return it, the offsets from 0 on, and their range."""
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
