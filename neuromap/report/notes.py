"""Sentences under the tables of a report, in the terminal and on the page."""

from __future__ import annotations

from neuromap.forms.numbers import short_count
from neuromap.hardware.program.left_out import left_out_line
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.node_copies import copies_line
from neuromap.report.figures.row import ReportRow
from neuromap.rollout.schedule.reaction_note import reaction_note

__all__ = ["class_line", "difference_line", "left_out_lines", "most_copies_line", "reaction_line", "sequential_line"]

_LONGEST_NAMES = 60
"""Characters up to which a sentence names patterns."""


def difference_line(report: LatencyReport) -> str | None:
    """Say why measured responses may differ from predicted ones; ``None`` where none does in a verified row."""
    names = dict.fromkeys(row.pattern for row in report.rows if row.verified and _weights_tell(row))
    if not names:
        return None
    where = ", ".join(names)
    return (
        f"measured differs from predicted{f' ({where})' if len(where) <= _LONGEST_NAMES else ''}: a weight of zero is "
        "no synapse, so a measured first response is later where weights leave the shortest path closed, and a full "
        "one earlier where they close the longest."
    )


def _weights_tell(row: ReportRow) -> bool:
    """Whether an output's first response is measured later than predicted, or its full one earlier."""
    # Where the program has another frame period than the rollout its schedule was made anew, for splitters or sums in
    # parts, and that tells.
    return row.worst_case_reaction_ticks is not None and any(
        _above(o.measured.first_response_ticks, o.predicted.first_response_ticks)
        or (o.full_response_exact and _above(o.predicted.full_response_ticks, o.measured.full_response_ticks))
        for o in row.outputs.values()
    )


def _above(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and one > other


def reaction_line(report: LatencyReport) -> str | None:
    """Say which inputs the worst-case reactions are for; ``None`` where there is one input, or no such figure."""
    rows = [row for row in report.rows if row.worst_case_reaction_ticks is not None]
    return reaction_note((f"{row.pattern} ({row.execution})", row.rollout) for row in rows if row.rollout is not None)


def sequential_line(report: LatencyReport) -> str | None:
    """How many most sequential patterns there are; ``None`` where none is reported."""
    if report.most_sequential_proven is None:
        return None
    unproven = "" if report.most_sequential_proven else "; found by a heuristic, not proven to be most sequential"
    if report.most_sequential is None:
        return f"sequential: the most sequential patterns were not counted{unproven}."
    if report.most_sequential == 1:
        return f"sequential: the only most sequential pattern{unproven}."
    return f"sequential: the first of {short_count(report.most_sequential)} most sequential patterns{unproven}."


def class_line(report: LatencyReport) -> str:
    """Say which patterns are of which behaviour class, by its number; empty where no pattern is valid."""
    members: dict[int, dict[str, None]] = {}
    for row in report.rows:
        if row.behaviour_class is not None:
            members.setdefault(row.behaviour_class, {})[row.pattern] = None
    if not members:
        return ""
    classes = "; ".join(f"{number}: {', '.join(members[number])}" for number in sorted(members))
    met = "" if report.classes_are_of_network else " (classes without a named pattern numbered in the order of rows)"
    return f"behaviour classes, whose patterns compute the same function: {classes}{met}."


def most_copies_line(report: LatencyReport) -> str:
    """Say what copies are for, of the row with most neurons in use; empty where there are none."""
    mapped = [row for row in report.rows if row.usage is not None]
    most = max(mapped, key=lambda row: 0 if row.usage is None else row.usage.neurons, default=None)
    line = "" if most is None else copies_line(most.copies)
    return f"{most.pattern}, {most.execution}: {line}" if most is not None and line else ""


def left_out_lines(report: LatencyReport) -> list[str]:
    """Say which nodes are not mapped, as no output depends on them; every line once."""
    return list(dict.fromkeys(left_out_line(row.ports, row.left_out) for row in report.rows if row.left_out))
