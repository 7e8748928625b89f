"""The rows of a result: all that were mapped, with their fronts, and some that were not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from neuromap.explorer.answer.rows import ExploredRow
from neuromap.explorer.search.figures import N_FIGURES, compared
from neuromap.explorer.search.front import front_of
from neuromap.explorer.search.open_rows import OpenRows

__all__ = ["MOST_ROWS", "listed_rows"]

MOST_ROWS = 300
"""Rows that were not mapped and are listed, at most."""


def listed_rows(ended: OpenRows) -> tuple[ExploredRow, ...]:
    """Make the rows of the result: all that were mapped or refused, and some that were not."""
    return tuple(sorted([*_found_rows(ended), *ended.others(MOST_ROWS)], key=_order))


def _found_rows(ended: OpenRows) -> list[ExploredRow]:
    """Describe the rows that were mapped or refused, with their places on the fronts."""
    rows = [
        replace(ended.all_rows.describe(place, found.measured), core_bound=ended.bound_of(place))
        for place, found in ended.found.items()
    ]
    mapped = [k for k, row in enumerate(rows) if row.status == "mapped"]
    of_mapped = [found.figures for found in ended.found.values() if found.measured.status == "mapped"]
    seen = [compared(one, ended.objectives) for one in of_mapped]
    figures = np.array(seen, np.float64).reshape(-1, N_FIGURES)
    classes = np.array([rows[k].behaviour_class for k in mapped], np.int64)
    of_all = front_of(figures, ended.tolerance)
    of_class = np.zeros(len(mapped), np.bool_)
    for number in np.unique(classes):
        of_class[classes == number] = front_of(figures[classes == number], ended.tolerance)
    if ended.all_rows.accuracy is not None:  # each class has weights of its own, so all can be used as they are
        of_class = of_all
    for k, on_front, on_class_front in zip(mapped, of_all.tolist(), of_class.tolist(), strict=True):
        rows[k] = replace(rows[k], on_front=on_front, on_class_front=on_class_front)
    return rows


def _order(row: ExploredRow) -> tuple[Any, ...]:
    return (
        not row.on_front,
        not (row.on_class_front and not row.needs_retraining),
        ("mapped", "does not fit", "not mapped", "excluded").index(row.status),
        row.first_response_seconds,
        row.frame_period_ticks * row.tick_seconds,
        row.core_bound if row.cores is None else row.cores,
        row.behaviour_class,
        row.candidate.values,
        row.candidate.execution,
        row.candidate.chip,
        row.candidate.splitters,
        row.candidate.ticks_per_step or 0,
        row.candidate.wide,
        row.candidate.wide_ticks or 0,
    )
