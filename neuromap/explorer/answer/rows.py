"""Rows of an exploration: a candidate, what it stands for, and its figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from neuromap.arrays.times import Time
from neuromap.render.value import Card

RowStatus = Literal["mapped", "does not fit", "not mapped", "excluded"]


@dataclass(frozen=True)
class Candidate(Card):
    """One rollout with one mapping choice.

    Attributes
    ----------
    values : tuple of int
        R of every edge, in the order of the network's edges.
    execution : {"windowed", "pipelined"}
        The time axis.
    chip : str
        Name of the chip.
    splitters : {"slack", "anywhere", "never"}
        As in :class:`neuromap.mapping.options.options.MappingOptions`.
    ticks_per_step : int or None
        Ticks of an update step; ``None`` for as few as the delays need.
    wide : {"refuse", "partial-sums"}
        What becomes of nodes that are wider than a core.
    wide_ticks : int or None
        Ticks of partial sums; ``None`` for as many as they count.
    phases : {"least", "cheapest", "fastest"}
        When nodes are computed.
    spread : int or None
        Cores on which the row is mapped for a short tick, at most; ``None`` where it is mapped for few deliveries.
    """

    values: tuple[int, ...]
    execution: str
    chip: str
    splitters: str = "slack"
    ticks_per_step: int | None = None
    wide: str = "refuse"
    wide_ticks: int | None = None
    phases: str = "least"
    spread: int | None = None

    @property
    def choices(self) -> str:
        """The mapping choices besides the chip, in words: ``"slack, sums of 16 ticks"``."""
        words = [self.splitters]
        if self.ticks_per_step is not None:
            words.append(f"{self.ticks_per_step}")
        if self.wide != "refuse":
            words.append("whole sums" if self.wide_ticks is None else f"sums of {self.wide_ticks} ticks")
        if self.phases != "least":
            words.append(f"{self.phases} phases")
        if self.spread is not None:
            words.append(f"short ticks on {self.spread} cores")
        return ", ".join(words)


class RowSeconds(NamedTuple):
    """Times of a row where ticks last as long as their work: in steady operation, means over frames and stimuli."""

    first_response: float
    full_response: float
    worst_case_reaction: float
    frame_period: float


@dataclass(frozen=True)
class ExploredRow(Card):
    """One distinct schedule on one chip, with all its figures.

    Several candidates may have the same schedule (all patterns of a behaviour class do, pipelined): they are
    one row, mapped and simulated once.

    Attributes
    ----------
    candidate : Candidate
        The one that stands for all; of patterns with names one of those, else the one with most streaming edges.
    pattern : str
        Name of its pattern: "streaming", "sequential", one of the network's file, or its streaming edges.
    n_patterns : int
        Patterns whose candidates share the row.
    behaviour_class : int
        Number of the behaviour class (:mod:`neuromap.rollout.class_numbers`).
    needs_retraining : bool
        Whether the pattern computes another function than the given one: its class is another.
    status : {"mapped", "does not fit", "not mapped", "excluded"}
        ``"excluded"``: not mapped, because a proven bound shows that it cannot be on a front. ``"not mapped"``: the
        search ended before.
    message : str
        Why it does not fit, in one line; else empty.
    schedule : {"steps", "ticks"}
        As in :class:`neuromap.report.figures.row.ReportRow`.
    frame_period_ticks : int or Fraction
        Between two frames of one node, a fraction being the mean of unequal intervals; predicted where the row is not
        mapped.
    first_response_ticks, full_response_ticks, worst_case_reaction_ticks : int
        Over all outputs: the least first response, the greatest full response; to an event at the input that is
        answered last, the reaction of the output that answers it first.
    full_response_exact : bool
        Else the full response is an upper bound.
    times_are_bounds : bool
        Whether the times are only proven to be at least so long: of rows that were not mapped, where splitters or
        the fastest phases may change the schedule.
    tick_seconds : float
        Of the chip; where its ticks last as long as their work, what one takes at least in any mapping.
    is_timed : bool
        Whether ticks last as long as their work.
    seconds, bound_seconds : RowSeconds or None
        Such times: in the event simulation, and at most, by counts; ``None`` where the row was not mapped, and where
        ticks are of fixed length.
    cores : int or None
        Cores in use; ``None`` where it was not mapped.
    core_bound : int
        Proven least number of cores of any mapping of the row.
    energy_joules : float or None
        Per frame in steady operation, all terms whose figures the chip has, mean over the stimuli; ``None`` where it
        was not mapped or the chip has none.
    energy_half_width_joules : float or None
        Half width of the 95 % confidence interval of that mean; ``None`` also for a single stimulus.
    energy_bound : float or None
        Proven least energy per frame; ``None`` where the chip has no figures.
    verified : bool or None
        Chip against reference, of every mapped row whether on a front or not; ``None`` where it was not asked.
    proven : bool or None
        Whether its program is proven for every input; ``None`` where it was not verified, or its kind of core has no
        proof.
    accuracy_bound : float or None
        With a deadline: accuracy that the row has at most then, as a part of the images; ``None`` without.
    accuracy_at_deadline : float or None
        With a deadline: part of the images that the last frame known by then names rightly, 0 where none is; ``None``
        where the row was not mapped, and without a deadline.
    frames_by_deadline : int or None
        With a deadline: frames of the output that are known by then; ``None`` where the row was not mapped.
    on_front : bool
        No row on the front of all classes is at least as good in every objective and better in one; energies within
        the exploration's tolerance count as equal.
    on_class_front : bool
        The same among the rows of its own class; of other classes than the given one, only rows that were mapped are
        looked at. With a deadline every row has weights of its own class, and this is ``on_front``.
    cut_short : tuple of str
        Stages of the mapper whose search ended with the exploration's time, where more of it may find fewer cores; and
        ``"energy"`` where it was measured with one stimulus only.
    """

    candidate: Candidate
    pattern: str
    n_patterns: int
    behaviour_class: int
    needs_retraining: bool
    status: RowStatus
    frame_period_ticks: Time
    first_response_ticks: int
    full_response_ticks: int
    worst_case_reaction_ticks: int
    full_response_exact: bool
    tick_seconds: float
    core_bound: int
    energy_bound: float | None
    cores: int | None = None
    energy_joules: float | None = None
    energy_half_width_joules: float | None = None
    message: str = ""
    times_are_bounds: bool = False
    schedule: Literal["steps", "ticks"] = "steps"
    verified: bool | None = None
    proven: bool | None = None
    accuracy_bound: float | None = None
    accuracy_at_deadline: float | None = None
    frames_by_deadline: int | None = None
    is_timed: bool = False
    seconds: RowSeconds | None = None
    bound_seconds: RowSeconds | None = None
    on_front: bool = False
    on_class_front: bool = False
    cut_short: tuple[str, ...] = ()

    @property
    def first_response_seconds(self) -> float:
        """First response in seconds; of a row whose ticks are timed and were not, what it is at least."""
        return self._seconds.first_response

    @property
    def full_response_seconds(self) -> float:
        """Full response in seconds."""
        return self._seconds.full_response

    @property
    def worst_case_reaction_seconds(self) -> float:
        """Worst-case reaction in seconds."""
        return self._seconds.worst_case_reaction

    @property
    def sampling_frequency_hz(self) -> float:
        """Input frames per second."""
        return 1.0 / self._seconds.frame_period

    @property
    def seconds_are_bounds(self) -> bool:
        """Whether times in seconds are only proven to be at least so long."""
        return self.times_are_bounds or (self.is_timed and self.seconds is None)

    @property
    def _seconds(self) -> RowSeconds:
        if self.seconds is not None:
            return self.seconds
        ticks = (
            self.first_response_ticks,
            self.full_response_ticks,
            self.worst_case_reaction_ticks,
            self.frame_period_ticks,
        )
        return RowSeconds(*(count * self.tick_seconds for count in ticks))
