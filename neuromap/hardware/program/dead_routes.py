"""Unusable cores and blocked routes of a chip with defects.

A spike travels along x first, then along y. :func:`route_blocked` tests millions of routes at once, with prefix sums
along rows and columns; the checker has its own method (:mod:`neuromap.hardware.checker`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import ChipError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class DefectMap(ReadOnly, Card):
    """Defects of a board as arrays, made by :func:`defect_map`, for repeated queries."""

    # (rows, columns): indexed ``[y, x]``: whether no neurons or axons may be placed there
    unusable: NDArray[np.bool_]
    # (rows, 2 * columns): dead routers and links of every row, counted from the left. Routers have the even places (2
    # x), the links between them the odd ones (2 x + 1); entry i counts the places before i
    along_x: NDArray[np.int32]
    along_y: NDArray[np.int32]  # (columns, 2 * rows): the same for every column, counted from y = 0

    def blocked(self, start: NDArray[np.integer], end: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Test which routes are blocked; see :func:`route_blocked`."""
        # shapes: start, end (k, 2); returns (k,)
        rows, columns = self.unusable.shape
        for places in map(np.asarray, (start, end)):
            if places.ndim != 2 or places.shape[1] != 2:
                raise ChipError(f"route: found coordinates of shape {places.shape}; needs (k, 2)")
            if not ((places >= 0) & (places < (columns, rows))).all():
                raise ChipError(f"route: start or end lies outside of the board of {columns} x {rows} cores")
        return meet_defects(self.along_x, self.along_y, np.asarray(start, np.int64), np.asarray(end, np.int64))


def meet_defects(
    along_x: NDArray[np.int32], along_y: NDArray[np.int32], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Test which routes meet a dead router or link, by the counts of a :class:`DefectMap`."""
    # shapes: start, end (k, 2); returns (k,)
    (x, y), (to_x, to_y) = start.T, end.T
    return np.asarray(_crosses(along_x, y, x, to_x) | _crosses(along_y, to_x, y, to_y))


def _crosses(
    counted: NDArray[np.int32], line: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Test for defects between two routers of a row or column, both included."""
    first, last = np.minimum(start, end), np.maximum(start, end)
    return np.asarray(counted[line, 2 * last + 1] != counted[line, 2 * first])


def defect_map(chip: ChipSpec) -> DefectMap:
    """Convert a chip's defects to arrays."""
    rows, columns = chip.rows, chip.columns
    in_rows, in_columns = np.zeros((rows, 2 * columns), bool), np.zeros((columns, 2 * rows), bool)
    for x, y in chip.defects.routers:
        in_rows[y, 2 * x] = in_columns[x, 2 * y] = True
    for (x, y), (_, to_y) in chip.defects.links:
        if y == to_y:
            in_rows[y, 2 * x + 1] = True
        else:
            in_columns[x, 2 * y + 1] = True
    return DefectMap(unusable(chip), _before(in_rows), _before(in_columns))


def _before(marks: NDArray[np.bool_]) -> NDArray[np.int32]:
    counts = np.zeros(marks.shape, np.int32)
    np.cumsum(marks[:, :-1], axis=1, out=counts[:, 1:])
    return counts


def unusable(chip: ChipSpec) -> NDArray[np.bool_]:
    """Mask the places where the core or its router is dead."""
    # shapes: returns (rows, columns)
    result = np.zeros((chip.rows, chip.columns), bool)
    places = np.array(chip.defects.cores + chip.defects.routers, np.int64).reshape(-1, 2)
    result[places[:, 1], places[:, 0]] = True
    return result


def route_blocked(chip: ChipSpec, start: NDArray[np.integer], end: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Test which routes, along x first and then along y, meet a dead router or link."""
    # Dead cores block nothing. A route from a core to itself visits its own router. For repeated queries, make one
    # :func:`defect_map`.
    # shapes: start, end (k, 2); returns (k,)
    return defect_map(chip).blocked(start, end)
