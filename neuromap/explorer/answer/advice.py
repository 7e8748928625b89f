"""The answer to "which one should I run": the best row within limits, the command for it, and what might beat it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from neuromap.errors import DoesNotFitError, PatternError
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import (
    ACCURACY,
    CHOICES,
    ENERGY,
    OBJECTIVES,
    Candidate,
    ExploredRow,
    Limits,
    Objective,
    best_rows,
    bound_text,
    plainness,
    row_order,
    value_of,
)
from neuromap.files.messages import counted
from neuromap.render.numbers import percent
from neuromap.render.quantities import with_unit
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import chosen_period, time_axis

# Why no row fits: the most frequent reason for refusal.


def most_frequent_refusal(messages: Iterable[str]) -> str:
    """Choose the most frequent refusal; each names demand, bound and remedy."""
    counts = Counter(message for message in messages if message)
    return counts.most_common(1)[0][0] if counts else ""


@dataclass(frozen=True)
class Advice:
    """The best row within limits."""

    row: ExploredRow  # mapped, within the limits, best in ``objective``; among equals the other objectives decided
    objective: Objective  # in which it is best
    limits: Limits  # that it keeps
    n_rivals: int  # rows that were not mapped and might be better; 0 if none can be
    command: str  # the command that maps the row
    # if energy is the objective: rows with another energy that counts as equal; the other objectives decided
    n_equal: int = 0
    energy_tolerance: float = 0.0  # relative difference up to which energies count as equal

    def lines(self) -> list[str]:
        """Lines of text: the row, its figures, the command."""
        row = self.row
        within = f" with {self.limits}" if self.limits else ""
        retraining = "needs retraining" if row.needs_retraining else "no retraining"
        splitters = "" if row.candidate.splitters == "slack" else f", splitters {row.candidate.splitters}"
        figures = [f"{o.title} {figure_text(row, o)}" for o in OBJECTIVES if value_of(row, o).number is not None]
        if self.n_rivals:
            rivals = counted(self.n_rivals, "row")
            worth = f"{rivals} that might be better not mapped: give more time, or more rows to map"
        else:
            worth = "no row that was not mapped can be better"
        if self.n_equal:
            equal, within = counted(self.n_equal, "row"), percent(self.energy_tolerance)
            worth = f"{equal} more with an energy that is equal within {within}; {worth}"
        return [
            f"best {self.objective.title}{within}: {row.pattern}, {row.candidate.execution} on {row.candidate.chip}"
            f"{splitters} ({retraining})",
            f"  {', '.join(figures)}; {worth}",
            f"  {self.command}",
        ]


def figure_text(row: ExploredRow, objective: Objective) -> str:
    """Write a figure of a row with its unit; a bound has its sign, an unknown figure is a dash."""
    # Energy of a row that needs retraining is marked as that of the given weights.
    number, is_exact = value_of(row, objective)
    if number is None:
        return "-"
    if objective == ACCURACY and row.frames_by_deadline == 0:
        return "no answer yet"
    sign = "" if is_exact else "≥ " if objective.sign > 0 else "≤ "
    if objective.name == "full_response_seconds" and not row.full_response_exact:
        sign = "≤ "
    unit = "" if objective.base_unit == "cores" else objective.base_unit
    of = " (given weights)" if has_given_weights(row, objective) else ""
    return f"{sign}{with_unit(number, unit)}{of}"


def has_given_weights(row: ExploredRow, objective: Objective) -> bool:
    """Whether a figure holds for the given weights only and will change with the retraining that the row needs."""
    return objective == ENERGY and row.needs_retraining and row.energy_joules is not None


def advise(
    exploration: Exploration,
    objective: Objective,
    limits: Limits | None = None,
    network_file: str = "NET",
    chip_arguments: Mapping[str, Sequence[str]] | None = None,
    refused: Sequence[ExploredRow] = (),
) -> Advice:
    """Find the best row within limits."""
    # limits: limits on the row
    # refused: rows that the search left out because of the limits; if none keeps them, the closest may be among these
    limits = limits or Limits()
    kept = [row for row in exploration.rows if limits.allows(row)]
    found = best_rows(kept, objective, exploration.energy_tolerance)
    if not found:
        raise DoesNotFitError(_why_none(exploration, objective, limits, refused))
    best = found[0]
    equal = sum(value_of(row, objective).number != value_of(best, objective).number for row in found)
    order = row_order(best, objective)
    rivals = [
        row
        for row in exploration.rows
        if row.status == "not mapped" and limits.allows(row) and row_order(row, objective) < order
    ]
    listed = sum(row.status == "not mapped" for row in exploration.rows)
    unlisted = max(0, exploration.gap.open_rows - listed)  # only a few hundred open rows are kept
    command = map_command(exploration, best, network_file, chip_arguments)
    return Advice(best, objective, limits, len(rivals) + unlisted, command, equal, exploration.energy_tolerance)


def _why_none(exploration: Exploration, objective: Objective, limits: Limits, refused: Sequence[ExploredRow]) -> str:
    open_rows = [row for row in exploration.rows if row.status == "not mapped" and limits.allows(row)]
    refusal = most_frequent_refusal(row.message for row in exploration.rows if row.status == "does not fit")
    if objective == ENERGY and any(row.status == "mapped" and "energy" in row.cut_short for row in exploration.rows):
        return f"{objective.title} was measured of no row in the time that was given; give more"
    if open_rows:
        why = f" ({refusal})" if refusal else ""
        kept = f"keeps {limits}" if limits else f"fits{why}"
        was_tried = refused or any(row.status in ("mapped", "does not fit") for row in exploration.rows)
        so_far = (
            f"no row that was tried {kept}, but" if was_tried else "no row was tried in the time that was given, and"
        )
        fit = f"{counted(len(open_rows), 'row')} that might {'was' if len(open_rows) == 1 else 'were'} not mapped"
        return f"{so_far} {fit}; give more time, or more rows to map"
    unknown = [row for row in exploration.rows if row.status == "mapped" and limits.allows(row)]
    if unknown and any(row.verified is not False for row in unknown):
        if objective == ACCURACY:
            return f"{objective.title} is known of no row, as there is no deadline; give one, with trained networks"
        return f"{objective.title} is known of no row, as the chip has no such figures; choose another objective"
    if unknown:
        return f"{counted(len(unknown), 'row')} within the limits, but on none the chip equals the reference"
    found = limits.closest([*exploration.rows, *refused])
    if found is None:
        return f"no row fits{': ' if refusal else ''}{refusal}"
    row, tightest = found
    bound = next(bound for other, bound in limits if other == tightest)
    if value_of(row, tightest).number is None:
        return f"no row keeps {bound_text(tightest, bound)}: the chip has no figures of {tightest.title}"
    several = sum(1 for _ in limits) > 1
    tight = f"all of {limits}; tightest is {bound_text(tightest, bound)}, and" if several else f"{limits};"
    where = f"{row.pattern}, {row.candidate.execution} on {row.candidate.chip}"
    return f"no row keeps {tight} closest is {where} with {figure_text(row, tightest)}"


def deadline_line(exploration: Exploration, limits: Limits | None = None) -> str:
    """Sentence on the most accurate rollout at the deadline; empty without a deadline or a row within the limits."""
    # limits: limits on the row
    reached = exploration.deadline
    mapped = best_rows([row for row in exploration.rows if (limits or Limits()).allows(row)], ACCURACY)
    if reached is None or not mapped:
        return ""
    best = mapped[0]
    after, several = with_unit(reached.seconds, "s"), len(exploration.chips) > 1
    cores = f"{counted(best.cores or 0, 'core')}{f' of {best.candidate.chip}' if several else ''}"
    if not best.frames_by_deadline:
        return f"After {after} no rollout that was mapped has an answer yet."
    figure = best.accuracy_at_deadline or 0.0
    unmapped = [row for row in exploration.rows if row.status == "not mapped"]
    may_be_better = any((row.accuracy_bound or 0.0) > figure for row in unmapped)
    of_mapped = ", of the rows that were mapped" if may_be_better else ""
    return (
        f"After {after} {best.pattern}, {best.candidate.execution}, on {cores} is right most often{of_mapped}: "
        f"{figure_text(best, ACCURACY)} of {reached.n_images} {reached.part} images of {reached.data}."
    )


def pattern_argument(exploration: Exploration, row: ExploredRow) -> str:
    """Write the row's pattern as ``--pattern`` takes it: its name, if that means this pattern, else its edges."""
    try:
        if RolloutPattern.named(exploration.network, row.pattern).values == row.candidate.values:
            return row.pattern
    except PatternError:  # the name is its edges
        pass
    return streaming_text(streaming_edges(exploration, row.candidate.values)) or "sequential"


def map_command(
    exploration: Exploration,
    row: ExploredRow,
    network_file: str = "NET",
    chip_arguments: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Write the command that maps a row."""
    candidate = row.candidate
    trained = None if exploration.deadline is None else exploration.deadline.file_of(row.behaviour_class)
    words = ["neuromap", "map", trained or network_file, "--pattern", pattern_argument(exploration, row)]
    words += ["--execution", candidate.execution]
    words += ["--chip", *(chip_arguments or {}).get(candidate.chip, [candidate.chip])]
    of_crossbars = frozenset({"splitters", "wide", "wide_ticks"})
    asked = next((c.kind.structure.OPTIONS for c in exploration.chips if c.name == candidate.chip), of_crossbars)
    for name in CHOICES:
        value = getattr(candidate, name)
        if value != getattr(Candidate, name) and (name in asked or name not in of_crossbars):
            words += [f"--{name.replace('_', '-')}", str(value)]
    if candidate.spread is not None:
        words += ["--objective", "tick", "--max-cores", str(candidate.spread)]
    return shlex.join(words)


# Choice, grouping and numbering of the rows of an exploration that are shown.


_MOST_OPEN = 8
"""Most unmapped rows shown in each group."""
_LONGEST_NAME = 34
"""Most characters of a pattern's edges in the table; longer ones are written below it."""


@dataclass(frozen=True)
class Listing:
    """Rows to show, numbered from 1 across both groups."""

    same: tuple[tuple[int, ExploredRow], ...]  # number and row, of the given pattern's behaviour class: no retraining
    other: tuple[tuple[int, ExploredRow], ...]  # of other classes: needs retraining
    n_off_front: int  # mapped rows within the limits, left out because they are on no front
    n_alike: int  # rows left out because one with the same figures, chip and execution is shown
    n_outside: int  # rows left out because of the limits
    n_open: int = 0  # unmapped rows, left out because enough of them are shown

    @property
    def all(self) -> tuple[tuple[int, ExploredRow], ...]:
        """Both groups."""
        return (*self.same, *self.other)

    def groups(self, exploration: Exploration) -> list[tuple[str, tuple[tuple[int, ExploredRow], ...]]]:
        """List the groups that have rows, with their titles."""
        if exploration.deadline is not None:
            return [("Each behaviour class with the weights that were trained for it", self.all)] if self.all else []
        given = f"behaviour class {exploration.given_class}, that of {exploration.given.name}"
        titled = [(f"No retraining: {given}", self.same), ("Needs retraining: other behaviour classes", self.other)]
        return [(title, members) for title, members in titled if members]


def list_rows(exploration: Exploration, limits: Limits | None = None, *, every: bool = False) -> Listing:
    """Choose the rows to show."""
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
    for group in [] if every else groups:  # keep only the first few of the open rows
        many = [id(row) for row in group if row.status == "not mapped"][_MOST_OPEN:]
        group[:] = [row for row in group if id(row) not in many]
    same, other = groups
    mapped = sum(row.status == "mapped" for row in allowed)
    return Listing(
        tuple(enumerate(same, 1)),
        tuple(enumerate(other, 1 + len(same))),
        mapped - n_chosen,
        n_all - len(chosen),
        len(exploration.rows) - len(allowed),
        len(chosen) - len(same) - len(other),
    )


def _without_alike(rows: Sequence[ExploredRow], exploration: Exploration) -> list[ExploredRow]:
    """Keep one of rows that differ only in what a user need not choose between, and those of the given pattern."""
    # Rows of one front whose other figures are equal have energies within the tolerance, which count as equal too.
    given = exploration.given.values
    kept: dict[object, ExploredRow] = {}
    for k, row in enumerate(rows):
        one = row.candidate
        figures: list[object] = [value_of(row, objective) for objective in OBJECTIVES if objective != ENERGY]
        fronts = row.on_front, row.on_class_front and not row.needs_retraining
        figures.append(fronts if any(fronts) else value_of(row, ENERGY))
        key: object = (row.needs_retraining, one.chip, one.execution, row.status, *figures)
        if (one.values, one.splitters, one.ticks_per_step, one.wide) == (given, "slack", None, "refuse"):
            key = k
        if key not in kept or plainness(row) < plainness(kept[key]):
            kept[key] = row
    chosen = {id(row) for row in kept.values()}
    return [row for row in rows if id(row) in chosen]


def front_words(row: ExploredRow) -> str:
    """Fronts that a row is on: that of ``"all"`` classes, its ``"class"``, both or neither (``"-"``)."""
    # With a deadline there is one front, and the word is ``"yes"``.
    if row.accuracy_bound is not None:
        return "yes" if row.on_front else "-"
    words = [word for word, on in (("all", row.on_front), ("class", row.on_class_front)) if on]
    return ", ".join(words) or "-"


def is_known(rows: Sequence[ExploredRow], objective: Objective) -> bool:
    """Whether a figure is known for any of the rows, so that it deserves a column."""
    return any(value_of(row, objective).number is not None for row in rows)


def constant_objectives(rows: Sequence[ExploredRow]) -> dict[Objective, float]:
    """Find the objectives that are equal in all rows, with their values."""
    found = {}
    for objective in OBJECTIVES:
        values = [value_of(row, objective) for row in rows]
        numbers = {f"{v.number:.9g}" for v in values if v.number is not None}
        if values and len(numbers) == 1 and all(v.number is not None and v.is_exact for v in values):
            found[objective] = float(values[0].number or 0.0)
    return found


def streaming_edges(exploration: Exploration, values: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """Streaming edges of a pattern, as pairs of nodes in the order of the network's edges."""
    return tuple(key for key, value in zip(exploration.network.edges, values, strict=True) if value)


def streaming_text(edges: Sequence[tuple[str, str]]) -> str:
    """Write streaming edges as ``--pattern`` takes them."""
    return ", ".join(f"{u} -> {v}" for u, v in edges)


def short_names(exploration: Exploration, rows: Sequence[ExploredRow]) -> Mapping[str, str]:
    """Short names for patterns that have only a list of edges, too long for a table."""
    network = exploration.network
    edges, short = counted(len(network.edges), "edge"), dict[str, str]()
    for row in rows:
        if row.pattern not in network.pattern_names and len(row.pattern) > _LONGEST_NAME and row.pattern not in short:
            short[row.pattern] = f"P{len(short) + 1} ({sum(row.candidate.values)} of {edges})"
    return short


def row_axes(rows: Sequence[ExploredRow]) -> dict[str, str]:
    """Describe the time axes of the rows' executions."""
    names = dict.fromkeys(row.candidate.execution for row in rows)
    axes = {name: time_axis(name) for name in names if chosen_period(name) is None}
    if len(axes) < len(names):
        axes["pipelined:P"] = "pipelined with a frame every P update steps"
    return axes
