"""The figures by which rows are compared, less is better in each."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from neuromap.explorer.answer.objectives import OBJECTIVES, Objective
from neuromap.explorer.search.measured import Measured

__all__ = ["N_FIGURES", "N_TIMES", "Figures", "compared", "figures_of", "nan_of"]


class Figures(NamedTuple):
    """Figures of a row, or proven bounds on them: one per objective, in the order of ``OBJECTIVES``, times first."""

    # first_response, full_response, worst_case_reaction, frame_period: seconds
    first_response: float
    full_response: float
    worst_case_reaction: float
    frame_period: float
    error: float  # part of the images that are not named rightly at the deadline; NaN without one
    cores: float  # cores in use
    energy: float  # joules per frame; NaN where the chip has no figures

    @property
    def times(self) -> tuple[float, ...]:
        """All but accuracy, cores and energy."""
        return self[:N_TIMES]


N_FIGURES = len(Figures._fields)
N_TIMES = sum(objective.bound is None for objective in OBJECTIVES)


def figures_of(measured: Measured, tick_seconds: float, accuracy: float | None = None) -> Figures:
    """Give the figures that came of a candidate; infinite where it does not fit."""
    if measured.status != "mapped":
        return Figures(*(math.inf,) * N_FIGURES)
    ticks = (
        measured.first_response_ticks,
        measured.full_response_ticks,
        measured.worst_case_reaction_ticks,
        measured.frame_period_ticks,
    )
    first, full, reaction, period = (math.nan if t is None else t * tick_seconds for t in ticks)
    cores = math.nan if measured.cores is None else float(measured.cores)
    error = math.nan if accuracy is None else 1 - accuracy
    return Figures(first, full, reaction, period, error, cores, nan_of(measured.energy_joules))


def compared(figures: Figures, objectives: Collection[Objective]) -> Figures:
    """Keep the figures that are compared; the others are not known (NaN), of any row."""
    if len(objectives) == N_FIGURES:
        return figures
    return Figures._make(
        figure if objective in objectives else math.nan for figure, objective in zip(figures, OBJECTIVES, strict=True)
    )


def nan_of(number: float | None) -> float:
    """Give NaN for a figure that a row does not have."""
    return math.nan if number is None else number
