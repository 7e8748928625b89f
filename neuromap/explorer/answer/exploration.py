"""``Exploration``: what was found about the rollouts of a network, as rows and fronts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from neuromap.forms.formed import Formed, form
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.rollout.patterns.pattern import RolloutPattern

__all__ = ["OBJECTIVES", "Candidate", "Exploration", "ExploredRow", "Gap", "Objective", "RowStatus"]

RowStatus = Literal["mapped", "does not fit", "not mapped", "excluded"]


class Objective(NamedTuple):
    """One axis of the front.

    Attributes
    ----------
    name : str
        Attribute of :class:`ExploredRow`.
    title : str
        What people read.
    unit : str
        Unit of the value, with its time axis where it has one.
    sign : int
        +1 where less is better, -1 where more is.
    """

    name: str
    title: str
    unit: str
    sign: int


OBJECTIVES: tuple[Objective, ...] = (
    Objective("first_response_seconds", "first response", "s from stimulus onset", 1),
    Objective("full_response_seconds", "full response", "s from stimulus onset", 1),
    Objective("worst_case_reaction_seconds", "worst-case reaction", "s from the event", 1),
    Objective("sampling_frequency_hz", "sampling frequency", "input frames per second", -1),
    Objective("cores", "cores", "cores", 1),
    Objective("energy_joules", "energy", "J per frame", 1),
)


@dataclass(frozen=True)
class Candidate:
    """One rollout with one way to map it.

    Attributes
    ----------
    values : tuple of int
        R of every edge, in the order of the network's edges.
    execution : {"windowed", "pipelined"}
        The time axis.
    chip : str
        Name of the chip.
    splitters : {"slack", "anywhere", "never"}
        As in :class:`neuromap.mapping.asked.options.MappingOptions`.
    ticks_per_step : int or None
        Ticks of an update step; ``None`` for as few as the delays need.
    """

    values: tuple[int, ...]
    execution: str
    chip: str
    splitters: str = "slack"
    ticks_per_step: int | None = None


@dataclass(frozen=True)
class ExploredRow:
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
        Number of the behaviour class; 0 is that of the given pattern.
    status : {"mapped", "does not fit", "not mapped", "excluded"}
        ``"excluded"``: not mapped, because a proven bound shows that it cannot be on a front. ``"not mapped"``: the
        search ended before.
    message : str
        Why it does not fit, in one line; else empty.
    schedule : {"steps", "ticks"}
        As in :class:`neuromap.report.figures.row.ReportRow`.
    frame_period_ticks : int
        Between two frames of one node; predicted where the row is not mapped.
    first_response_ticks, full_response_ticks, worst_case_reaction_ticks : int
        Over all outputs: the least first response, the greatest full response, the least reaction.
    full_response_exact : bool
        Else the full response is an upper bound.
    times_are_bounds : bool
        Whether the times are only proven to be at least so long: of rows that were not mapped, where splitters may
        change the schedule.
    tick_seconds : float
        Of the chip.
    cores : int or None
        Cores in use; ``None`` where it was not mapped.
    core_bound : int
        Proven least number of cores of any mapping of the row.
    energy_joules : float or None
        Per frame, all terms whose figures the chip has; ``None`` where it was not mapped or the chip has none.
    energy_bound : float or None
        Proven least energy per frame; ``None`` where the chip has no figures.
    verified : bool or None
        Chip against reference, of every mapped row whether on a front or not; ``None`` where it was not asked.
    on_front : bool
        No other row of any class is at least as good in every objective and better in one.
    on_class_front : bool
        The same among the rows of its own class.
    """

    candidate: Candidate
    pattern: str
    n_patterns: int
    behaviour_class: int
    status: RowStatus
    frame_period_ticks: int
    first_response_ticks: int
    full_response_ticks: int
    worst_case_reaction_ticks: int
    full_response_exact: bool
    tick_seconds: float
    core_bound: int
    energy_bound: float | None
    cores: int | None = None
    energy_joules: float | None = None
    message: str = ""
    times_are_bounds: bool = False
    schedule: Literal["steps", "ticks"] = "steps"
    verified: bool | None = None
    on_front: bool = False
    on_class_front: bool = False

    @property
    def first_response_seconds(self) -> float:
        """First response in seconds."""
        return self.first_response_ticks * self.tick_seconds

    @property
    def full_response_seconds(self) -> float:
        """Full response in seconds."""
        return self.full_response_ticks * self.tick_seconds

    @property
    def worst_case_reaction_seconds(self) -> float:
        """Worst-case reaction in seconds."""
        return self.worst_case_reaction_ticks * self.tick_seconds

    @property
    def sampling_frequency_hz(self) -> float:
        """Input frames per second."""
        return 1.0 / (self.frame_period_ticks * self.tick_seconds)

    @property
    def needs_retraining(self) -> bool:
        """Whether the pattern computes another function than the given one."""
        return self.behaviour_class != 0


@dataclass(frozen=True)
class Gap:
    """How far the fronts may be from the best that any mapping of any candidate could reach.

    Times are exact; cores and energy of rows that were not mapped are known by proven bounds only.

    Attributes
    ----------
    is_exact : bool
        Whether every row that could be on a front was mapped: then the front is that of all candidates.
    open_rows : int
        Rows that might still be on the front and were not mapped.
    cores_factor : float
        An upper bound on the least factor f such that for every open row there is a mapped one at least as good in
        every time objective with at most f times the cores that any mapping of the open row needs: these are known
        by proven bounds only, of groups of rows with the same times and on any of the chips. 1.0 where the front is
        exact, infinite where no mapped row is as good in time.
    least_cores, core_bound : int or None
        Fewest cores found, and the proven bound on those of every candidate.
    statement : str
        The same as a sentence.
    """

    is_exact: bool
    open_rows: int
    cores_factor: float
    least_cores: int | None
    core_bound: int
    statement: str


@dataclass(frozen=True, eq=False)
class Exploration(Formed):
    """Rows of an exploration, with what they hold for.

    Attributes
    ----------
    network : Network
        The network.
    given : RolloutPattern
        The pattern that its weights are for; class 0 is its behaviour class.
    chips : tuple of ChipSpec
        Chips that were tried.
    rows : tuple of ExploredRow
        Every distinct schedule that was mapped, and those open ones that might be on a front (at most a few hundred);
        rows of the front first, then by first response, period and cores.
    n_valid_patterns : int or None
        Valid patterns of the network; ``None`` where they were not counted.
    n_classes : int or None
        Their behaviour classes.
    n_candidates : int
        Candidates that the times were computed of.
    n_rows : int
        Distinct rows among them.
    n_mapped : int
        Rows that were mapped (or refused) in this exploration or taken from the file of results.
    gap : Gap
        What the fronts are worth.
    stimulus : mapping
        As in a latency report.
    """

    _called = "an exploration"

    network: Network
    given: RolloutPattern
    chips: tuple[ChipSpec, ...]
    rows: tuple[ExploredRow, ...]
    n_valid_patterns: int | None
    n_classes: int | None
    n_candidates: int
    n_rows: int
    n_mapped: int
    gap: Gap
    stimulus: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "stimulus", MappingProxyType(dict(self.stimulus)))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; see :func:`neuromap.explorer.forms.json_form.to_dict`."""
        return dict(form(self, "dict"))

    def to_json(self) -> str:
        """JSON text that follows the published schema; see :func:`neuromap.explorer.forms.json_form.to_json`."""
        return str(form(self, "json"))

    def to_csv(self) -> str:
        """CSV text, one line per row; see :func:`neuromap.explorer.forms.csv_form.to_csv`."""
        return str(form(self, "csv"))

    def to_html(self) -> str:
        """One self-contained HTML page; see :func:`neuromap.explorer.forms.html.to_html`."""
        return str(form(self, "html"))

    def to_svg(self) -> str:
        """Picture of the fronts, style inside; see :func:`neuromap.explorer.forms.draw_front.standalone_svg`."""
        return str(form(self, "svg"))

    def to_text(self, width: int = 160) -> str:
        """Tables as they are printed in a terminal; see :func:`neuromap.explorer.forms.text.render_text`."""
        return str(form(self, "text", width))

    @property
    def front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of all classes: retraining is allowed."""
        return tuple(row for row in self.rows if row.on_front)

    @property
    def class_front(self) -> tuple[ExploredRow, ...]:
        """Rows on the front of the given pattern's class: nothing needs retraining."""
        return tuple(row for row in self.rows if row.on_class_front and not row.needs_retraining)
