"""Figures of a rollout: from its schedule at once, from its program once it is mapped."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.arrays.times import Time
from neuromap.errors import NeuromapError
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.report.figures.row import ReportRow
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["ChipFigures", "ScheduleFigures", "chip_figures", "schedule_figures", "timeline_row"]


@dataclass(frozen=True)
class ScheduleFigures(Card):
    """What the schedule alone tells, in update steps of its execution.

    Attributes
    ----------
    execution : str
        The time axis.
    problem : str
        Why there is no schedule, in one line; empty where there is.
    inference_factor : int or None
        F of the pattern.
    frame_period, first_response, full_response : int, Fraction or None
        In update steps; the first response of any output, the full response of all.
    is_exact : bool
        Whether the full response is exact; else it is an upper bound.
    """

    execution: str
    problem: str = ""
    inference_factor: int | None = None
    frame_period: Time | None = None
    first_response: int | None = None
    full_response: int | None = None
    is_exact: bool = True


@dataclass(frozen=True)
class ChipFigures(Card):
    """What a program tells, in ticks.

    Attributes
    ----------
    cores : int
        Cores in use.
    frame_period : int or Fraction
        In ticks.
    ticks_per_step : int or None
        None where the schedule is one of ticks.
    first_response, full_response : int
        In ticks, predicted from the schedule that was mapped.
    tick_seconds : float
        Length of a tick.
    """

    cores: int
    frame_period: Time
    ticks_per_step: int | None
    first_response: int
    full_response: int
    tick_seconds: float

    @property
    def sampling_hz(self) -> float:
        """Input frames per second."""
        return float(1 / (self.frame_period * self.tick_seconds))


def schedule_figures(pattern: RolloutPattern, execution: str) -> ScheduleFigures:
    """Work out what the schedule tells; a pattern without one gives its problem.

    Parameters
    ----------
    pattern : RolloutPattern
        Valid or not.
    execution : str
        As of :class:`neuromap.Rollout`.
    """
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
    """Work out what a program tells.

    Parameters
    ----------
    rollout : Rollout
        The schedule as it was mapped.
    program : ChipProgram
        What was mapped from it.
    """
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
