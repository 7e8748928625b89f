"""Crowding: how many neurons of a population a core holds at most, since they read so many distinct sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.least_sources import by_degrees, by_expansion, sources_beyond_palette
from neuromap.mapping.bounds.mask_sources import mask_sources
from neuromap.mapping.bounds.masks import find_masks
from neuromap.mapping.bounds.readers import Feed, Key, Reader
from neuromap.mapping.bounds.single_axons import single_axon_sources
from neuromap.mapping.bounds.whole_windows import WholeWindows, find_windows
from neuromap.mapping.bounds.window_axons import axons_of_feeds, axons_of_windows
from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["Crowd", "crowds_of"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Crowd(Value):
    """Some neurons of a reader and what they need together."""

    reader: Reader
    which: Bools  # which of its neurons
    rows: int  # how many of its neurons
    need: dict[Key, Ints]  # ``need[key][n]`` axons of a feed are taken at least in a core that holds n of the neurons
    reads: dict[Key, Ints]  # cores that read each column of a feed, at least
    room: int  # neurons that a core holds, at most
    windows: dict[Key, WholeWindows]  # the whole windows of the feeds of which all of the neurons read one
    together: Ints  # ``together[n]`` axons of all feeds are taken at least in a core that holds n of the neurons

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def limit(self, chip: ChipSpec) -> str:
        """Name what keeps one neuron more from a core; ``neurons`` where all fit."""
        return "axons" if self.room < min(self.rows, chip.neurons) else "neurons"

    @property
    def cores(self) -> int:
        """Cores among which the neurons spread, at least."""
        return -(-self.rows // self.room)


@dataclass(frozen=True, eq=False)
class _Limit:
    """What any n of some rows take of a feed at least: sources, or axons where weights ask for more than one each."""

    rows: Bools
    least: Ints
    windows: WholeWindows | None = None
    """Where the rows are whole windows; then axons are counted."""


def crowds_of(reader: Reader, chip: ChipSpec, proven: bool) -> list[Crowd]:
    """Bound all rows of a reader, and those rows apart of which more is known."""
    limits = {feed.key: _limits(reader, feed, chip) for feed in reader.feeds}
    everything = np.ones(len(reader.neurons), bool)
    rows = [everything, *(limit.rows for some in limits.values() for limit in some)]
    inner = np.logical_and.reduce(rows)
    if not inner.all() and inner.any():
        rows += [inner, ~inner]
    distinct = {some.tobytes(): some for some in rows}
    return [_crowd(reader, some, limits, chip, proven) for some in distinct.values()]


def _limits(reader: Reader, feed: Feed, chip: ChipSpec) -> list[_Limit]:
    """Find what the geometry of a feed says of its rows."""
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
        single = single_axon_sources(whole, reader.neurons[windows.rows], windows, reader.shape, chip.axon_types)
        most = min(chip.neurons, int(windows.rows.sum()))
        found.append(_Limit(windows.rows, axons_of_windows(windows, most, single, chip.axons), windows))
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
