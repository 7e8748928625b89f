"""Figures of rows: what is known of them, how they order rows, and which row is best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from neuromap.explorer.answer.objectives import ENERGY, OBJECTIVES, Objective
from neuromap.explorer.answer.rows import ExploredRow

__all__ = ["Value", "best_rows", "plainness", "row_order", "value_of"]


class Value(NamedTuple):
    """What is known of one figure of a row."""

    number: float | None  # the figure, or a bound that it cannot be better than; ``None`` where nothing is known
    is_exact: bool  # whether it is the figure itself


def value_of(row: ExploredRow, objective: Objective) -> Value:
    """Give a figure of a row, or its bound: of a row not mapped cores, energy, and times that splitters may change."""
    # gives ``None`` is exact for a mapped row whose chip has no such figures
    if row.status == "mapped" or objective.bound is None:
        return Value(getattr(row, objective.name), not row.times_are_bounds)
    return Value(getattr(row, objective.bound), False)


def row_order(row: ExploredRow, objective: Objective) -> tuple[float, ...]:
    """Make the key by which the best row comes first: the objective, then all others in their usual order."""
    key = []
    for part in (objective, *(other for other in OBJECTIVES if other != objective)):
        number = value_of(row, part).number
        # twelve digits: equal times of chips with different ticks are equal
        key.append(math.inf if number is None else float(f"{part.sign * number:.12g}"))
    return (*key, float(row.needs_retraining))


def best_rows(rows: Sequence[ExploredRow], objective: Objective, energy_tolerance: float = 0.0) -> list[ExploredRow]:
    """Find the best of the mapped rows, and those that are as good in the objective."""
    usable = [row for row in rows if row.status == "mapped" and row.verified is not False]
    known = [row for row in usable if value_of(row, objective).number is not None]
    if not known:
        return []
    order = {id(row): row_order(row, objective) for row in known}
    least = min(key[0] for key in order.values())
    most = least * (1 + energy_tolerance) if objective == ENERGY else least
    equal = [row for row in known if order[id(row)][0] <= most]
    return sorted(equal, key=lambda row: (*order[id(row)][1:], order[id(row)][0], plainness(row)))


def plainness(row: ExploredRow) -> tuple[bool, bool, bool, bool]:
    """Make the key by which, of rows with the same figures, the one that is easiest to name comes first."""
    candidate = row.candidate
    chosen = candidate.splitters != "slack", candidate.ticks_per_step is not None, candidate.wide_ticks is not None
    return *chosen, "->" in row.pattern
