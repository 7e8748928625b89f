"""Crowding: how many neurons of a population a core holds at most, since they read so many distinct sources."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.least_sources import by_degrees, by_expansion, sources_beyond_palette
from neuromap.mapping.bounds.readers import Key, Reader
from neuromap.mapping.bounds.single_axons import single_axon_sources
from neuromap.mapping.bounds.whole_windows import WholeWindows, find_windows
from neuromap.mapping.bounds.window_axons import axons_of_windows
from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["Crowd", "crowds_of"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Crowd:
    """Some neurons of a reader and what they need together.

    Attributes
    ----------
    reader : Reader
    rows : int
        How many of its neurons.
    need : dict
        ``need[key][n]`` axons of a feed are taken at least in a core that holds n of the neurons.
    reads : dict
        Cores that read each column of a feed, at least.
    room : int
        Neurons that a core holds, at most.
    """

    reader: Reader
    rows: int
    need: dict[Key, Ints]
    reads: dict[Key, Ints]
    room: int

    def limit(self, chip: ChipSpec) -> str:
        """Name what keeps one neuron more from a core; ``neurons`` where all fit."""
        return "axons" if self.room < min(self.rows, chip.neurons) else "neurons"

    @property
    def cores(self) -> int:
        """Cores among which the neurons spread, at least."""
        return -(-self.rows // self.room)


def crowds_of(reader: Reader, chip: ChipSpec, proven: bool) -> list[Crowd]:
    """Bound all rows of a reader, and those rows apart that read whole windows of one of its feeds.

    Parameters
    ----------
    reader : Reader
    chip : ChipSpec
        Axons, neurons and axon types of a core.
    proven : bool
        Leave out what rests on floating point.

    Returns
    -------
    list of Crowd
        All rows first.
    """
    windows = {f.key: find_windows(f.matrix, reader.neurons, reader.shape, f.shape) for f in reader.feeds}
    rows = [np.ones(len(reader.neurons), bool), *(found.rows for found in windows.values() if found is not None)]
    distinct = {some.tobytes(): some for some in rows}
    return [_crowd(reader, some, windows, chip, proven) for some in distinct.values()]


def _crowd(reader: Reader, rows: Bools, windows: dict[Key, WholeWindows | None], chip: ChipSpec, proven: bool) -> Crowd:
    n_rows = int(rows.sum())
    most = min(chip.neurons, n_rows)
    matrices = {f.key: f.matrix if rows.all() else f.matrix[np.flatnonzero(rows)] for f in reader.feeds}
    need = {key: _need(matrix, reader, rows, windows[key], most, chip, proven) for key, matrix in matrices.items()}
    together = sum(need.values(), np.zeros(most + 1, np.int64))
    # a row that fits no core at all is refused by the mapper; here it counts as one that fills a core
    room = max(1, int(np.searchsorted(together, chip.axons, side="right")) - 1)
    reads = {key: -(-_readers_of_columns(matrix) // room) for key, matrix in matrices.items()}
    return Crowd(reader, n_rows, need, reads, room)


def _need(
    matrix: Matrix, reader: Reader, rows: Bools, windows: WholeWindows | None, most: int, chip: ChipSpec, proven: bool
) -> Ints:
    """Bound the axons of one feed that 0, 1, ... of some rows of a reader take in a core: the best of all arguments."""
    least = by_degrees(matrix, most)
    if windows is None and least[-1] <= chip.axons and not proven:
        least = np.maximum(least, by_expansion(matrix, most))
    least[1:] += sources_beyond_palette(matrix, chip.axon_types).min()
    if windows is not None and (windows.rows == rows).all():
        assert reader.shape is not None, "windows have positions"
        single = single_axon_sources(matrix, reader.neurons[rows], windows, reader.shape, chip.axon_types)
        least = np.maximum(least, axons_of_windows(windows, most, single))
    return least


def _readers_of_columns(matrix: Matrix) -> Ints:
    return np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.int64)
