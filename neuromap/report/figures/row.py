"""One row of the latency report: one pattern in one execution on one chip."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import DoesNotFitError, InputError, PatternError, VerificationError
from neuromap.hardware.program.program import NodePort, Program
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.legalise.legalise import legalise
from neuromap.network.network import EdgeKey
from neuromap.report.figures.core_map import CoreMap, core_map
from neuromap.report.figures.mesh_figures import LateFigures
from neuromap.report.figures.response_figures import OutputResponses, Responses, over_outputs
from neuromap.report.figures.run_figures import RunFigures, run_figures
from neuromap.report.figures.usage import Usage, sampling_frequency, usage
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.activity.energy import Energy, energy_of
from neuromap.simulation.activity.measure_activity import Activity, measure_activity
from neuromap.simulation.noc.late import find_late_spikes
from neuromap.simulation.run.tick_run import run_ticks
from neuromap.simulation.stimulus.stimulus import check_frames
from neuromap.verification.law import Verification, verify
from neuromap.verification.observe import extend_frames, first_difference
from neuromap.verification.wave import measure

__all__ = ["ReportRow", "Schedule", "Status", "refused_row", "report_row"]

Status = Literal["mapped", "invalid", "does not fit"]
Schedule = Literal["steps", "ticks"]
_EXIT_CODES: Mapping[str, int] = MappingProxyType(
    {"mapped": 0, "invalid": PatternError.exit_code, "does not fit": DoesNotFitError.exit_code}
)


@dataclass(frozen=True, eq=False)
class ReportRow:
    """All figures of one pattern in one execution.

    Figures of rows that were not mapped are ``None`` (or empty), but for what the schedule alone tells.

    Attributes
    ----------
    pattern : str
        Name of the pattern.
    execution : {"windowed", "pipelined", "pipelined:P"}
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
        Edges with R = 1.
    inference_factor : int or None
        F of the pattern, in update steps.
    schedule : {"steps", "ticks"}
        The unit in which the row was scheduled (docs/time.md). ``"ticks"``: splitters stand on edges without slack,
        so every edge has a latency of its own and there are no update steps. All figures in update steps
        (``*_steps``) and ``ticks_per_step`` are then ``None``; the inference factor belongs to the pattern and stays.
    frame_period_steps, frame_period_ticks : int or None
        Between two frames of one node.
    ticks_per_step : int or None
        Ticks of one update step.
    sampling_frequency_hz : float or None
        Input frames per second.
    predicted, measured : Responses
        Over all outputs: the least first and the greatest full response.
    observed_first_difference_ticks : int or None
        The least over the outputs.
    worst_case_reaction_ticks : int or None
        Predicted first response plus frame period minus one update step, or one tick of a tick-level schedule;
        ``None`` also where the program's frame period is not that of the rollout.
    worst_case_reaction_seconds : float or None
        The same in seconds.
    full_response_exact : bool or None
        Whether the predicted full response is exact; else it is an upper bound.
    outputs : mapping of str to OutputResponses
        The responses output by output.
    usage : Usage or None
        Cores, neurons, copies, relays, axons, ways.
    core_bound : CoreBound or None
        What no mapping of the schedule can do without; ``None`` also where the chip cannot give its delays.
    verification : Verification or None
        Chip against reference.
    activity : Activity or None
        What the verification frames do on the chip: spikes under way and work, counted in one more run. ``None`` also
        where an edited program has cores beyond the board.
    energy : Energy or None
        Of that run.
    figures : RunFigures or None
        The two as the report shows them, with node times.
    cores : CoreMap or None
        What lies in which core, for pictures.
    rollout : Rollout or None
        The schedule that was mapped; ``None`` for invalid patterns.
    ports : tuple of NodePort
        Labels and clocks of the program, for the timeline.
    """

    pattern: str
    execution: str
    status: Status
    streaming_edges: tuple[EdgeKey, ...]
    message: str = ""
    cycle: tuple[str, ...] = ()
    infeasibility: Any = None
    inference_factor: int | None = None
    schedule: Schedule = "steps"
    frame_period_steps: int | None = None
    frame_period_ticks: int | None = None
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
    core_bound: CoreBound | None = None
    verification: Verification | None = None
    activity: Activity | None = None
    energy: Energy | None = None
    figures: RunFigures | None = None
    cores: CoreMap | None = None
    rollout: Rollout | None = None
    ports: tuple[NodePort, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", MappingProxyType(dict(self.outputs)))

    @property
    def verified(self) -> bool | None:
        """Whether chip equals reference; ``None`` where nothing was mapped."""
        return None if self.verification is None else self.verification.verified

    @property
    def exit_code(self) -> int:
        """Exit code that this row alone would give."""
        return VerificationError.exit_code if self.verified is False else _EXIT_CODES[self.status]


def report_row(
    rollout: Rollout,
    program: Program,
    frames: Mapping[str, ArrayLike],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
) -> ReportRow:
    """Predict, measure, observe and verify one mapped rollout.

    Parameters
    ----------
    rollout : Rollout
        The schedule as it was mapped (``map_with_stages(...).rollout``): where predictions come from.
    program : Program
        What was mapped from it (and perhaps edited since): where measurements come from.
    frames : mapping of str to array_like, shape (n_frames, size)
        Input frames for verification; the observed difference repeats them as often as needed.
    engine, threads, noise_seed : str, int or None, int
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    ReportRow
        With status ``"mapped"``.

    Raises
    ------
    ProgramError
        If the program is of another network.
    StimulusError
        If the frames do not fit the input nodes.
    """
    checked = check_frames(frames, rollout.network)
    verification = verify(rollout, program, checked, engine=engine, threads=threads, noise_seed=noise_seed)
    # A tick-level schedule is in ticks already and has no update steps.
    per_step = None if rollout.is_tick_level else program.ticks_per_step
    scale, second = per_step or 1, program.chip.tick_seconds
    found = measure(program)
    stimulus, onset = _onset(rollout, program, checked, scale)
    observed = first_difference(program, stimulus, onset, engine=engine, threads=threads, noise_seed=noise_seed)
    is_period = verification.rollout_period_ticks == program.period  # else the rollout knows no wait for a sample
    outputs = {}
    for name in rollout.network.outputs:
        first, full = rollout.first_response(name) * scale, rollout.full_response(name) * scale
        outputs[name] = OutputResponses(
            predicted=Responses.from_ticks(first, full, per_step, second),
            measured=Responses.from_ticks(
                found[name].first_response_ticks, found[name].full_response_ticks, per_step, second
            ),
            observed_first_difference_ticks=observed[name],
            worst_case_reaction_ticks=rollout.worst_case_reaction(name) * scale if is_period else None,
            full_response_exact=rollout.full_response_is_exact(name),
        )
    row = ReportRow(
        pattern=rollout.pattern.name,
        execution=rollout.execution,
        status="mapped",
        streaming_edges=rollout.pattern.streaming_edges,
        frame_period_ticks=program.period,
        ticks_per_step=per_step,
        sampling_frequency_hz=sampling_frequency(program),
        usage=usage(program),
        core_bound=_core_bound(rollout, program, scale),
        verification=verification,
        ports=program.nodes,
    )
    if _on_board(program):
        run = {"engine": engine, "threads": threads, "noise_seed": noise_seed}
        row = _with_activity(row, rollout.pattern, program, checked, run)
    return _overall(row, rollout, outputs, second)


def refused_row(pattern: RolloutPattern, execution: str, error: PatternError | DoesNotFitError) -> ReportRow:
    """Make the row of a pattern that is invalid or was not mapped.

    Parameters
    ----------
    pattern : RolloutPattern
        The pattern.
    execution : str
        The execution.
    error : PatternError or DoesNotFitError
        Why.

    Returns
    -------
    ReportRow
        With what the schedule alone tells.
    """
    row = ReportRow(
        pattern=pattern.name,
        execution=execution,
        status="does not fit" if isinstance(error, DoesNotFitError) else "invalid",
        streaming_edges=pattern.streaming_edges,
        message=str(error),
        cycle=pattern.cycle,
        infeasibility=getattr(error, "infeasibility", None),
    )
    if not pattern.is_valid:
        return row
    try:
        rollout = Rollout(pattern.network, pattern, execution)
    except InputError:  # a frame period that is too short for the pattern
        return replace(row, inference_factor=pattern.inference_factor)
    outputs = {
        name: OutputResponses(
            predicted=Responses(
                first_response_steps=rollout.first_response(name), full_response_steps=rollout.full_response(name)
            ),
            measured=Responses(),
            observed_first_difference_ticks=None,
            worst_case_reaction_ticks=None,
            full_response_exact=rollout.full_response_is_exact(name),
        )
        for name in pattern.network.outputs
    }
    return _overall(row, rollout, outputs, None)


def _overall(
    row: ReportRow, rollout: Rollout, outputs: Mapping[str, OutputResponses], tick_seconds: float | None
) -> ReportRow:
    """Add what the schedule tells, and the figures over all outputs."""
    reactions = [o.worst_case_reaction_ticks for o in outputs.values()]
    seen = [o.observed_first_difference_ticks for o in outputs.values()]
    reaction = None if None in reactions else min(r for r in reactions if r is not None)
    return replace(
        row,
        inference_factor=rollout.pattern.inference_factor,
        schedule="ticks" if rollout.is_tick_level else "steps",
        frame_period_steps=None if rollout.is_tick_level else rollout.frame_period,
        predicted=over_outputs([o.predicted for o in outputs.values()]),
        measured=over_outputs([o.measured for o in outputs.values()]),
        observed_first_difference_ticks=min((s for s in seen if s is not None), default=None),
        worst_case_reaction_ticks=reaction,
        worst_case_reaction_seconds=None if reaction is None or tick_seconds is None else reaction * tick_seconds,
        full_response_exact=all(o.full_response_exact for o in outputs.values()),
        outputs=outputs,
        rollout=rollout,
    )


def _on_board(program: Program) -> bool:
    """Whether all cores are places of the board; else spikes have no ways."""
    place, chip = program.coordinates, program.chip
    return bool((place >= 0).all() and (place < (chip.columns, chip.rows)).all())


def _with_activity(
    row: ReportRow,
    pattern: RolloutPattern,
    program: Program,
    frames: Mapping[str, NDArray[np.bool_]],
    run: dict[str, Any],
) -> ReportRow:
    """Add what the frames do on the chip, and what that costs."""
    activity = measure_activity(program, frames, **run)
    energy = energy_of(program.chip, activity.counts)
    late = _late(activity, program, frames, run)
    figures = run_figures(activity, energy, program.chip, pattern, program.period, late)
    return replace(row, activity=activity, energy=energy, figures=figures, cores=core_map(program))


def _late(
    activity: Activity, program: Program, frames: Mapping[str, NDArray[np.bool_]], run: dict[str, Any]
) -> LateFigures | None:
    """Count late spikes at the chip's tick; a run of its own is needed only where there are some."""
    traffic = activity.traffic
    if (cycle := traffic.clock.cycle_seconds) is None:
        return None
    tick_cycles = max(1, math.floor(traffic.tick_seconds / cycle * (1 + 1e-9)))
    if traffic.shortest_tick_cycles <= tick_cycles:
        return LateFigures(0, 0, None)
    late = find_late_spikes(program, run_ticks(program, frames, **run), tick_cycles)
    return LateFigures(len(late), late.n_overdue, str(late.named(1)[0]))


def _onset(
    rollout: Rollout, program: Program, frames: Mapping[str, NDArray[np.bool_]], scale: int
) -> tuple[dict[str, NDArray[np.bool_]], int]:
    """Give frames with an onset after as many as fill the network, for as many more as the full response takes."""
    period = program.period
    ticks = max(rollout.full_response(name) for name in rollout.network.outputs) * scale
    span = math.ceil(ticks / period) + 1
    return extend_frames(frames, 2 * span + 2), span


def _core_bound(rollout: Rollout, program: Program, scale: int) -> CoreBound | None:
    try:
        return core_bound(legalise(rollout, program.chip, ticks_per_step=scale), program.chip)
    except DoesNotFitError:  # a program that was not mapped from this schedule
        return None
