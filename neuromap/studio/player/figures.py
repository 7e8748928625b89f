"""Figures of a rollout: from its schedule at once, from its program once it is mapped."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.arrays.times import Time
from neuromap.errors import NeuromapError
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.report.figures.row import ReportRow
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["ChipFigures", "ScheduleFigures", "chip_figures", "schedule_figures", "timeline_row"]


@dataclass(frozen=True)
class ScheduleFigures(Card):
    """What the schedule alone tells, in update steps of its execution."""

    execution: str  # the time axis
    problem: str = ""  # why there is no schedule, in one line; empty where there is
    inference_factor: int | None = None  # F of the pattern
    # frame_period, first_response, full_response: in update steps; the first response of any output, the full response
    # of all
    frame_period: Time | None = None
    first_response: int | None = None
    full_response: int | None = None
    is_exact: bool = True  # whether the full response is exact; else it is an upper bound


@dataclass(frozen=True)
class ChipFigures(Card):
    """What a program tells, in ticks."""

    cores: int  # cores in use
    frame_period: Time  # in ticks
    ticks_per_step: int | None  # none where the schedule is one of ticks
    # first_response, full_response: in ticks, predicted from the schedule that was mapped
    first_response: int
    full_response: int
    tick_seconds: float  # length of a tick

    @property
    def sampling_hz(self) -> float:
        """Input frames per second."""
        return float(1 / (self.frame_period * self.tick_seconds))


def schedule_figures(pattern: RolloutPattern, execution: str) -> ScheduleFigures:
    """Work out what the schedule tells; a pattern without one gives its problem."""
    factor = pattern.inference_factor if pattern.is_valid else None
    try:
        rollout = Rollout(pattern.network, pattern, execution)
        outputs = pattern.network.outputs
        return ScheduleFigures(
            execution,
            "",
            factor,
            rollout.frame_period,
            min(rollout.first_response(name) for name in outputs),
            max(rollout.full_response(name) for name in outputs),
            all(rollout.full_response_is_exact(name) for name in outputs),
        )
    except NeuromapError as error:
        return ScheduleFigures(execution, str(error), factor)


def chip_figures(rollout: Rollout, program: ChipProgram) -> ChipFigures:
    """Work out what a program tells."""
    scale = 1 if rollout.is_tick_level else program.ticks_per_step
    outputs = rollout.network.outputs
    return ChipFigures(
        program.n_cores,
        program.period,
        None if rollout.is_tick_level else scale,
        min(rollout.first_response(name) for name in outputs) * scale,
        max(rollout.full_response(name) for name in outputs) * scale,
        program.chip.tick_seconds or 1e-3,
    )


def timeline_row(rollout: Rollout, program: ChipProgram) -> ReportRow:
    """Make as much of a row of the report as a timeline is drawn from."""
    pattern = rollout.pattern
    return ReportRow(
        pattern=pattern.name,
        execution=rollout.execution,
        status="mapped",
        streaming_edges=pattern.streaming_edges,
        bridging_edges=tuple(pattern.bridging_edges.items()),
        frame_period_ticks=program.period,
        ports=program.nodes,
        rollout=rollout,
    )
