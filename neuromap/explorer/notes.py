"""What is said below the tables of an exploration: what columns mean, counts, what the fronts are worth."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from neuromap.explorer.answer.advice import deadline_line, has_given_weights
from neuromap.explorer.answer.deadline import Deadline
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.listing import Listing, is_known, rows_text, short_names, time_axes
from neuromap.explorer.answer.objectives import ENERGY, OBJECTIVES
from neuromap.explorer.answer.quantities import with_unit
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.explorer.column_units import GIVEN_WEIGHTS, GIVEN_WEIGHTS_NOTE
from neuromap.forms.numbers import mean_period_lines, percent, short_count
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.reaction_note import reaction_note
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import describe_stimuli

__all__ = ["MET_CLASSES", "count_line", "deadline_lines", "energy_line", "gap_line", "note_lines", "reaction_line"]


MET_CLASSES = (
    "class: 1 is streaming's, then those of the other patterns with names follow; all others are numbered in the order "
    "in which the search met them, as there are too many valid patterns to enumerate."
)
"""What is said where class numbers are not those of the network alone."""


def reaction_line(exploration: Exploration, rows: Sequence[ExploredRow]) -> str | None:
    """Say which inputs the worst-case reactions of rows are for; ``None`` where the network has one input."""
    network = exploration.network
    if len(network.inputs) < 2:
        return None
    return reaction_note(
        (
            f"{row.pattern} ({row.candidate.execution})",
            Rollout(network, _pattern(network, row), row.candidate.execution),
        )
        for row in rows
    )


def _pattern(network: Network, row: ExploredRow) -> RolloutPattern:
    return RolloutPattern.from_values(network, row.candidate.values, row.pattern)


def count_line(exploration: Exploration) -> str:
    """Say how many patterns, classes, candidates and rows there are, and how many rows were mapped."""
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
    """Say how many rows were mapped, and how many do not fit."""
    refused = sum(row.status == "does not fit" for row in exploration.rows)
    return f"{exploration.n_mapped - refused} mapped" + (f", {refused} that do not fit" if refused else "")


def _counted(number: int, what: str, plural: str) -> str:
    return f"{short_count(number)} {what}{'' if number == 1 else plural}"


def _tolerance_text(exploration: Exploration, rows: Sequence[ExploredRow]) -> str:
    """Say in the legend of the front which energies count as equal there."""
    return f", energies within {percent(exploration.energy_tolerance)} being equal" if is_known(rows, ENERGY) else ""


def _axes(exploration: Exploration) -> str:
    axes = exploration.axes
    return "everything" if len(axes) == len(OBJECTIVES) else " and ".join(axis.title for axis in axes)


def _whose(exploration: Exploration) -> str:
    return " of all classes, or of its own," if exploration.deadline is None else ""


def energy_line(exploration: Exploration) -> str:
    """Say what energies are of, and which differences count."""
    over = f", mean over {describe_stimuli(exploration.stimulus)}" if exploration.stimulus else ""
    return (
        f"energy: per frame in steady operation{over}, all terms whose figures the chip file has (≥: a proven lower "
        f"bound); on the fronts energies within {percent(exploration.energy_tolerance)} count as equal."
    )


def deadline_lines(deadline: Deadline) -> list[str]:
    """Say what accuracies are of, and which classes have none."""
    after = with_unit(deadline.seconds, "s")
    lines = [
        f"accuracy at deadline: part of {deadline.n_images} {deadline.part} images of {deadline.data} that the last "
        f"frame known {after} after stimulus onset names rightly by itself; no answer: the first response comes later."
    ]
    weights = ", ".join(f"{one.behaviour_class} {one.pattern} ({one.file or one.network})" for one in deadline.trained)
    lines.append(f"weights of class: {weights}.")
    if deadline.n_untrained == 0 or not deadline.untrained:
        return lines
    many = "other classes have" if deadline.n_untrained is None else _untrained_text(deadline.n_untrained)
    named = ", ".join(f"{number} ({text})" for number, text in deadline.untrained)
    more = "" if len(deadline.untrained) == deadline.n_untrained else ", among them"
    command = shlex.join(["neuromap", "train", "NET", "--pattern", deadline.untrained[0][1], "--for", "CHIP"])
    lines.append(f"{many} no trained weights and no rows here{more}: {named}; train one with {command} -o NEW.toml.")
    return lines


def _untrained_text(number: int) -> str:
    return "1 other class has" if number == 1 else f"{short_count(number)} other classes have"


def gap_line(exploration: Exploration) -> str:
    """Say what the fronts are worth, as a sentence."""
    text = exploration.gap.statement.strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def note_lines(exploration: Exploration, listing: Listing, limits: Limits | None = None) -> list[str]:
    """Lines below the tables: time axes, what columns mean, counts, what the fronts are worth."""
    rows = [row for _, row in listing.all]
    notes = [f"{name}: {axis}." for name, axis in time_axes(rows).items()]
    notes += mean_period_lines(row.frame_period_ticks for row in rows)
    if rows:
        notes.append(
            "First and full response from stimulus onset, worst-case reaction from the event, all predicted from the "
            "schedule, on the time axis of the row's execution."
        )
        notes += filter(None, [reaction_line(exploration, rows)])
        notes.append(
            "cores: in use (≥: a proven lower bound on those of any mapping; alone where the row was not mapped). "
            f"front: no row on the front{_whose(exploration)} is at least as good in {_axes(exploration)} and better "
            f"in one figure{_tolerance_text(exploration, rows)}."
        )
    if exploration.deadline is not None:
        notes += deadline_lines(exploration.deadline)
    if is_known(rows, ENERGY):
        notes.append(energy_line(exploration))
        if any(has_given_weights(row, ENERGY) for row in rows):
            notes.append(f"{GIVEN_WEIGHTS}: {GIVEN_WEIGHTS_NOTE}")
    elif rows:
        one = len(exploration.chips) == 1
        why = "the chip has no such figures" if one else "the chips have no figures of the same terms to compare"
        if ENERGY not in exploration.axes:
            why = "was not asked for"
        notes.append(f"energy: {why}; it is no part of the front.")
    if any(not row.full_response_exact for row in rows):
        notes.append("≤: the search for the longest path was cut off; an upper bound.")
    if not exploration.classes_are_of_network and any(row.needs_retraining for row in rows):
        notes.append(MET_CLASSES)
    for name, short in short_names(exploration, rows).items():
        notes.append(f"{short.split(' ')[0]} streams on {name}")
    if listing.n_outside and limits:
        notes.append(f"{rows_text(listing.n_outside)} outside the limits ({limits}) left out.")
    if listing.n_alike:
        notes.append(f"{rows_text(listing.n_alike)} with the figures of one above left out (--all shows them).")
    if listing.n_open:
        notes.append(f"{rows_text(listing.n_open)} that were not mapped left out (--all shows them).")
    if listing.n_off_front:
        notes.append(f"{rows_text(listing.n_off_front)} on no front left out (--all shows them).")
    for number, row in listing.all:
        if row.message:
            notes.append(f"#{number}: {row.message}")
    notes += [count_line(exploration), gap_line(exploration)]
    best = deadline_line(exploration, limits)
    return [*notes, best] if best else notes
