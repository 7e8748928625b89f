"""Rows of an exploration, objectives, limits on them, and the best row within these."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal, NamedTuple

from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.files.argument_checks import real_number
from neuromap.files.messages import did_you_mean
from neuromap.options import Option, option
from neuromap.render.quantities import parse_quantity, scale_for
from neuromap.render.value import Card

RowStatus = Literal["mapped", "does not fit", "not mapped", "excluded"]
# Mapping choices of a candidate that are mapper options of the same names.
CHOICES = ("splitters", "ticks_per_step", "wide", "wide_ticks", "phases")


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


# The same times in ticks, as rows have them.
IN_TICKS = tuple(f"{name}_ticks" for name in RowSeconds._fields)


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
        return RowSeconds(*(getattr(self, name) * self.tick_seconds for name in IN_TICKS))


class Objective(NamedTuple):
    """One axis of the front."""

    name: str  # attribute of :class:`neuromap.explorer.answer.limits.ExploredRow`
    title: str  # name shown to people
    unit: str  # unit of the value, with its time axis if it has one
    base_unit: str  # unit of the number alone
    sign: int  # +1 if less is better, -1 if more is
    # attribute of the row with the proven bound that replaces the figure until the row is mapped; ``None`` for times,
    # whose own attribute holds the bound until then
    bound: str | None = None


OBJECTIVES: tuple[Objective, ...] = (
    Objective("first_response_seconds", "first response", "s from stimulus onset", "s", 1),
    Objective("full_response_seconds", "full response", "s from stimulus onset", "s", 1),
    Objective("worst_case_reaction_seconds", "worst-case reaction", "s from the event", "s", 1),
    Objective("sampling_frequency_hz", "sampling frequency", "input frames per second", "Hz", -1),
    Objective(
        "accuracy_at_deadline",
        "accuracy at deadline",
        "part of the images that the last frame known at the deadline names rightly",
        "part",
        -1,
        "accuracy_bound",
    ),
    Objective("cores", "cores", "cores", "cores", 1, "core_bound"),
    Objective("energy_joules", "energy", "J per frame", "J", 1, "energy_bound"),
)
"""Times first, in the order of :class:`neuromap.explorer.search.measurements.Figures`.

Accuracy is known only with a deadline.
"""

FIRST, SAMPLING = OBJECTIVES[0], OBJECTIVES[3]
ACCURACY, CORES, ENERGY = OBJECTIVES[4:]


def objective_named(text: str, option: str = "objective") -> Objective:
    """Find an objective by its title, with blanks or dashes between the words."""
    words = " ".join(text.replace("-", " ").lower().split())
    for objective in OBJECTIVES:
        if words in (objective.title.replace("-", " "), objective.name.replace("_", " ")):
            return objective
    names = [objective.title.replace(" ", "-") for objective in OBJECTIVES]
    raise InputError(f"{option} {text[:40]}: is not known; choose one of {', '.join(names)}{did_you_mean(text, names)}")


_TOLERANCE = 1e-9
"""Relative: 9 ticks of 1 ms are 9.000000000000001 ms in floating point, and count as within 9 ms."""
_LONGEST = 200
_ENOUGH = re.compile(r"\s*([A-Za-z][A-Za-z -]*?)\s*(<=|>=|≤|≥)\s*(.+?)\s*")


def _read_bound(said: Option, words: str) -> float:
    """Read a bound from the command line."""
    objective = next(objective for objective in OBJECTIVES if objective.name == said.name)
    return parse_bound(words, objective, said.flag)


@dataclass(frozen=True)
class Limits(Card):
    """Bounds that a row must keep; ``None`` where there is none.

    Attributes
    ----------
    first_response_seconds, full_response_seconds, worst_case_reaction_seconds : float or None
        At most, in seconds.
    sampling_frequency_hz : float or None
        At least, input frames per second.
    accuracy_at_deadline : float or None
        At least, as a part of the images, above 0 to 1; no row keeps it where there is no deadline.
    cores : int or None
        At most.
    energy_joules : float or None
        At most, per frame.

    Raises
    ------
    InputError
        If a bound is not above 0 and finite, or the number of cores is not whole.

    Examples
    --------
    >>> limits = Limits.parse("cores <= 200, full response <= 5 ms")
    >>> limits.cores, limits.full_response_seconds
    (200, 0.005)
    >>> str(limits)
    'full response <= 5 ms, cores <= 200'
    """

    _group: ClassVar = "limits"
    first_response_seconds: float | None = option(
        "--max-first-response TIME  First response, at most, such as 5ms.", reads=_read_bound
    )
    full_response_seconds: float | None = option("--max-full-response TIME  Full response, at most.", reads=_read_bound)
    worst_case_reaction_seconds: float | None = option(
        "--max-reaction TIME  Worst-case reaction, at most.", reads=_read_bound
    )
    sampling_frequency_hz: float | None = option(
        "--min-sampling-frequency FREQUENCY  Sampling frequency, at least, such as 300Hz.", reads=_read_bound
    )
    accuracy_at_deadline: float | None = option(
        "--min-accuracy PART  With --deadline: accuracy then, at least, such as 90%.", reads=_read_bound
    )
    cores: int | None = option("--max-cores N  Cores, at most.", reads=_read_bound)
    energy_joules: float | None = option(
        "--max-energy ENERGY  Energy per frame, at most, such as 100uJ.", reads=_read_bound
    )

    def __post_init__(self) -> None:
        for objective, bound in self:
            real_number(f"limit on {objective.title}", bound)
            if not 0 < bound < math.inf:
                raise InputError(f"limit on {objective.title} = {bound}: must be above 0, and finite")
        if self.cores is not None and self.cores != int(self.cores):
            raise InputError(f"limit on cores = {self.cores}: must be a whole number")
        if self.accuracy_at_deadline is not None and self.accuracy_at_deadline > 1:
            raise InputError(
                f"limit on accuracy at deadline = {self.accuracy_at_deadline}: must be at most 1, or 100 %"
            )

    @classmethod
    def parse(cls, text: str) -> Limits:
        """Read limits from a text.

        Parameters
        ----------
        text : str
            Such as ``"cores <= 200, full response <= 5 ms, sampling frequency >= 300 Hz"``; may be empty.

        Returns
        -------
        Limits
            With the bounds of the text.

        Raises
        ------
        InputError
            If a part is not a limit, has the wrong direction, is given twice, or has a wrong number or unit.
        """
        bounds: dict[str, float | int] = {}
        for part in text.split(","):
            if not part.strip():
                continue
            # matching a part longer than any limit would take very long
            found = _ENOUGH.fullmatch(part) if len(part) <= _LONGEST else None
            if found is None:
                raise InputError(f"limit {part.strip()[:60]!r}: is none; write it like 'full response <= 5 ms'")
            objective = objective_named(found[1], "limit on")
            wanted = "<=" if objective.sign > 0 else ">="
            if found[2].replace("≤", "<=").replace("≥", ">=") != wanted:
                raise InputError(f"limit {part.strip()[:60]!r}: {objective.title} is limited by {wanted}")
            if objective.name in bounds:
                raise InputError(f"limit on {objective.title}: is given twice; leave one of them away")
            bounds[objective.name] = parse_bound(found[3], objective, f"limit {objective.title} {wanted}")
        return cls(**bounds)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[tuple[Objective, float]]:
        """Yield every objective that has a bound, with its bound."""
        for objective in OBJECTIVES:
            bound = getattr(self, objective.name)
            if bound is not None:
                yield objective, bound

    def __bool__(self) -> bool:
        return any(getattr(self, f.name) is not None for f in fields(self))

    def __str__(self) -> str:
        return ", ".join(bound_text(objective, bound) for objective, bound in self)

    def excess(self, row: ExploredRow) -> list[tuple[float, Objective]]:
        """Compute the factor by which a row misses each limit, as far as known.

        Parameters
        ----------
        row : ExploredRow
            A row; cores and energy of a row that was not mapped are taken at their bounds.

        Returns
        -------
        list of (float, Objective)
            One per limit: above 1 if it is missed, infinite if the chip has no such figure.
        """
        found = []
        for objective, bound in self:
            number, factor = value_of(row, objective).number, math.inf  # also of an accuracy of 0
            if number is not None and objective.sign > 0:
                factor = number / bound
            elif number:
                factor = bound / number
            found.append((factor, objective))
        return found

    def allows(self, row: ExploredRow) -> bool:
        """Whether a row keeps all limits, or might once it is mapped.

        Parameters
        ----------
        row : ExploredRow
            A row; inexact figures of a row that was not mapped are taken at their bounds.

        Returns
        -------
        bool
            False for a row that does not fit the chip, whatever the limits.
        """
        return row.status != "does not fit" and all(f <= 1 + _TOLERANCE for f, _ in self.excess(row))

    def best(self, rows: Iterable[ExploredRow], objective: Objective) -> ExploredRow | None:
        """Find the best mapped row within the limits; see :func:`neuromap.explorer.answer.limits.best_rows`.

        Parameters
        ----------
        rows : iterable of ExploredRow
            Rows.
        objective : Objective
            The objective to optimise; among equals the others decide.

        Returns
        -------
        ExploredRow or None
            ``None`` if no mapped row keeps the limits.
        """
        return next(iter(best_rows([row for row in rows if self.allows(row)], objective)), None)

    def closest(self, rows: Iterable[ExploredRow]) -> tuple[ExploredRow, Objective] | None:
        """Find the row that comes closest to the limits if none keeps them.

        Parameters
        ----------
        rows : iterable of ExploredRow
            Rows; those that do not fit are left out, and among equals mapped ones come first, then named patterns.

        Returns
        -------
        (ExploredRow, Objective) or None
            The row whose worst excess is least, and the limit it misses most; ``None`` without rows or limits.
        """
        fitting = [row for row in rows if row.status != "does not fit" and row.verified is not False]
        if not fitting or not self:
            return None
        row = min(fitting, key=self._distance)
        return row, max(self.excess(row), key=lambda pair: pair[0])[1]

    def _distance(self, row: ExploredRow) -> tuple[float, bool, bool]:
        """Distance of a row from the limits, then the tie breakers: lists of streaming edges come last."""
        return max(excess for excess, _ in self.excess(row)), row.status != "mapped", "->" in row.pattern


class ClosestRow:
    """Limits that remember, of all rows they refused, the one that came closest."""

    # A search that drops rows beyond the limits at once gets this class's ``allows``, so that one can tell afterwards
    # how far off it was.
    # limits: limits on rows

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._refused: ExploredRow | None = None

    def allows(self, row: ExploredRow) -> bool:
        """As :meth:`Limits.allows`."""
        if self._limits.allows(row):
            return True
        found = self._limits.closest([row] if self._refused is None else [self._refused, row])
        self._refused = self._refused if found is None else found[0]
        return False

    @property
    def refused(self) -> tuple[ExploredRow, ...]:
        """The closest of the refused rows, as a tuple of one; empty if none was refused."""
        return () if self._refused is None else (self._refused,)


def parse_bound(text: str, objective: Objective, name: str) -> float | int:
    """Read the bound of one objective."""
    unit = objective.base_unit
    if unit != "cores":
        return parse_quantity(text, unit, name)
    digits = re.sub(r"\s*cores?$", "", text.strip())
    if not re.fullmatch(r"[0-9]{1,12}", digits, re.ASCII) or int(digits) == 0:
        raise InputError(f"{name} {text[:40]}: must be a whole number of cores, 1 to {10**12 - 1}")
    return int(digits)


def bound_text(objective: Objective, bound: float) -> str:
    """Write one limit as :meth:`Limits.parse` reads it."""
    unit = objective.base_unit
    scale, name = (1.0, "") if unit == "cores" else scale_for(bound, unit)
    return f"{objective.title} {'<=' if objective.sign > 0 else '>='} {bound / scale:.12g} {name}".rstrip()


# Figures of rows: their known values, the order of rows, and the best row.


class Value(NamedTuple):
    """Known value of one figure of a row."""

    number: float | None  # the figure, or a bound that it cannot beat; ``None`` if nothing is known
    is_exact: bool  # whether it is the figure itself


def value_of(row: ExploredRow, objective: Objective) -> Value:
    """Figure of a row, or its bound: for unmapped rows, that of cores, energy and times that are not known yet."""
    # for a mapped row whose chip has no such figures, ``None`` is exact
    if objective.bound is None:
        return Value(getattr(row, objective.name), not row.seconds_are_bounds)
    if row.status == "mapped":
        return Value(getattr(row, objective.name), True)
    return Value(getattr(row, objective.bound), False)


def row_order(row: ExploredRow, objective: Objective) -> tuple[float, ...]:
    """Sort key, best row first: the objective, then all others in their usual order."""
    key = []
    for part in (objective, *(other for other in OBJECTIVES if other != objective)):
        number = value_of(row, part).number
        # twelve digits, so that equal times of chips with different ticks compare equal
        key.append(math.inf if number is None else float(f"{part.sign * number:.12g}"))
    return (*key, float(row.needs_retraining))


def best_rows(rows: Sequence[ExploredRow], objective: Objective, energy_tolerance: float = 0.0) -> list[ExploredRow]:
    """Find the best of the mapped rows, and those that are as good in the objective, best first."""
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
    """Sort key for rows with equal figures: the one that is easiest to name comes first."""
    candidate = row.candidate
    chosen = candidate.splitters != "slack", candidate.ticks_per_step is not None, candidate.wide_ticks is not None
    return *chosen, "->" in row.pattern
