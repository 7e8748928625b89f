"""What came of a candidate that was mapped and simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuromap.arrays.times import Time

__all__ = ["Measured"]


@dataclass(frozen=True)
class Measured:
    """What came of a candidate; figures are ``None`` where it does not fit."""

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
    # half width of its 95 % confidence interval; ``None`` also for a single stimulus
    energy_half_width_joules: float | None = None
    verified: bool | None = None  # chip against reference; ``None`` where it was not asked
    # stages of the mapper whose search the exploration's time ended, where more of it may find fewer cores; and
    # ``"energy"`` where it was measured with one stimulus only
    cut_short: tuple[str, ...] = ()
