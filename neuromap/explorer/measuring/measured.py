"""What came of a candidate that was mapped and simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from neuromap.arrays.times import Time

__all__ = ["Measured"]


@dataclass(frozen=True)
class Measured:
    """What came of a candidate; figures are ``None`` where it does not fit.

    Attributes
    ----------
    status : {"mapped", "does not fit"}
        Whether it was mapped.
    message : str
        Why not, in one line.
    schedule : {"steps", "ticks"}
        Unit of the schedule that was mapped.
    frame_period_ticks, first_response_ticks, full_response_ticks, worst_case_reaction_ticks : int or None
        Of the schedule that was mapped; a frame period that is a ``Fraction`` is the mean of unequal intervals.
    full_response_exact : bool or None
        Else it is an upper bound.
    cores : int or None
        Cores in use.
    energy_joules : float or None
        Per frame, mean over the stimuli.
    energy_half_width_joules : float or None
        Half width of its 95 % confidence interval; ``None`` also for a single stimulus.
    verified : bool or None
        Chip against reference; ``None`` where it was not asked.
    cut_short : tuple of str
        Stages of the mapper whose search the exploration's time ended, where more of it may find fewer cores; and
        ``"energy"`` where it was measured with one stimulus only.
    """

    status: Literal["mapped", "does not fit"]
    message: str = ""
    schedule: Literal["steps", "ticks"] = "steps"
    frame_period_ticks: Time | None = None
    first_response_ticks: int | None = None
    full_response_ticks: int | None = None
    worst_case_reaction_ticks: int | None = None
    full_response_exact: bool | None = None
    cores: int | None = None
    energy_joules: float | None = None
    energy_half_width_joules: float | None = None
    verified: bool | None = None
    cut_short: tuple[str, ...] = ()
