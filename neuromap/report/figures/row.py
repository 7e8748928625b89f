"""One row of the latency report: one pattern in one execution on one chip."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter, gt, truediv
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.accuracy.accuracy import Accuracy
from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time, largest_gap
from neuromap.errors import DoesNotFitError, PatternError, VerificationError
from neuromap.files.messages import counted
from neuromap.hardware.program.ports import NodePort
from neuromap.hardware.program.usage import NodeCopies
from neuromap.hardware.program.usage import Usage as Usage
from neuromap.mapping.bounds.lower_bounds import CoreBound
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.activity import Activity, NodeTime
from neuromap.simulation.cost.energy import Energy
from neuromap.simulation.cost.steady_figures import Spread, SteadyActivity, spread_of
from neuromap.simulation.cost.tick_times import FrameSeconds
from neuromap.simulation.noc.traffic import LinkLoad
from neuromap.verification.verdict import Verification

_T = TypeVar("_T")


def _of(source: str | Callable[[Any], Any]) -> Any:
    """Declare a field that :func:`taken` reads from another value: dotted attributes, or a function of it."""
    return field(metadata={"source": attrgetter(source) if isinstance(source, str) else source})


def taken(cls: Callable[..., _T], source: Any, **others: Any) -> _T:
    """Make a record whose fields say where they come from; ``others`` are those that need more."""
    mine = [field for field in fields(cls) if "source" in field.metadata]  # type: ignore[arg-type] # a dataclass
    return cls(**{field.name: field.metadata["source"](source) for field in mine}, **others)


# Spikes of a row on the network-on-chip in steady operation, as the report shows them.


@dataclass(frozen=True)
class LinkFigure:
    """A link and the most spikes that it carries in a tick."""

    # x, y: the router that it leaves, on the board
    x: int
    y: int
    direction: str  # east, west, north or south; in: from the core to its router, out: from the router to its core
    spikes_per_tick: int  # most in one tick
    tick: int  # the first tick of the run with that many

    def __str__(self) -> str:
        return f"({self.x}, {self.y}) {self.direction}"


def _link(load: LinkLoad | None) -> LinkFigure | None:
    return None if load is None else LinkFigure(load.link.x, load.link.y, load.link.direction, load.spikes, load.tick)


def _of_tick(steady: SteadyActivity, compare: Callable[[float, float], Any]) -> Any:
    """Compare the time that ports need with the tick; ``None`` if either is not known."""
    port, chip = steady.activity.traffic.port_seconds, steady.chip
    return None if port is None or chip.is_timed else compare(port, chip.tick_seconds)


@dataclass(frozen=True)
class LateFigures:
    """Spikes that have not arrived by the end of the tick in which they are fired, at the chip's tick length."""

    late_spikes: int  # all of them in the run
    overdue_spikes: int  # those that arrive after the start of the tick in which they are due
    first_late_spike: str | None  # the first one by name


@dataclass(frozen=True, kw_only=True)
class MeshFigures(Card):
    """Spikes on the network-on-chip; docs/network-on-chip.md has the definitions."""

    # n_ticks, n_frames, spikes, hops: ticks and frames that were counted, over all stimuli; spikes of neurons with a
    # target, links between routers that they cross
    n_ticks: int = _of("counts.ticks")
    n_frames: int = _of("total_frames")
    spikes: int = _of("wires.spikes")
    hops: int = _of("wires.hops")
    # spikes_per_tick, spikes_per_frame, hops_per_frame: means over these ticks and frames
    spikes_per_tick: float = _of(lambda s: s.wires.spikes / s.counts.ticks)
    spikes_per_frame: float = _of(lambda s: s.per_frame(s.wires.spikes))
    hops_per_frame: float = _of("hops_per_frame")
    # mean over the spikes actually sent; ``None`` without a spike
    hops_per_spike: float | None = _of(lambda s: s.wires.hops / s.wires.spikes if s.wires.spikes else None)
    # busiest_link, busiest_core_link: between two routers, and between a router and its core; ``None`` where no spike
    # takes such a link
    busiest_link: LinkFigure | None = _of(lambda s: _link(s.activity.traffic.busiest_link))
    busiest_core_link: LinkFigure | None = _of(lambda s: _link(s.activity.traffic.busiest_core_link))
    hop_cycles: int = _of("activity.traffic.clock.hop_cycles")  # router cycles of a hop
    # length of a router cycle; ``None`` if the chip file has none, and then so are all figures in seconds
    cycle_seconds: float | None = _of("activity.traffic.clock.cycle_seconds")
    # worst arrival in the event simulation, in router cycles: with a tick of this length no spike is late
    shortest_tick_cycles: int = _of("activity.traffic.shortest_tick_cycles")
    shortest_tick_at: int | None = _of("activity.traffic.shortest_tick_at")  # the tick of the run with this arrival
    shortest_tick_seconds: float | None = _of("activity.traffic.shortest_tick_seconds")  # the same in seconds
    # safe_tick_cycles, safe_tick_seconds: bound on it, for any order in which links serve their spikes
    safe_tick_cycles: int = _of("activity.traffic.safe_tick_cycles")
    safe_tick_seconds: float | None = _of("activity.traffic.safe_tick_seconds")
    # safe_tick_any_stimulus_cycles, safe_tick_any_stimulus_seconds: bound if every neuron with a target fires in one
    # tick
    safe_tick_any_stimulus_cycles: int = _of("activity.traffic.safe_tick_any_cycles")
    safe_tick_any_stimulus_seconds: float | None = _of("activity.traffic.safe_tick_any_seconds")
    # longest router cycle with which the chip's tick is a safe one for any stimulus on the mesh; this and what else is
    # compared with the tick is ``None`` if ticks last as long as their work
    longest_cycle_seconds: float | None = _of(
        lambda s: None if s.chip.is_timed else s.activity.traffic.longest_cycle_seconds
    )
    # late spikes on the mesh at the chip's tick; ``None`` where the length of a router cycle is not known
    late: LateFigures | None
    crossings_per_frame: float = _of("crossings_per_frame")  # chip boundaries that spikes cross
    # spikes from the host to axons, input and bias
    host_spikes_per_frame: float = _of(lambda s: s.per_frame(s.wires.host_spikes))
    host_spikes_per_second: float = _of(lambda s: s.wires.host_spikes / s.energy.seconds)  # the same over time
    readout_spikes_per_frame: float = _of(lambda s: s.per_frame(s.wires.readout_spikes))  # spikes that are read out
    # most spikes through the ports of one chip in one tick: host, readout and other chips
    port_spikes_per_tick: int = _of("activity.traffic.peak_port_spikes")
    # what the ports of one chip carry together
    port_spikes_per_second_limit: float | None = _of("activity.traffic.boundary_spikes_per_second")
    port_seconds: float | None = _of("activity.traffic.port_seconds")  # time that the ports need for their busiest tick
    port_share_of_tick: float | None = _of(lambda s: _of_tick(s, truediv))  # the same as a share of the tick
    # whether that is more than the tick, so that spikes come too late there whatever the mesh does; ``None`` if the
    # rate of the ports is unknown
    ports_exceed_tick: bool | None = _of(lambda s: _of_tick(s, gt))


@dataclass(frozen=True)
class WorkFigures(Card):
    """Work of the cores."""

    # synaptic_events_per_tick, synaptic_events_per_frame: synapses on axons that are due, over all cores
    synaptic_events_per_tick: float = _of(lambda s: s.counts.synaptic_events / s.counts.ticks)
    synaptic_events_per_frame: float = _of("synaptic_events_per_frame")
    # most synaptic events of one core in one tick
    largest_core_events_per_tick: int = _of(lambda s: int(s.activity.work.peak_core_events.max(initial=0)))
    # neurons that fire, copies, relays, splitters and those that are read out included
    firing_neurons_per_tick: float = _of(lambda s: s.firing / s.counts.ticks)


@dataclass(frozen=True)
class EnergyTermFigures:
    """One term of the energy."""

    counted: str  # what is counted
    count_per_frame: float  # how many per frame
    # joules_each, joules_per_frame, watts: energy of one, of all per frame, and power; ``None`` where the chip file has
    # no figure
    joules_each: float | None
    joules_per_frame: float | None
    watts: float | None
    included_in: str | None  # "fit" if other terms already include this one: it is shown but not added


def _terms(steady: SteadyActivity) -> dict[str, EnergyTermFigures]:
    return {
        term.key: EnergyTermFigures(
            counted=term.title,
            count_per_frame=steady.per_frame(term.count),
            joules_each=term.joules_each,
            joules_per_frame=None if term.joules is None else steady.per_frame(term.joules),
            watts=None if term.joules is None else term.joules / steady.energy.seconds,
            included_in=term.included_in,
        )
        for term in steady.energy.terms
    }


@dataclass(frozen=True)
class EnergyFigures(ReadOnly, Card):
    """Energy and power of the whole board, idle chips included; docs/energy.md has the formulas."""

    # joules_per_tick, joules_per_frame, watts: sum of the terms that are known and in no other; ``None`` where the chip
    # file has no figure at all
    joules_per_tick: float | None = _of("energy.joules_per_tick")
    joules_per_frame: float | None = _of("joules_per_frame")
    # mean, deviation and confidence interval of the energy per frame over the stimuli
    joules_per_frame_spread: Spread | None = _of("joules_spread")
    watts: float | None = _of(lambda s: s.energy.watts())
    terms: Mapping[str, EnergyTermFigures] = _of(_terms)  # by the keys of the chip file
    absent: tuple[str, ...] = _of("energy.absent")  # figures that the chip file lacks: missing in the sums
    # published average, everything included: a reference at its own operating point, part of no sum
    average_joules_per_synaptic_event: float | None = _of("energy.average_joules_each")

    @property
    def static_share(self) -> float | None:
        """Share of static power in the sum; ``None`` if there is no sum, or static power is unknown."""
        static = self.terms.get("static_watts")
        if static is None or static.joules_per_frame is None or static.included_in or not self.joules_per_frame:
            return None
        return static.joules_per_frame / self.joules_per_frame

    @property
    def active_joules_per_frame(self) -> float | None:
        """Sum without static power; ``None`` if no other term is known."""
        parts = [
            term.joules_per_frame
            for key, term in self.terms.items()
            if key != "static_watts" and term.included_in is None and term.joules_per_frame is not None
        ]
        return math.fsum(parts) if parts else None

    def average_joules_per_frame(self, work: WorkFigures) -> float | None:
        """Return the energy that the published average per synaptic event would give; for comparison only."""
        each, events = self.average_joules_per_synaptic_event, work.synaptic_events_per_frame
        return None if each is None else each * events


@dataclass(frozen=True)
class NodeTimeFigures(ReadOnly):
    """Times of nodes: cores process their synaptic events one after the other, then spikes travel."""

    # most synaptic events that one core does for the node in one tick, router cycles within which its spikes arrive in
    # any tick, and both in seconds where the chip file has the figures
    nodes: Mapping[str, NodeTime]
    # slowest_node_events, slowest_node_seconds: the maximum over the nodes: what a frame takes if all edges stream
    slowest_node_events: int
    slowest_node_seconds: float | None
    # frame_events, frame_seconds: the sum along the longest chain of sequential edges: what a frame takes under this
    # pattern
    frame_events: int
    frame_seconds: float | None


def _frame_period(steady: Any) -> Spread:
    periods = steady.seconds.frame_period().tolist()
    return spread_of(periods, sum(periods) / len(periods))


@dataclass(frozen=True, kw_only=True)
class TickTimeFigures:
    """Ticks that last as long as their work, over all stimuli; docs/timed-ticks.md has the definitions."""

    # mean_seconds, longest_seconds, bound_seconds: of a tick in the event simulation, barrier_seconds included, and the
    # mean of what counts bound it by
    mean_seconds: float = _of(lambda s: float(s.seconds.measured.mean()))
    longest_seconds: float = _of(lambda s: float(s.seconds.measured.max()))
    bound_seconds: float = _of(lambda s: float(s.seconds.bound.mean()))
    barrier_seconds: float = _of("activity.times.barrier")
    # frame_period_seconds, frame_period_bound_seconds: from sample to sample, mean over the stimuli, and its bound
    frame_period_seconds: Spread = _of(_frame_period)
    frame_period_bound_seconds: float = _of(lambda s: float(s.seconds.frame_period("bound").mean()))
    # slowest_core, slowest_core_share, slowest_node: the core that ends most ticks of the first stimulus, the share
    # that it ends, and the node of most of its neurons
    slowest_core: tuple[int, int]
    slowest_core_share: float
    slowest_node: str | None


@dataclass(frozen=True)
class RunFigures(Card):
    """All figures of a row in steady operation.

    Attributes
    ----------
    network_on_chip : MeshFigures
        Spikes on the network-on-chip.
    work : WorkFigures
        Work of the cores.
    energy : EnergyFigures
        Energy and power.
    node_times : NodeTimeFigures
        Times of the nodes.
    tick_times : TickTimeFigures or None
        Times of the ticks, if they last as long as their work.
    """

    network_on_chip: MeshFigures
    work: WorkFigures
    energy: EnergyFigures
    node_times: NodeTimeFigures
    tick_times: TickTimeFigures | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CoreMap(ReadOnly, Card):
    """Places and contents of the C cores that a program uses; small for any program."""

    names: tuple[str, ...] = _of(lambda program: tuple(port.name for port in program.nodes))  # names of the nodes
    # cores, chips: columns and rows of cores on a chip, and of chips on the board
    cores: tuple[int, int] = _of("chip.cores")
    chips: tuple[int, int] = _of("chip.chips")
    tile: tuple[int, int] = _of("chip.tile")  # columns and rows of cores that share a router
    places: int = _of("chip.neurons")  # neurons that a core has room for
    # x and y of cores that cannot be used
    dead: tuple[tuple[int, int], ...] = _of(lambda p: tuple(sorted({*p.chip.defects.cores, *p.chip.defects.routers})))
    coordinates: NDArray[np.int32] = _of("coordinates")  # (C, 2): x and y on the board
    neurons: Ints  # (C,): neurons of nodes; relays, splitters and copies included
    # main, second: (C,): positions in ``names`` of the node with most neurons and of the one that follows; -1 for none
    main: Ints
    second: Ints
    # main_neurons, second_neurons: (C,): their neurons
    main_neurons: Ints
    second_neurons: Ints
    n_nodes: Ints  # (C,): nodes with neurons in the core
    # relays, splitters, parts: (C,): relays that only lengthen a delay, splitters, and parts of sums
    relays: Ints
    splitters: Ints
    parts: Ints
    copied: Ints  # (C,): neurons of nodes that are on the chip more than once, without relays and splitters
    cores_of_node: Ints  # (nodes,): cores that hold neurons of each node; shared cores count for each of their nodes

    @property
    def board(self) -> tuple[int, int]:
        """Columns and rows of cores on the whole board."""
        return self.cores[0] * self.chips[0], self.cores[1] * self.chips[1]

    @property
    def region(self) -> tuple[int, int, int, int]:
        """Least x and y, and columns and rows, of the smallest rectangle that holds all cores in use."""
        return rectangle_of(self.coordinates)


def rectangle_of(places: NDArray[np.integer]) -> tuple[int, int, int, int]:
    """Least x and y, and columns and rows, of the smallest rectangle that holds all places; 1 x 1 without any."""
    if not len(places):
        return 0, 0, 1, 1
    low, high = places.min(axis=0), places.max(axis=0)
    return int(low[0]), int(low[1]), int(high[0] - low[0]) + 1, int(high[1] - low[1]) + 1


# Spikes of a run over ticks, node by node, for pictures: bounded for any program.


@dataclass(frozen=True, eq=False)
class SpikeRaster(ReadOnly, Card):
    """S spikes of some neurons of every node, from tick 0 on; spikes of all C cores as sums."""

    names: tuple[str, ...]  # nodes, in the order of the program
    sizes: tuple[int, ...]  # neurons of each node
    every: tuple[int, ...]  # n for each node, of which every n-th neuron is kept, from the first on
    n_ticks: int  # ticks of the run that are kept
    # tick, node, neuron: (S,): when a neuron fires, or an input node samples a spike; position in ``names``; neuron
    # within the node. Copies of a neuron are one, relays and splitters none
    tick: Ints
    node: Ints
    neuron: Ints
    samples: tuple[Ints, ...]  # for every node the ticks in which it samples or computes a frame
    core_spikes: Ints  # (C,): spikes of all neurons of every core in these ticks, copies and relays included


# First and full responses in three units: of one output, and over all outputs.
@dataclass(frozen=True)
class Responses(Card):
    """First and full response, from stimulus onset, in three units."""

    # first_response_steps, full_response_steps: update steps; whole numbers except for measurements on edited programs.
    # ``None`` on tick-level schedules, which have no update steps
    first_response_steps: int | float | None = None
    # first_response_ticks, full_response_ticks: ticks of the chip: steps times ticks per step, where there are steps
    first_response_ticks: int | None = None
    # first_response_seconds, full_response_seconds: ticks times the tick length; where ticks are timed, predicted from
    # the bound of every tick and measured by its event simulation
    first_response_seconds: float | None = None
    full_response_steps: int | float | None = None
    full_response_ticks: int | None = None
    full_response_seconds: float | None = None

    @classmethod
    def from_ticks(
        cls,
        first: int | None,
        full: int | None,
        ticks_per_step: int | None,
        in_seconds: Callable[[int | None], float | None],
    ) -> Responses:
        """Convert ticks into the other units; ``None`` stays ``None``. Without ticks per step there are no steps."""
        steps = [_steps(ticks, ticks_per_step) for ticks in (first, full)]
        return cls(steps[0], first, in_seconds(first), steps[1], full, in_seconds(full))


def _steps(ticks: int | None, ticks_per_step: int | None) -> int | float | None:
    if ticks is None or ticks_per_step is None:
        return None
    return ticks // ticks_per_step if ticks % ticks_per_step == 0 else ticks / ticks_per_step


@dataclass(frozen=True)
class OutputResponses(Card):
    """Responses of one output node."""

    predicted: Responses  # from the schedule
    # from the dependency wave on the program; empty where nothing was mapped
    measured: Responses = field(default_factory=Responses)
    # ticks from onset to the first output spike that differs between a run with and one without the stimulus
    observed_first_difference_ticks: int | None = None
    # predicted first response plus frame period minus one tick, of the input that is answered last; none where the
    # program's frame period is not that of the rollout
    worst_case_reaction_ticks: int | None = None
    full_response_exact: bool = field(
        kw_only=True
    )  # whether the predicted full response is exact; else it is an upper bound
    # the same for the input that is answered first, and for every input that reaches the output
    best_input_reaction_ticks: int | None = None
    reaction_ticks_by_input: Mapping[str, int] = field(default_factory=dict)


def over_outputs(responses: Sequence[Responses]) -> Responses:
    """Make the responses over all outputs: the first response of any, the full response of all."""
    # A full response that is undefined for one output is undefined overall.
    fields: dict[str, Any] = {}
    for unit in ("steps", "ticks", "seconds"):
        first = [getattr(r, f"first_response_{unit}") for r in responses]
        full = [getattr(r, f"full_response_{unit}") for r in responses]
        fields[f"first_response_{unit}"] = min((f for f in first if f is not None), default=None)
        fields[f"full_response_{unit}"] = None if None in full else max(full)
    return Responses(**fields)


Status = Literal["mapped", "invalid", "does not fit"]
ScheduleUnit = Literal["steps", "ticks"]
_EXIT_CODES: Mapping[str, int] = ReadOnlyMapping(
    {"mapped": 0, "invalid": PatternError.exit_code, "does not fit": DoesNotFitError.exit_code}
)


@dataclass(frozen=True, eq=False)
class ReportRow(ReadOnly, Card):
    """All figures of one pattern in one execution.

    Figures of rows that were not mapped are ``None`` (or empty), except those that follow from the schedule alone.

    Attributes
    ----------
    pattern : str
        Name of the pattern.
    execution : {"windowed", "pipelined", "pipelined:P", "pipelined:best"}
        The time axis of the row.
    status : {"mapped", "invalid", "does not fit"}
        Outcome of mapping.
    message : str
        Why it was not mapped, in one line; empty for mapped rows.
    cycle : tuple of str
        The cycle of sequential edges of an invalid pattern.
    infeasibility : mapping or None
        The mapper's refusal as data.
    streaming_edges : tuple of (str, str)
        Edges with R = 1 or more.
    bridging_edges : tuple of ((str, str), int)
        R of the edges that bridge frames.
    behaviour_class : int or None
        Number of the pattern's behaviour class (:mod:`neuromap.rollout.class_numbers`); ``None`` for an
        invalid pattern, which has none, and where a row was made on its own.
    inference_factor : int or None
        F of the pattern, in update steps.
    schedule : {"steps", "ticks"}
        The unit in which the row was scheduled (docs/time.md). ``"ticks"``: splitters stand on edges without slack,
        so every edge has a latency of its own and there are no update steps. All figures in update steps
        (``*_steps``) and ``ticks_per_step`` are then ``None``; the inference factor belongs to the pattern and stays.
    frame_period_steps, frame_period_ticks : int, Fraction or None
        Between two frames of one node; a fraction is the mean of unequal intervals.
    ticks_per_step : int or None
        Ticks of one update step.
    sampling_frequency_hz : float or None
        Input frames per second, on average.
    predicted, measured : Responses
        Over all outputs: the least first and the greatest full response.
    observed_first_difference_ticks : int or None
        The least over the outputs.
    worst_case_reaction_ticks : int or None
        Predicted first response plus frame period (the largest gap between frames) minus one tick, for an event at the
        input that is answered last, by whichever output comes first; ``None`` also where the program's frame period is
        not that of the rollout.
    worst_case_reaction_seconds : float or None
        The same in seconds.
    full_response_exact : bool or None
        Whether the predicted full response is exact; else it is an upper bound.
    outputs : mapping of str to OutputResponses
        The responses output by output.
    usage : Usage or None
        Cores, neurons, copies, relays, axons, ways.
    copies : tuple of NodeCopies
        What the neurons of each node became on the chip.
    core_bound : CoreBound or None
        Lower bound on the cores of any mapping of the schedule; ``None`` also if the chip cannot give its delays.
    verification : Verification or None
        Chip against reference.
    proven : bool or None
        Whether it is proven for every input; ``None`` where nothing was mapped, or its kind of core has no proof.
    activity : Activity or None
        What the first stimulus does on the chip in steady operation: spikes under way and work, over whole frame
        periods. ``None`` also where an edited program has cores beyond the board.
    energy : Energy or None
        Energy in such frame periods, over all stimuli.
    figures : RunFigures or None
        Activity and energy as the report shows them, with node times.
    cores : CoreMap or None
        Contents of the cores, for pictures.
    raster : SpikeRaster or None
        Spikes of the first ticks with the first stimulus, for pictures.
    rollout : Rollout or None
        The schedule that was mapped; ``None`` for invalid patterns.
    seconds : FrameSeconds or None
        Time of every tick in steady operation, where ticks last as long as their work.
    ports : tuple of NodePort
        Labels and clocks of the program, for the timeline.
    left_out : mapping of str to int
        Neurons of hidden nodes that the program does not hold, as no output depends on them.
    accuracy : Accuracy or None
        Accuracy of the output's frames, if labelled images were given.
    """

    pattern: str
    execution: str
    status: Status
    streaming_edges: tuple[EdgeKey, ...]
    bridging_edges: tuple[tuple[EdgeKey, int], ...] = ()
    message: str = ""
    cycle: tuple[str, ...] = ()
    infeasibility: Any = None
    behaviour_class: int | None = None
    inference_factor: int | None = None
    schedule: ScheduleUnit = "steps"
    frame_period_steps: Time | None = None
    frame_period_ticks: Time | None = None
    ticks_per_step: int | None = None
    sampling_frequency_hz: float | None = None
    predicted: Responses = field(default_factory=Responses)
    measured: Responses = field(default_factory=Responses)
    observed_first_difference_ticks: int | None = None
    worst_case_reaction_ticks: int | None = None
    worst_case_reaction_seconds: float | None = None
    full_response_exact: bool | None = None
    outputs: Mapping[str, OutputResponses] = field(default_factory=dict)
    usage: Usage | None = None
    copies: tuple[NodeCopies, ...] = ()
    core_bound: CoreBound | None = None
    verification: Verification | None = None
    proven: bool | None = None
    activity: Activity | None = None
    energy: Energy | None = None
    figures: RunFigures | None = None
    cores: CoreMap | None = None
    raster: SpikeRaster | None = None
    seconds: FrameSeconds | None = None
    rollout: Rollout | None = None
    ports: tuple[NodePort, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    accuracy: Accuracy | None = None

    @classmethod
    def of(cls, pattern: RolloutPattern, execution: str, status: Status = "mapped", **figures: Any) -> ReportRow:
        """Make the row of a pattern."""
        streaming, bridging = pattern.streaming_edges, tuple(pattern.bridging_edges.items())
        return cls(pattern.name, execution, status, streaming, bridging, **figures)

    def _facts(self) -> dict[str, object]:
        return {
            "pattern": self.pattern,
            "execution": self.execution,
            "status": self.message or self.status,
            "frame period": _ticks(self.frame_period_ticks),
            "first response": _ticks(self.predicted.first_response_ticks),
            "full response": _ticks(self.predicted.full_response_ticks),
            "cores": "-" if self.usage is None else self.usage.cores,
            "verified": {None: "-", False: "no", True: "proven" if self.proven else "yes"}[self.verified],
        }

    def pattern_of(self, network: Network) -> RolloutPattern:
        """Return the pattern, of the report's network."""
        bridging = dict(self.bridging_edges)
        return RolloutPattern.from_streaming_edges(network, self.streaming_edges, self.pattern, bridging=bridging)

    @property
    def joules_per_frame(self) -> float | None:
        """Energy per frame in steady operation; ``None`` where it is not known."""
        return None if self.figures is None else self.figures.energy.joules_per_frame

    @property
    def largest_gap_ticks(self) -> int | None:
        """Most ticks between two frames of one node: the frame period, rounded up."""
        return None if self.frame_period_ticks is None else largest_gap(self.frame_period_ticks)

    @property
    def verified(self) -> bool | None:
        """Whether chip equals reference; ``None`` where nothing was mapped."""
        return None if self.verification is None else self.verification.verified

    @property
    def exit_code(self) -> int:
        """Exit code that this row alone would give."""
        return VerificationError.exit_code if self.verified is False else _EXIT_CODES[self.status]


def _ticks(count: Time | None) -> str:
    return "-" if count is None else counted(count, "tick")
