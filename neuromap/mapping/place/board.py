"""The board: which places cores may take, how far apart they are, and which ways between them no spike can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.dead_routes import defect_map

__all__ = ["Board", "Region", "best_reached", "board_for"]

Ints = NDArray[np.int64]
Region = tuple[int, int, int, int]


MOST_PAIRS = 2**24
"""Pairs of places of which every route is looked at where a layout has blocked ones; a second or two."""


@dataclass(frozen=True, eq=False)
class Board(Value):
    """A board of chips as placement sees it."""

    usable: NDArray[np.bool_]  # (rows, columns): indexed ``[y, x]``
    # along_x, along_y: (columns,): coordinates in which the distance of two places along an axis is what the way
    # between them costs: one per hop, and the boundary cost more for every chip boundary
    along_x: NDArray[np.float64]
    along_y: NDArray[np.float64]
    reach: Ints  # (2,): farthest target along x and y; the size of the board where unlimited
    regions: Ints  # (n_cores, 4): least x, least y, greatest x, greatest y of every core
    is_pinned: NDArray[np.bool_]  # (n_cores,): whether the region is smaller than the board
    # dead_along_x, dead_along_y: prefix sums of dead routers and links
    # (:class:`neuromap.hardware.program.dead_routes.DefectMap`)
    dead_along_x: NDArray[np.int32]
    dead_along_y: NDArray[np.int32]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def rows(self) -> int:
        """Cores along y."""
        return int(self.usable.shape[0])

    @property
    def columns(self) -> int:
        """Cores along x."""
        return int(self.usable.shape[1])

    @property
    def is_strict(self) -> bool:
        """Whether there are ways that no spike can take."""
        blocked = bool(self.dead_along_x[:, -1].any() or self.dead_along_y[:, -1].any())
        return blocked or bool(self.reach[0] < self.columns - 1 or self.reach[1] < self.rows - 1)

    def blocked(self, start: Ints, end: Ints) -> NDArray[np.bool_]:
        """Tell which x-then-y routes between places of shape (k, 2) meet a dead router or link."""

        def crosses(counted: NDArray[np.int32], line: Ints, one: Ints, other: Ints) -> NDArray[np.bool_]:
            first, last = np.minimum(one, other), np.maximum(one, other)
            return np.asarray(counted[line, 2 * last + 1] != counted[line, 2 * first])

        (x, y), (to_x, to_y) = start.T, end.T
        return crosses(self.dead_along_x, y, x, to_x) | crosses(self.dead_along_y, to_x, y, to_y)


def best_reached(board: Board) -> NDArray[np.bool_] | None:
    """Find the places that routes lead to from the place from which they lead to most."""
    # gives places that work, the one itself among them; ``None`` where none works, or of boards of more than
    # ``MOST_PAIRS`` pairs of places
    # shapes: returns (rows, columns)
    y, x = np.nonzero(board.usable)
    places = np.column_stack([x, y])
    if not 0 < len(places) ** 2 <= MOST_PAIRS:
        return None
    reached = (~board.blocked(np.broadcast_to(one, places.shape), places) for one in places)
    best = max(reached, key=lambda free: int(free.sum()))
    found = np.zeros_like(board.usable)
    found[y[best], x[best]] = True
    return found


def board_for(n_cores: int, chip: ChipSpec, regions: Sequence[Region | None] | None, boundary_cost: float) -> Board:
    """Describe the board of a chip to the placers."""
    # boundary_cost: what crossing from one chip to the next costs beyond its hop, in hops
    columns, rows = chip.columns, chip.rows
    whole = (0, 0, columns - 1, rows - 1)
    bounds = np.tile(np.array(whole, np.int64), (n_cores, 1))
    if regions is not None:
        if len(regions) != n_cores:
            raise InputError(f"regions: found {len(regions)} for {n_cores} cores; needs one entry per core")
        for core, region in enumerate(regions):
            if region is not None:
                bounds[core] = _checked(region, core, columns, rows)
    defects = defect_map(chip)
    return Board(
        usable=~defects.unusable,
        along_x=_stretched(columns, chip.cores[0], boundary_cost),
        along_y=_stretched(rows, chip.cores[1], boundary_cost),
        reach=np.array(chip.reach if chip.reach is not None else (columns, rows), np.int64),
        regions=bounds,
        is_pinned=(bounds != whole).any(axis=1),
        dead_along_x=defects.along_x,
        dead_along_y=defects.along_y,
    )


def _checked(region: Region, core: int, columns: int, rows: int) -> Region:
    fits = len(region) == 4 and all(isinstance(part, int | np.integer) for part in region)
    if not fits or not (0 <= region[0] <= region[2] < columns and 0 <= region[1] <= region[3] < rows):
        raise InputError(
            f"region of core {core}: found {tuple(region)}; allowed is (x0, y0, x1, y1), both corners inside, "
            f"with 0 <= x0 <= x1 <= {columns - 1} and 0 <= y0 <= y1 <= {rows - 1}"
        )
    return region


def _stretched(n: int, of_one_chip: int, boundary_cost: float) -> NDArray[np.float64]:
    index = np.arange(n)
    return np.asarray(index + boundary_cost * (index // of_one_chip), np.float64)
