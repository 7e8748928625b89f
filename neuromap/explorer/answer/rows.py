"""Rows of an exploration: a candidate, what it represents, and its figures."""

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
    execution : {"windowed", "pipelined", "pipelined:P", "pipelined:best"}
        The time axis.
    chip : str
        Name of the chip.
    splitters : {"slack", "anywhere", "never"}
        As in :class:`neuromap.mapping.options.options.MappingOptions`.
    ticks_per_step : int or None
        Ticks of an update step; ``None`` for as few as the delays need.
    wide : {"refuse", "partial-sums"}
        How nodes wider than a core are handled.
    wide_ticks : int or None
        Ticks of partial sums; ``None`` for all that they count.
    phases : {"least", "cheapest", "fastest"}
        When nodes are computed.
    spread : int or None
        Most cores on which the row is mapped for a short tick; ``None`` if it is mapped for few deliveries.
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
    """Times of a row if ticks last as long as their work: in steady operation, means over frames and stimuli."""

    first_response: float
    full_response: float
    worst_case_reaction: float
    frame_period: float


@dataclass(frozen=True)
class ExploredRow(Card):
    """One distinct schedule on one chip, with all its figures.

    Candidates with the same schedule (such as all patterns of a behaviour class, pipelined) are one row, mapped and
    simulated once.

    Attributes
    ----------
    candidate : Candidate
        The representative of the row: one with a named pattern, else the one with the most streaming edges.
    pattern : str
        Name of its pattern: "streaming", "sequential", one of the network's file, or its streaming edges.
    n_patterns : int
        Number of patterns whose candidates share the row.
    behaviour_class : int
        Number of the behaviour class (:mod:`neuromap.rollout.class_numbers`).
    needs_retraining : bool
        Whether the pattern computes another function than the given one, as its class differs.
    status : {"mapped", "does not fit", "not mapped", "excluded"}
        ``"excluded"``: not mapped, because a proven bound shows that it cannot be on a front. ``"not mapped"``: the
        search ended first.
    message : str
        Why it does not fit, in one line; else empty.
    schedule : {"steps", "ticks"}
        As in :class:`neuromap.report.figures.row.ReportRow`.
    frame_period_ticks : int or Fraction
        Ticks between two frames of a node; a fraction is the mean of unequal intervals. Predicted if the row is not
        mapped.
    first_response_ticks, full_response_ticks, worst_case_reaction_ticks : int
        Over all outputs: the least first response, the greatest full response, and the reaction to an event at the
        input answered last, of the output that answers it first.
    full_response_exact : bool
        Whether the full response is exact; else it is an upper bound.
    times_are_bounds : bool
        Whether the times are lower bounds: for rows that were not mapped, if splitters or the fastest phases may change
        the schedule.
    tick_seconds : float
        Length of the chip's ticks; if they last as long as their work, a lower bound over all mappings.
    is_timed : bool
        Whether ticks last as long as their work.
    seconds, bound_seconds : RowSeconds or None
        Such times: from the event simulation, and upper bounds from counts; ``None`` if the row was not mapped or ticks
        are of fixed length.
    cores : int or None
        Cores in use; ``None`` if not mapped.
    core_bound : int
        Proven lower bound on the cores of any mapping of the row.
    energy_joules : float or None
        Per frame in steady operation, over all terms for which the chip has figures, mean over the stimuli; ``None`` if
        not mapped or the chip has no figures.
    energy_half_width_joules : float or None
        Half width of the 95 % confidence interval of that mean; ``None`` also with a single stimulus.
    energy_bound : float or None
        Proven lower bound on energy per frame; ``None`` if the chip has no figures.
    verified : bool or None
        Whether chip and reference agree, for every mapped row whether on a front or not; ``None`` if not checked.
    proven : bool or None
        Whether its program is proven for every input; ``None`` if it was not verified, or its kind of core has no
        proof.
    accuracy_bound : float or None
        Upper bound on the accuracy at the deadline, as a fraction of the images; ``None`` without a deadline.
    accuracy_at_deadline : float or None
        Fraction of the images that the last frame known by the deadline classifies correctly, 0 if no frame is known;
        ``None`` if the row was not mapped, and without a deadline.
    frames_by_deadline : int or None
        Frames of the output known by the deadline; ``None`` if the row was not mapped, and without a deadline.
    on_front : bool
        No row on the front of all classes is at least as good in every objective and better in one; energies within
        the exploration's tolerance count as equal.
    on_class_front : bool
        The same among the rows of its own class; for classes other than the given one, only mapped rows are considered.
        With a deadline every row has the weights of its own class, and this equals ``on_front``.
    cut_short : tuple of str
        Mapper stages cut short by the exploration's time limit, where more time may find fewer cores; and ``"energy"``
        if it was measured with one stimulus only, or not at all.
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
        """First response in seconds; a lower bound if :attr:`seconds_are_bounds`."""
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
        """Whether times in seconds are lower bounds."""
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
