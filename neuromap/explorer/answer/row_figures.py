"""Figures of rows: what is known of them, how they order rows, and which row is best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from neuromap.explorer.answer.objectives import ENERGY, OBJECTIVES, Objective
from neuromap.explorer.answer.rows import ExploredRow

__all__ = ["Value", "best_rows", "plainness", "row_order", "value_of"]


class Value(NamedTuple):
    """What is known of one figure of a row.

    Attributes
    ----------
    number : float or None
        The figure, or a bound that it cannot be better than; ``None`` where nothing is known.
    is_exact : bool
        Whether it is the figure itself.
    """

    number: float | None
    is_exact: bool


def value_of(row: ExploredRow, objective: Objective) -> Value:
    """Give a figure of a row, or its bound: of a row not mapped cores, energy, and times that splitters may change.

    Parameters
    ----------
    row : ExploredRow
        The row.
    objective : Objective
        Which figure.

    Returns
    -------
    Value
        ``None`` is exact for a mapped row whose chip has no such figures.
    """
    if row.status == "mapped" or objective.bound is None:
        return Value(getattr(row, objective.name), not row.times_are_bounds)
    return Value(getattr(row, objective.bound), False)


def row_order(row: ExploredRow, objective: Objective) -> tuple[float, ...]:
    """Make the key by which the best row comes first: the objective, then all others in their usual order.

    Parameters
    ----------
    row : ExploredRow
        A row.
    objective : Objective
        What matters most.

    Returns
    -------
    tuple of float
        Less is better; a figure that is not known is infinite. Rows that need no retraining come first among equals.
    """
    key = []
    for part in (objective, *(other for other in OBJECTIVES if other != objective)):
        number = value_of(row, part).number
        # twelve digits: equal times of chips with different ticks are equal
        key.append(math.inf if number is None else float(f"{part.sign * number:.12g}"))
    return (*key, float(row.needs_retraining))


def best_rows(rows: Sequence[ExploredRow], objective: Objective, energy_tolerance: float = 0.0) -> list[ExploredRow]:
    """Find the best of the mapped rows, and those that are as good in the objective.

    Parameters
    ----------
    rows : sequence of ExploredRow
        Rows; those that were not mapped, or whose chip does not compute what the rollout defines, are left out.
    objective : Objective
        What is best; among equals the other objectives decide, so it is on the Pareto front of ``rows``; then patterns
        with names and plain mapping choices come first.
    energy_tolerance : float
        Part of the least energy by which others may be greater and count as equal, as on the fronts.

    Returns
    -------
    list of ExploredRow
        The best first; empty where none is left, or the objective is known of none.
    """
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
