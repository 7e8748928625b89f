"""An exploration as text: tables for terminals and notebooks, with notes."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from neuromap.explorer.answer import advice as answers
from neuromap.explorer.answer.exploration import Deadline, Exploration
from neuromap.explorer.answer.limits import (
    ACCURACY,
    CORES,
    ENERGY,
    FIRST,
    OBJECTIVES,
    SAMPLING,
    ExploredRow,
    Limits,
    best_rows,
    value_of,
)
from neuromap.explorer.draw_front import chip_words, draw_front, times_from, to_svg
from neuromap.files.messages import counted
from neuromap.render.numbers import mean_period_lines, percent, plain, short_count
from neuromap.render.quantities import figure, scale_for, with_unit
from neuromap.render.svg import inline_image
from neuromap.render.table import Column, Table, print_findings, print_lines, print_rest, print_text, printed, sentence
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.reaction_note import reaction_note
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import describe_frames, describe_stimuli

if TYPE_CHECKING:
    from rich.console import Console

_Numbered = tuple[int, ExploredRow]
GIVEN_WEIGHTS = "*"
"""Mark after an energy measured with the given weights, in a row that needs retraining."""

GIVEN_WEIGHTS_NOTE = "with the given weights; the row needs retraining, after which its energy is another."
"""Meaning of the mark."""


@dataclass(frozen=True)
class ColumnUnits:
    """Units of times and energies."""

    # time, energy: such as ``"ms"`` and ``"µJ"``
    time: str
    # time_scale, energy_scale: their values in s and J
    time_scale: float
    energy: str
    energy_scale: float

    def time_cell(self, row: ExploredRow, name: str) -> str:
        """Format a time in ticks and in the column's unit, ``"2 = 2"``; bounds have their signs."""
        ticks, seconds = (getattr(row, f"{name}_{unit}") for unit in ("ticks", "seconds"))
        sign = "≤ " if name == "full_response" and not row.full_response_exact else ""
        sign += "≥ " if row.times_are_bounds else ""
        equal = "≥" if row.seconds_are_bounds and not row.times_are_bounds else "="
        return f"{sign}{ticks} {equal} {_figure(seconds / self.time_scale)}"

    def frequency_cell(self, row: ExploredRow) -> str:
        """Format a sampling frequency; a bound has its sign."""
        return f"{'≤ ' if row.seconds_are_bounds else ''}{figure(row.sampling_frequency_hz)}"

    def energy_cell(self, row: ExploredRow) -> str:
        """Format a row's energy in the column's unit; a bound has its sign, an unknown energy is a dash."""
        number, is_exact = value_of(row, ENERGY)
        if number is None:
            return "-"
        sign = GIVEN_WEIGHTS if answers.has_given_weights(row, ENERGY) else ""
        return f"{'' if is_exact else '≥ '}{_figure(number / self.energy_scale)}{sign}"


def column_units(rows: Sequence[ExploredRow]) -> ColumnUnits:
    """Choose units that give the least time and the least energy one to three digits before the point."""
    times = [row.first_response_seconds for row in rows]
    energies = [number for row in rows if (number := value_of(row, ENERGY).number)]
    (time_scale, time), (energy_scale, energy) = (
        scale_for(min(values, default=1.0), unit) for values, unit in ((times, "s"), (energies, "J"))
    )
    return ColumnUnits(time, time_scale, energy, energy_scale)


def _figure(value: float) -> str:
    return figure(float(f"{value:.12g}"))


def exploration_table(exploration: Exploration, listing: answers.Listing) -> Table[_Numbered]:
    """Make the table of all listed rows, with their numbers; units are in the headers."""
    rows = list(listing.all)
    columns = _columns(exploration, [row for _, row in rows])
    # with the same least width in the tables of all groups
    widths = [min(max((len(column.cell(row)) for row in rows), default=0), 24) for column in columns]
    columns = [replace(column, least=width) for column, width in zip(columns, widths, strict=True)]
    return Table(columns, rows, "", (0, 1, 2), _style, is_edged=True)


def _ticks_of_sums(row: ExploredRow) -> str:
    return "-" if row.candidate.wide == "refuse" else f"{row.candidate.wide_ticks or 'all'}"


def _written(header: str, cell: Callable[[ExploredRow], str], **how: Any) -> Column[_Numbered]:
    return Column(header, lambda numbered: cell(numbered[1]), **how)


def _columns(exploration: Exploration, rows: Sequence[ExploredRow]) -> list[Column[_Numbered]]:
    short, units = answers.short_names(exploration, rows), column_units(rows)
    in_ticks = f"[ticks = {units.time}]"
    choices = [
        _written("chip", lambda row: row.candidate.chip, left=True),
        _written("splitters", lambda row: row.candidate.splitters, left=True),
        _written("ticks\nper\nstep", lambda row: plain(row.candidate.ticks_per_step)),
        _written("ticks\nof a\nsum", _ticks_of_sums),
        _written("phases", lambda row: row.candidate.phases, left=True),
        _written("short\nticks on\n[cores]", lambda row: plain(row.candidate.spread)),
    ]
    columns = [
        Column[_Numbered]("#", lambda numbered: str(numbered[0])),
        _written("pattern", lambda row: short.get(row.pattern, row.pattern), left=True, wraps=True),
        _written("execution", lambda row: row.candidate.execution, left=True),
        *(column for column in choices if len({column.cell((0, row)) for row in rows}) > 1),  # that distinguish rows
    ]
    if any(row.needs_retraining for row in rows) or exploration.deadline is not None:
        columns.append(_written("class", lambda row: str(row.behaviour_class), rank=4))
    columns += [
        _written("patterns\nin this\nrow", lambda row: short_count(row.n_patterns), rank=9),
        _written(f"first\nresponse\n{in_ticks}", partial(units.time_cell, name="first_response")),
        _written(f"full\nresponse\n{in_ticks}", partial(units.time_cell, name="full_response"), rank=3),
        _written(f"worst-case\nreaction\n{in_ticks}", partial(units.time_cell, name="worst_case_reaction"), rank=4),
        _written("sampling\nfrequency\n[Hz]", units.frequency_cell),
    ]
    if exploration.deadline is not None:
        after = with_unit(exploration.deadline.seconds, "s")
        columns.append(_written(f"accuracy\nat deadline\n[% at {after}]", accuracy_cell))
    columns.append(_written("cores", _cores))
    if answers.is_known(rows, ENERGY):
        columns.append(_written(f"energy\nper frame\n[{units.energy}]", units.energy_cell))
    return [*columns, _written("front", answers.front_words, left=True, rank=9), _written("verified", _verdict, rank=5)]


def accuracy_cell(row: ExploredRow) -> str:
    """Format a row's accuracy at the deadline in percent; bounds have a sign, ``no answer`` means no response yet."""
    number, is_exact = value_of(row, ACCURACY)
    if number is None:
        return "-"
    if row.frames_by_deadline == 0:
        return "no answer"
    return f"{'' if is_exact else '≤ '}{figure(float(f'{100 * number:.12g}'))}"


def _cores(row: ExploredRow) -> str:
    return f"≥ {row.core_bound}" if row.cores is None else f"{row.cores} (≥ {row.core_bound})"


def _verdict(row: ExploredRow) -> str:
    verdicts = {None: "-", True: "✓ proven" if row.proven else "✓ yes", False: "✗ no"}
    return verdicts[row.verified] if row.status == "mapped" else row.status


def _style(numbered: _Numbered) -> str:
    styles = {None: "", True: "green", False: "bold red"}
    return styles[numbered[1].verified] if numbered[1].status == "mapped" else "yellow"


def print_exploration(
    exploration: Exploration, console: Console, limits: Limits | None = None, *, every: bool = False
) -> None:
    """Print the tables with their notes."""
    # every: also mapped rows that are on no front
    listing = answers.list_rows(exploration, limits, every=every)
    checked = f", verified with {describe_frames(exploration.stimulus)}" if exploration.stimulus else ""
    print_lines(console, [f"{exploration.network.name} on {chip_words(exploration)}{checked}"])
    table = exploration_table(exploration, listing)
    for title, members in listing.groups(exploration):
        print_lines(console, [title])
        table.print(console, members)
    print_lines(console, note_lines(exploration, listing, limits))


def print_answers(exploration: Exploration, console: Console, limits: Limits | None, page: str | None) -> None:
    """Print a summary and, unless there is a page with everything, a brief table."""
    listing, best = answers.list_rows(exploration, limits), answers.deadline_line(exploration, limits)
    print_text(console, f"{exploration.network.name} on {chip_words(exploration)}: {count_line(exploration)}")
    print_findings(console, [*_leading(exploration, listing), gap_line(exploration).rstrip(".")])
    for line in [f"#{number}: {row.message}" for number, row in listing.all if row.message]:
        print_text(console, line)
    if page is None:
        table = exploration_table(exploration, listing)
        table.print(console, brief=True)
        for title, members in listing.groups(exploration):
            first, last = members[0][0], members[-1][0]
            print_text(console, f"#{first}{f' to #{last}' if last > first else ''}: {title}")
        for line in _sign_lines(exploration, [row for _, row in listing.all]):
            print_text(console, line)
    for line in [*(deadline_lines(exploration.deadline)[2:] if exploration.deadline else []), *filter(None, [best])]:
        print_text(console, line)
    if page is None:
        print_rest(console, [*table.left_out(console.width), "what the columns mean"], "--all, --html FILE or --json")


def _sign_lines(exploration: Exploration, rows: Sequence[ExploredRow]) -> list[str]:
    """Explain the marks and short pattern names of the table, a line each."""
    names = [
        f"{short.split(' ')[0]} streams on {name}" for name, short in answers.short_names(exploration, rows).items()
    ]
    signed = answers.is_known(rows, ENERGY) and any(answers.has_given_weights(row, ENERGY) for row in rows)
    return [f"{GIVEN_WEIGHTS}: {GIVEN_WEIGHTS_NOTE}"] * signed + names


def _leading(exploration: Exploration, listing: answers.Listing) -> list[str]:
    """Name the best row, retraining allowed, for each of the main objectives; one sentence per row."""
    rows = [row for _, row in listing.all if row.status == "mapped"]
    numbers = {row.candidate: number for number, row in listing.all}
    said: dict[str, list[str]] = {}
    for objective in (FIRST, SAMPLING, CORES, *([ACCURACY] if exploration.deadline else []), ENERGY):
        best = best_rows(rows, objective)
        if best and value_of(best[0], objective).number is not None:
            said.setdefault(f"#{numbers[best[0].candidate]} {_named(exploration, best[0]).rstrip(',')}", []).append(
                f"{objective.title} {answers.figure_text(best[0], objective)}"
            )
    return [f"best {' and '.join([', '.join(of[:-1]), of[-1]][len(of) < 2 :])}: {name}" for name, of in said.items()]


def render_text(
    exploration: Exploration, width: int = 160, limits: Limits | None = None, *, every: bool = False
) -> str:
    """Format an exploration as text, as it is printed."""
    return printed(lambda console: print_exploration(exploration, console, limits, every=every), width)


def to_notebook(exploration: Exploration) -> str:
    """Write the picture of the fronts and their rows as HTML: the given pattern's class first, then the others."""
    listing = answers.list_rows(exploration)
    table = exploration_table(exploration, listing)
    drawn = draw_front(exploration)
    image = "" if drawn is None else inline_image(to_svg(exploration))
    return image + "".join(
        replace(table, rows=members).html(f"{exploration.network.name}. {title}", names=2)
        for title, members in listing.groups(exploration)
    )


# Notes below the tables: meaning of columns, counts, how good the fronts are.


MET_CLASSES = (
    "class: 1 is streaming's, then those of the other patterns with names follow; all others are numbered in the order "
    "in which the search met them, as there are too many valid patterns to enumerate."
)
"""Note for class numbers that do not depend on the network alone."""


def reaction_line(exploration: Exploration, rows: Sequence[ExploredRow]) -> str | None:
    """Sentence on the inputs that worst-case reactions refer to; ``None`` if the network has one input."""
    network = exploration.network
    if len(network.inputs) < 2:
        return None
    return reaction_note(
        (f"{row.pattern} ({one.execution})", Rollout(network, RolloutPattern(network, one.values), one.execution))
        for row in rows
        for one in [row.candidate]
    )


def timed_line(exploration: Exploration, rows: Sequence[ExploredRow]) -> str:
    """Sentence on seconds if ticks last as long as their work; empty if they do on no chip."""
    timed = [chip.name for chip in exploration.chips if chip.is_timed]
    if not timed:
        return ""
    over = f" over {describe_stimuli(exploration.stimulus)}" if exploration.stimulus else ""
    bounds = any(row.is_timed and row.seconds is None for row in rows)
    return (
        f"Ticks of {', '.join(timed)} last as long as their work: seconds and sampling frequency as timed in the event "
        f"simulation, in steady operation{over}"
        f"{'; of rows that were not timed what neurons in use and the barrier take at least (≥)' if bounds else ''}."
    )


def spread_lines(exploration: Exploration) -> list[str]:
    """Sentences on the best rows for every number of cores in ``spread``."""
    mapped = [row for row in exploration.rows if row.status == "mapped" and row.cores is not None]
    lines = []
    for most in sorted({n for row in exploration.rows if (n := row.candidate.spread) is not None}):
        rows = [row for row in mapped if (row.cores or 0) <= most]
        first, often = (best_rows(rows, objective) for objective in (FIRST, SAMPLING))
        if first and often:
            lines.append(
                f"On up to {counted(most, 'core')} {_named(exploration, first[0])} answers first, after "
                f"{answers.figure_text(first[0], FIRST)}; {_named(exploration, often[0])} samples most often, at "
                f"{answers.figure_text(often[0], SAMPLING)}."
            )
    return lines


def _named(exploration: Exploration, row: ExploredRow) -> str:
    name = answers.short_names(exploration, [row]).get(row.pattern, row.pattern)
    where = f" on {row.candidate.chip}" if len(exploration.chips) > 1 else ""
    return f"{name}, {row.candidate.execution}{where}{', after retraining,' if row.needs_retraining else ''}"


def count_line(exploration: Exploration) -> str:
    """Sentence with the numbers of patterns, classes, candidates, rows and mapped rows."""
    patterns, classes = exploration.n_valid_patterns, exploration.n_classes
    words = [
        "valid patterns not counted" if patterns is None else _counted(patterns, "valid pattern", "s"),
        "behaviour classes not counted" if classes is None else _counted(classes, "behaviour class", "es"),
        f"{_counted(exploration.n_candidates, 'candidate', 's')} (pattern, execution, mapping choice)",
        _counted(exploration.n_rows, "distinct row", "s"),
        mapped_words(exploration),
    ]
    return ", ".join(words) + "."


def mapped_words(exploration: Exploration) -> str:
    """Phrase with the numbers of rows that were mapped, and that do not fit."""
    refused = sum(row.status == "does not fit" for row in exploration.rows)
    return f"{exploration.n_mapped - refused} mapped" + (f", {refused} that do not fit" if refused else "")


def _counted(number: int, what: str, plural: str) -> str:
    return f"{short_count(number)} {what}{'' if number == 1 else plural}"


def energy_line(exploration: Exploration) -> str:
    """Sentence on what energies include, and which differences count."""
    over = f", mean over {describe_stimuli(exploration.stimulus)}" if exploration.stimulus else ""
    return (
        f"energy: per frame in steady operation{over}, all terms whose figures the chip file has (≥: a proven lower "
        f"bound); on the fronts energies within {percent(exploration.energy_tolerance)} count as equal."
    )


def deadline_lines(deadline: Deadline) -> list[str]:
    """Sentences on what accuracies refer to, and which classes have none."""
    after = with_unit(deadline.seconds, "s")
    lines = [
        f"accuracy at deadline: part of {deadline.n_images} {deadline.part} images of {deadline.data} that the last "
        f"frame known {after} after stimulus onset names rightly by itself; no answer: the first response comes later."
    ]
    weights = ", ".join(f"{one.behaviour_class} {one.pattern} ({one.file or one.network})" for one in deadline.trained)
    lines.append(f"weights of class: {weights}.")
    if deadline.n_untrained == 0 or not deadline.untrained:
        return lines
    others = "other class has" if deadline.n_untrained == 1 else "other classes have"
    many = others if deadline.n_untrained is None else f"{short_count(deadline.n_untrained)} {others}"
    named = ", ".join(f"{number} ({text})" for number, text in deadline.untrained)
    more = "" if len(deadline.untrained) == deadline.n_untrained else ", among them"
    command = shlex.join(["neuromap", "train", "NET", "--pattern", deadline.untrained[0][1], "--for", "CHIP"])
    lines.append(f"{many} no trained weights and no rows here{more}: {named}; train one with {command} -o NEW.toml.")
    return lines


def gap_line(exploration: Exploration) -> str:
    """Sentence on how good the fronts are."""
    text = exploration.gap.statement.strip()
    return sentence(text if text.endswith(".") else f"{text}.")


def refusals(exploration: Exploration, listing: answers.Listing) -> dict[str, str]:
    """Messages of the listed rows, each once, with the patterns and rows concerned."""
    found: dict[str, list[_Numbered]] = {}
    for number, row in listing.all:
        if row.message:
            found.setdefault(row.message, []).append((number, row))
    return {message: _concerned(exploration, rows) for message, rows in found.items()}


def _concerned(exploration: Exploration, rows: Sequence[_Numbered]) -> str:
    """Patterns and rows that a refusal concerns: ``2 patterns (#3)``, ``all 16 patterns (#1 to #7)``."""
    by_execution = Counter[tuple[str, str]]()
    for _, row in rows:
        by_execution[row.candidate.execution, row.candidate.chip] += row.n_patterns
    patterns, every = max(by_execution.values()), exploration.n_valid_patterns
    whom = (
        f"all {every} patterns" if every is not None and 1 < every <= patterns else _counted(patterns, "pattern", "s")
    )
    numbers = [number for number, _ in rows]
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return f"{whom} (#{first})"
    is_run = len(numbers) == last - first + 1
    return f"{whom} (#{first} to #{last})" if is_run else f"{whom} ({', '.join(f'#{n}' for n in numbers)})"


def note_lines(exploration: Exploration, listing: answers.Listing, limits: Limits | None = None) -> list[str]:
    """Lines below the tables: time axes, meaning of columns, counts, how good the fronts are."""
    rows = [row for _, row in listing.all]
    notes = [f"{name}: {axis}." for name, axis in answers.row_axes(rows).items()]
    notes += mean_period_lines(row.frame_period_ticks for row in rows)
    if rows:
        notes.append(
            "First and full response from stimulus onset, worst-case reaction from the event, all "
            f"{times_from(exploration)}, on the time axis of the row's execution."
        )
        notes += filter(None, [timed_line(exploration, rows), reaction_line(exploration, rows)])
        whose = " of all classes, or of its own," if exploration.deadline is None else ""
        axes = exploration.axes
        titles = "everything" if len(axes) == len(OBJECTIVES) else " and ".join(axis.title for axis in axes)
        within = f", energies within {percent(exploration.energy_tolerance)} being equal"
        notes.append(
            "cores: in use (≥: a proven lower bound on those of any mapping; alone where the row was not mapped). "
            f"front: no row on the front{whose} is at least as good in {titles} and better in one figure"
            f"{within if answers.is_known(rows, ENERGY) else ''}."
        )
    if exploration.deadline is not None:
        notes += deadline_lines(exploration.deadline)
    if answers.is_known(rows, ENERGY):
        notes.append(energy_line(exploration))
    elif rows:
        one = len(exploration.chips) == 1
        why = "the chip has no such figures" if one else "the chips have no figures of the same terms to compare"
        if ENERGY not in exploration.axes:
            why = "was not asked for"
        notes.append(f"energy: {why}; it is not part of the front.")
    if any(not row.full_response_exact for row in rows):
        notes.append("≤: the search for the longest path was cut off; an upper bound.")
    if not exploration.classes_are_of_network and any(row.needs_retraining for row in rows):
        notes.append(MET_CLASSES)
    notes += _sign_lines(exploration, rows)
    left_out = (
        (listing.n_outside if limits else 0, f"outside the limits ({limits}) left out."),
        (listing.n_alike, "with the figures of one above left out (--all shows them)."),
        (listing.n_open, "that were not mapped left out (--all shows them)."),
        (listing.n_off_front, "on no front left out (--all shows them)."),
    )
    notes += [f"{counted(number, 'row')} {which}" for number, which in left_out if number]
    told = refusals(exploration, listing)
    notes += [f"{whom}: {message}" for message, whom in told.items()]
    gap = gap_line(exploration)
    gap = "No row fits." if exploration.gap.nothing_fits and any(message in gap for message in told) else gap
    notes += [count_line(exploration), *spread_lines(exploration), gap]
    best = answers.deadline_line(exploration, limits)
    return [*notes, best] if best else notes
