"""One row of the latency report: one pattern in one execution on one chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

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
from neuromap.render.value import Card
from neuromap.report.figures.run_figures import RunFigures
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.activity import Activity
from neuromap.simulation.cost.energy import Energy
from neuromap.simulation.cost.frame_seconds import FrameSeconds
from neuromap.verification.verdict import Verification


@dataclass(frozen=True, eq=False)
class CoreMap(ReadOnly, Card):
    """Places and contents of the C cores that a program uses; small, whatever the program is."""

    names: tuple[str, ...]  # names of the nodes
    # cores, chips: columns and rows of cores on a chip, and of chips on the board
    cores: tuple[int, int]
    chips: tuple[int, int]
    places: int  # neurons that a core has room for
    dead: tuple[tuple[int, int], ...]  # x and y of cores that cannot be used
    coordinates: NDArray[np.int32]  # (C, 2): x and y on the board
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
    copied: Ints  # (C,): neurons of nodes that stand on the chip more than once, relays and splitters apart
    cores_of_node: Ints  # (nodes,): cores that hold neurons of each node; shared cores count for each of their nodes

    @property
    def board(self) -> tuple[int, int]:
        """Columns and rows of cores on the whole board."""
        return self.cores[0] * self.chips[0], self.cores[1] * self.chips[1]

    @property
    def region(self) -> tuple[int, int, int, int]:
        """Least x and y, and columns and rows, of the smallest rectangle that holds all cores in use."""
        if not len(self.coordinates):
            return 0, 0, 1, 1
        low, high = self.coordinates.min(axis=0), self.coordinates.max(axis=0)
        return int(low[0]), int(low[1]), int(high[0] - low[0]) + 1, int(high[1] - low[1]) + 1


# Spikes of a run over ticks, node by node, for pictures: bounded, whatever the program is.


@dataclass(frozen=True, eq=False)
class SpikeRaster(ReadOnly, Card):
    """S spikes of some neurons of every node, from tick 0 on; spikes of all C cores as sums."""

    names: tuple[str, ...]  # nodes, in the order of the program
    sizes: tuple[int, ...]  # neurons of each node
    every: tuple[int, ...]  # of each node every so-manieth neuron is kept: the 1st, the 1 + ``every``-th,
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

    # first_response_steps, full_response_steps: update steps; whole numbers but for measurements on programs that were
    # edited. ``None`` on tick-level schedules, which have no update steps
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
        return cls(
            first_response_steps=_steps(first, ticks_per_step),
            first_response_ticks=first,
            first_response_seconds=in_seconds(first),
            full_response_steps=_steps(full, ticks_per_step),
            full_response_ticks=full,
            full_response_seconds=in_seconds(full),
        )


def _steps(ticks: int | None, ticks_per_step: int | None) -> int | float | None:
    if ticks is None or ticks_per_step is None:
        return None
    return ticks // ticks_per_step if ticks % ticks_per_step == 0 else ticks / ticks_per_step


@dataclass(frozen=True)
class OutputResponses(Card):
    """Responses of one output node."""

    predicted: Responses  # from the schedule
    measured: Responses  # from the dependency wave on the program; empty where nothing was mapped
    # ticks from onset to the first output spike that differs between a run with and one without the stimulus
    observed_first_difference_ticks: int | None
    # predicted first response plus frame period minus one tick, of the input that is answered last; none where the
    # program's frame period is not that of the rollout
    worst_case_reaction_ticks: int | None
    full_response_exact: bool  # whether the predicted full response is exact; else it is an upper bound
    # the same of the input that is answered first, and of every input that reaches the output
    best_input_reaction_ticks: int | None = None
    reaction_ticks_by_input: Mapping[str, int] = field(default_factory=dict)


def over_outputs(responses: Sequence[Responses]) -> Responses:
    """Make the responses over all outputs: the first response of any, the full response of all."""
    # A full response that is not defined for one output is not defined for all.
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

    Figures of rows that were not mapped are ``None`` (or empty), but for what the schedule alone tells.

    Attributes
    ----------
    pattern : str
        Name of the pattern.
    execution : {"windowed", "pipelined", "pipelined:P", "pipelined:best"}
        The time axis of the row.
    status : {"mapped", "invalid", "does not fit"}
        What became of it.
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
        What no mapping of the schedule can do without; ``None`` also where the chip cannot give its delays.
    verification : Verification or None
        Chip against reference.
    proven : bool or None
        Whether it is proven for every input; ``None`` where nothing was mapped, or its kind of core has no proof.
    activity : Activity or None
        What the first stimulus does on the chip in steady operation: spikes under way and work, over whole frame
        periods. ``None`` also where an edited program has cores beyond the board.
    energy : Energy or None
        Of such frame periods, over all stimuli.
    figures : RunFigures or None
        The two as the report shows them, with node times.
    cores : CoreMap or None
        What lies in which core, for pictures.
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
        How often the frames of the output name the right class, where labelled images were given.
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

    def _facts(self) -> dict[str, object]:
        return {
            "pattern": self.pattern,
            "execution": self.execution,
            "status": self.message or self.status,
            "frame period": _ticks(self.frame_period_ticks),
            "first response": _ticks(self.predicted.first_response_ticks),
            "full response": _ticks(self.predicted.full_response_ticks),
            "cores": "-" if self.usage is None else self.usage.cores,
            "verified": "-"
            if self.verified is None
            else "no"
            if not self.verified
            else "proven"
            if self.proven
            else "yes",
        }

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
