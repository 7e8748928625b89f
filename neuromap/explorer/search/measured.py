"""Figures by which rows are compared; less is better in each."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, NamedTuple

from neuromap.arrays.times import Time
from neuromap.explorer.answer.objectives import OBJECTIVES, Objective
from neuromap.explorer.answer.rows import RowSeconds
from neuromap.hardware.chip.chip_spec import ChipSpec


class Figures(NamedTuple):
    """Figures of a row, or proven bounds on them: one per objective, in the order of ``OBJECTIVES``, times first."""

    # first_response, full_response, worst_case_reaction, frame_period: seconds
    first_response: float
    full_response: float
    worst_case_reaction: float
    frame_period: float
    error: float  # fraction of the images classified wrongly at the deadline; NaN without a deadline
    cores: float  # cores in use
    energy: float  # joules per frame; NaN if the chip has no figures

    @property
    def times(self) -> tuple[float, ...]:
        """All but accuracy, cores and energy."""
        return self[:N_TIMES]


N_FIGURES = len(Figures._fields)
N_TIMES = sum(objective.bound is None for objective in OBJECTIVES)


def figures_of(measured: Measured, tick_seconds: float, accuracy: float | None = None) -> Figures:
    """Figures of a measured candidate; infinite if it does not fit."""
    if measured.status != "mapped":
        return Figures(*(math.inf,) * N_FIGURES)
    cores = math.nan if measured.cores is None else float(measured.cores)
    error = math.nan if accuracy is None else 1 - accuracy
    return Figures(*times_of(measured, tick_seconds), error, cores, nan_of(measured.energy_joules))


def times_of(measured: Measured, tick_seconds: float) -> RowSeconds:
    """Return the times of a mapped candidate: as measured, else from ticks of fixed length (NaN if they have none)."""
    ticks = (
        measured.first_response_ticks,
        measured.full_response_ticks,
        measured.worst_case_reaction_ticks,
        measured.frame_period_ticks,
    )
    return measured.seconds or RowSeconds(*(math.nan if t is None else t * tick_seconds for t in ticks))


def fixed_tick(chip: ChipSpec) -> float:
    """Length of a chip's ticks; NaN if they last as long as their work."""
    return math.nan if chip.is_timed else chip.tick_seconds


TIMED_DIGITS = 6
"""Digits of seconds compared if ticks last as long as their work: equal ones differ by 0.001 % at most."""


def compared(figures: Figures, objectives: Collection[Objective], *, is_timed: bool = False) -> Figures:
    """Keep the figures that are compared, times to fewer digits if measured; others become NaN in every row."""
    # Rounding keeps the order, so rounded bounds bound rounded times. With a tolerance on all four, as energy has one,
    # each of three rows could dominate the next.
    if is_timed:
        rounded = (float(f"{seconds:.{TIMED_DIGITS}g}") for seconds in figures.times)
        figures = Figures._make((*rounded, *figures[N_TIMES:]))
    if len(objectives) == N_FIGURES:
        return figures
    return Figures._make(
        figure if objective in objectives else math.nan for figure, objective in zip(figures, OBJECTIVES, strict=True)
    )


def nan_of(number: float | None) -> float:
    """Replace a missing figure by NaN."""
    return math.nan if number is None else number


# Result of a candidate that was mapped and simulated.


@dataclass(frozen=True)
class Measured:
    """Result of a candidate; figures are ``None`` if it does not fit."""

    status: Literal["mapped", "does not fit"]  # whether it was mapped
    message: str = ""  # why not, in one line
    schedule: Literal["steps", "ticks"] = "steps"  # unit of the schedule that was mapped
    # frame_period_ticks, first_response_ticks, full_response_ticks, worst_case_reaction_ticks: of the schedule that was
    # mapped; a frame period that is a ``Fraction`` is the mean of unequal intervals
    frame_period_ticks: Time | None = None
    first_response_ticks: int | None = None
    full_response_ticks: int | None = None
    worst_case_reaction_ticks: int | None = None
    full_response_exact: bool | None = None  # else it is an upper bound
    cores: int | None = None  # cores in use
    energy_joules: float | None = None  # per frame, mean over the stimuli
    # half width of its 95 % confidence interval; ``None`` also with a single stimulus
    energy_half_width_joules: float | None = None
    verified: bool | None = None  # chip against reference; ``None`` if not asked for
    proven: bool | None = None  # for every input; ``None`` if not verified
    # seconds, bound_seconds: the same times if ticks last as long as their work, from the event simulation and at most
    seconds: RowSeconds | None = None
    bound_seconds: RowSeconds | None = None
    # mapper stages cut short by the exploration's time limit, where more time may find fewer cores; and ``"energy"`` if
    # it was measured with one stimulus only, or not at all
    cut_short: tuple[str, ...] = ()
