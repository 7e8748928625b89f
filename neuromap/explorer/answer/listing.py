"""Which rows of an exploration are shown, in which groups and under which numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.objectives import ENERGY, OBJECTIVES, Objective
from neuromap.explorer.answer.row_figures import plainness, value_of
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.files.messages import counted
from neuromap.rollout.schedule.execution import chosen_period, time_axis

__all__ = [
    "Listing",
    "constant_objectives",
    "front_words",
    "is_known",
    "list_rows",
    "rows_text",
    "short_names",
    "streaming_edges",
    "streaming_text",
    "time_axes",
]

_MOST_OPEN = 8
"""Rows that were not mapped and are shown, at most, in each group."""

_LONGEST_NAME = 34
"""Characters beyond which a pattern's edges are written below the table."""


@dataclass(frozen=True)
class Listing:
    """Rows to be shown, numbered from 1 through both groups."""

    same: tuple[tuple[int, ExploredRow], ...]  # number and row, of the given pattern's behaviour class: no retraining
    other: tuple[tuple[int, ExploredRow], ...]  # of other classes: needs retraining
    n_off_front: int  # mapped rows within the limits that are left out, because they are on no front
    n_alike: int  # rows that are left out, because one with the same figures, chip and execution is shown
    n_outside: int  # rows left out because of the limits
    n_open: int = 0  # rows that were not mapped and are left out, because enough of them are shown

    @property
    def all(self) -> tuple[tuple[int, ExploredRow], ...]:
        """Both groups."""
        return (*self.same, *self.other)

    def groups(self, exploration: Exploration) -> list[tuple[str, tuple[tuple[int, ExploredRow], ...]]]:
        """Give the groups that have rows, with their titles."""
        if exploration.deadline is not None:
            return [("Each behaviour class with the weights that were trained for it", self.all)] if self.all else []
        given = f"behaviour class {exploration.given_class}, that of {exploration.given.name}"
        titled = [
            (f"No retraining: {given}", self.same),
            ("Needs retraining: other behaviour classes", self.other),
        ]
        return [(title, members) for title, members in titled if members]


def list_rows(exploration: Exploration, limits: Limits | None = None, *, every: bool = False) -> Listing:
    """Choose the rows that are shown."""
    limits = limits or Limits()
    allowed = [row for row in exploration.rows if row.status == "does not fit" or limits.allows(row)]
    given = exploration.given.values
    chosen = []
    for row in allowed:
        is_given = row.candidate.values == given
        counts = row.on_front or is_given or (row.on_class_front and not row.needs_retraining)
        is_open = row.status == "not mapped"
        refused = row.status == "does not fit" and not row.needs_retraining
        if every or counts or is_open or refused:
            chosen.append(row)
    chosen.sort(key=lambda row: row.status != "mapped")  # stable: the order of the exploration otherwise
    n_chosen = sum(row.status == "mapped" for row in chosen)
    n_all, chosen = len(chosen), chosen if every else _without_alike(chosen, exploration)
    groups = [[row for row in chosen if row.needs_retraining is needs] for needs in (False, True)]
    same, other = groups if every else [_without_many_open(group) for group in groups]
    mapped = sum(row.status == "mapped" for row in allowed)
    return Listing(
        tuple(enumerate(same, 1)),
        tuple(enumerate(other, 1 + len(same))),
        mapped - n_chosen,
        n_all - len(chosen),
        len(exploration.rows) - len(allowed),
        len(chosen) - len(same) - len(other),
    )


def _without_many_open(rows: Sequence[ExploredRow]) -> list[ExploredRow]:
    """Keep a few of the rows that were not mapped, the first."""
    still_open = [id(row) for row in rows if row.status == "not mapped"]
    return [row for row in rows if id(row) not in still_open[_MOST_OPEN:]]


def _without_alike(rows: Sequence[ExploredRow], exploration: Exploration) -> list[ExploredRow]:
    """Keep one of the rows that only differ in what a user need not choose between, and those of the given pattern."""
    # Rows of one front whose other figures are equal have energies within the tolerance: they are equal too.
    given = exploration.given.values
    kept: dict[object, ExploredRow] = {}
    for k, row in enumerate(rows):
        figures: list[object] = [value_of(row, objective) for objective in OBJECTIVES if objective != ENERGY]
        fronts = row.on_front, row.on_class_front and not row.needs_retraining
        figures.append(fronts if any(fronts) else value_of(row, ENERGY))
        key: object = (row.needs_retraining, row.candidate.chip, row.candidate.execution, row.status, *figures)
        if (
            row.candidate.values == given
            and row.candidate.splitters == "slack"
            and row.candidate.ticks_per_step is None
            and row.candidate.wide == "refuse"
        ):
            key = k
        if key not in kept or plainness(row) < plainness(kept[key]):
            kept[key] = row
    chosen = {id(row) for row in kept.values()}
    return [row for row in rows if id(row) in chosen]


def rows_text(n: int) -> str:
    """Write a number of rows: ``"1 row"``, ``"2 rows"``."""
    return f"{n} row{'s' if n != 1 else ''}"


def front_words(row: ExploredRow) -> str:
    """Say on which front a row is: ``"all"`` classes, its ``"class"``, both or neither (``"-"``)."""
    # With a deadline there is one front, and the word is ``"yes"``.
    if row.accuracy_bound is not None:
        return "yes" if row.on_front else "-"
    words = [word for word, on in (("all", row.on_front), ("class", row.on_class_front)) if on]
    return ", ".join(words) or "-"


def is_known(rows: Sequence[ExploredRow], objective: Objective) -> bool:
    """Whether a figure is known of any of the rows, so that it deserves a column."""
    return any(value_of(row, objective).number is not None for row in rows)


def constant_objectives(rows: Sequence[ExploredRow]) -> dict[Objective, float]:
    """Find the objectives that do not tell the rows apart."""
    found = {}
    for objective in OBJECTIVES:
        values = [value_of(row, objective) for row in rows]
        numbers = {f"{v.number:.9g}" for v in values if v.number is not None}
        if values and len(numbers) == 1 and all(v.number is not None and v.is_exact for v in values):
            found[objective] = float(values[0].number or 0.0)
    return found


def streaming_edges(exploration: Exploration, values: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """Give the streaming edges of a pattern, as pairs of nodes in the order of the network's edges."""
    return tuple(key for key, value in zip(exploration.network.edges, values, strict=True) if value)


def streaming_text(edges: Sequence[tuple[str, str]]) -> str:
    """Write streaming edges as ``--pattern`` takes them."""
    return ", ".join(f"{u} -> {v}" for u, v in edges)


def short_names(exploration: Exploration, rows: Sequence[ExploredRow]) -> Mapping[str, str]:
    """Make names for patterns that are known by their edges only and too long for a table."""
    n_edges = len(exploration.network.edges)
    known = {"streaming", "sequential", *exploration.network.patterns}
    short: dict[str, str] = {}
    for row in rows:
        if row.pattern not in known and len(row.pattern) > _LONGEST_NAME and row.pattern not in short:
            short[row.pattern] = f"P{len(short) + 1} ({sum(row.candidate.values)} of {counted(n_edges, 'edge')})"
    return short


def time_axes(rows: Sequence[ExploredRow]) -> dict[str, str]:
    """Say what the time axes of the rows' executions are."""
    names = dict.fromkeys(row.candidate.execution for row in rows)
    axes = {name: time_axis(name) for name in names if chosen_period(name) is None}
    if len(axes) < len(names):
        axes["pipelined:P"] = "pipelined with a frame every P update steps"
    return axes
