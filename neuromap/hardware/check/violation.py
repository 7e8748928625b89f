"""What a broken rule is, where it is broken; and the rules about defects, the same for every kind of core.

Nothing sits on a dead core, and no spike passes a dead router or link. Places off the board are other rules' finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.arrays.value import Value
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram, xy_route


def dead_cores(program: ChipProgram) -> Iterator[Finding]:
    """``dead-core``: no core of the program sits where the core or its router is dead."""
    defects = program.chip.defects
    if not (defects.cores or defects.routers):
        return
    dead = np.array(defects.cores + defects.routers, np.int64)
    wide = 2**32  # coordinates are 32-bit integers, so every place has a number of its own
    xy = program.coordinates.astype(np.int64)
    yield find(
        "dead-core",
        np.isin(xy[:, 0] * wide + xy[:, 1], dead[:, 0] * wide + dead[:, 1]),
        lambda c: (
            Place(core=c),
            (int(xy[c, 0]), int(xy[c, 1])),
            f"a core that works: on chip {program.chip.name} the core or its router is dead there",
            "coordinate",
        ),
    )


def dead_routes(program: ChipProgram) -> Iterator[Finding]:
    """``dead-route``: no route (x first, then y) to a target crosses a dead router or link, ends included."""
    chip, n_cores = program.chip, program.n_cores
    if not (chip.defects.routers or chip.defects.links):
        return
    xy = program.coordinates.astype(np.int64)
    on_board = np.all((xy >= 0) & (xy < [chip.columns, chip.rows]), axis=1)
    source, neuron, target = program.wires[:3]
    pair = source * n_cores + target
    valid = (target >= 0) & (target < n_cores) & on_board[source]
    # neurons of a core share targets: each pair of cores is asked once. Rows of sorted targets are many times faster to
    # sort than all pairs together, and in order as a whole
    per_core = np.bincount(source, minlength=n_cores)
    ascending = np.full((n_cores, int(per_core.max(initial=0))), -1, np.int64)
    ascending[source, ragged_ranges(0, per_core)] = np.where(valid, pair, -1)
    ascending.sort(axis=1)
    first = ascending >= 0
    first[:, 1:] &= ascending[:, 1:] != ascending[:, :-1]
    pairs = ascending[first]
    pairs = pairs[on_board[pairs % n_cores]] if len(pairs) else pairs
    pairs = pairs[_blocked(chip, xy[pairs // n_cores], xy[pairs % n_cores])] if len(pairs) else pairs
    yield find(
        "dead-route",
        valid & _among(pair, pairs),
        lambda w: (
            Place(core=int(source[w]), neuron=int(neuron[w])),
            (*map(int, xy[source[w]]), *map(int, xy[target[w]])),
            f"a way, x first, without {_first_defect(chip, xy[source[w]], xy[target[w]])}",
            "route (x, y to x, y)",
        ),
    )


def _blocked(chip: ChipSpec, start: Ints, end: Ints) -> Bools:
    """Which routes meet a defect: a search in sorted lists of the defects of all rows, and of all columns."""
    # Along a row, routers have the even places (2 x) and links the odd ones (2 x + 1).
    rows, columns = [], []
    for x, y in chip.defects.routers:
        rows.append((y, 2 * x))
        columns.append((x, 2 * y))
    for (x, y), (to_x, to_y) in chip.defects.links:
        if y == to_y:
            rows.append((y, x + to_x))
        else:
            columns.append((x, y + to_y))
    (x, y), (to_x, to_y) = start.T, end.T
    return _meets(rows, 2 * chip.columns, y, x, to_x) | _meets(columns, 2 * chip.rows, to_x, y, to_y)


def _meets(defects: list[tuple[int, int]], length: int, line: Ints, start: Ints, end: Ints) -> Bools:
    dead = np.sort(np.array([number * length + place for number, place in defects], np.int64))
    first = line * length + 2 * np.minimum(start, end)
    last = line * length + 2 * np.maximum(start, end)
    return np.asarray(np.searchsorted(dead, first, side="left") < np.searchsorted(dead, last, side="right"))


def _among(values: Ints, chosen: Ints) -> Bools:
    """Which values are among the chosen ones, which are sorted."""
    if not len(chosen):
        return np.zeros(values.shape, bool)
    return np.asarray(chosen[np.minimum(np.searchsorted(chosen, values), len(chosen) - 1)] == values)


def _first_defect(chip: ChipSpec, start: Ints, end: Ints) -> str:
    """Name the first dead router or link on a route, walking it hop by hop."""
    routers, links = set(chip.defects.routers), set(chip.defects.links)
    before = None
    for place in xy_route((int(start[0]), int(start[1])), (int(end[0]), int(end[1]))):
        if before is not None and (min(before, place), max(before, place)) in links:
            return f"the dead link {before} - {place}"
        if place in routers:
            return f"the dead router {place}"
        before = place
    raise AssertionError("only blocked routes are described")


# A broken rule as data, and how rules report many of them at once.


@dataclass(frozen=True)
class Place:
    """Where in a program; ``None`` for what does not apply, nothing but that where it is the program as a whole."""

    core: int | None = None  # row of ``Program.coordinates``
    # neuron, axon: within the core
    neuron: int | None = None
    axon: int | None = None
    axon_type: int | None = None  # axon type of a weight
    # host_row, output_row: row of the host or output table
    host_row: int | None = None
    output_row: int | None = None

    def __str__(self) -> str:
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in vars(self).items() if value is not None)


@dataclass(frozen=True)
class Violation:
    """One value of a program that breaks a rule of its chip."""

    rule: str  # name of the rule, as listed in ``docs/program-file.md``
    place: Place  # where
    found: int | tuple[int, ...]  # the value
    bound: str  # what is allowed
    message: str  # all of it in one line


@dataclass(frozen=True, eq=False)
class Finding(ReadOnly, Value):
    """All violations of one rule by one array: positions, and how to describe one of them."""

    rule: str  # name of the rule
    positions: Ints  # (n, axes): indices of the offending entries
    # position to place, value found, bound and what the value is called
    describe: Callable[[tuple[int, ...]], tuple[Place, int | tuple[int, ...], str, str]]

    def __len__(self) -> int:
        return len(self.positions)

    def violation(self, i: int) -> Violation:
        """Describe the i-th offending entry."""
        place, found, bound, what = self.describe(tuple(int(k) for k in self.positions[i]))
        return Violation(
            rule=self.rule,
            place=place,
            found=found,
            bound=bound,
            message=f"{place}{': ' if str(place) else ''}{what} is {found}; needs {bound} (rule {self.rule})",
        )


def find(
    rule: str,
    offending: Bools,
    describe: Callable[..., tuple[Place, int | tuple[int, ...], str, str]],
) -> Finding:
    """Make a finding of a mask; ``describe`` takes one index per axis of the mask."""
    return Finding(rule, np.argwhere(offending).astype(np.int64), lambda position: describe(*position))


def in_range(rule: str, values: NDArray[np.signedinteger], bounds: tuple[int, int], what: str) -> Finding:
    """Find values of neurons, shape (C, N), out of range."""
    least, greatest = bounds
    return find(
        rule,
        (values < least) | (values > greatest),
        lambda c, n: (Place(core=c, neuron=n), int(values[c, n]), f"{least} to {greatest}", what),
    )


Rule: TypeAlias = Callable[[Any], Iterator[Finding]]
"""From a well-formed program to findings."""


class Rules(NamedTuple):
    """What is asked of programs for one kind of core."""

    # Where a rule of ``starts`` is broken, nothing else can be asked.

    starts: tuple[Rule, ...]
    indices: tuple[Rule, ...]
    chip: tuple[Rule, ...]
    mapped: tuple[Rule, ...]
