"""Runs of a sweep that share a program: mapped once, then measured for every seed."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from neuromap.errors import DoesNotFitError, InputError, NeuromapError, PatternError, VerificationError
from neuromap.mapping.map_rollout import MappedRollout, map_with_stages
from neuromap.report.figures.row import ReportRow
from neuromap.report.measuring.report_row import make_row, row_of_program
from neuromap.report.runs.row_figures import row_figures
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.stimulus.choose_frames import RandomFrames, choose_frames
from neuromap.sweep.spec.sweep_run import RunJob, RunOutcome, RunStatus
from neuromap.sweep.spec.sweep_spec import SweepSpec
from neuromap.version import __version__

__all__ = ["Work", "measure_runs", "work_of"]

Found = TypeVar("Found")

Work = tuple[str, SweepSpec]
"""What all jobs share: the version of neuromap that asks, and the spec."""


def work_of(spec: SweepSpec) -> Work:
    """Give what :func:`measure_runs` shares between its jobs."""
    return __version__, spec


def measure_runs(work: Work, job: RunJob) -> tuple[RunOutcome, ...]:
    """Do the runs of a job."""
    version, spec = work
    if version != __version__:
        raise NeuromapError(
            f"a worker has neuromap {__version__}, this command {version}; install one version everywhere"
        )
    rollout = _tried("schedule", partial(_scheduled, spec, job))
    if isinstance(rollout, RunOutcome):
        return (rollout,) * len(job.seeds)
    mapped = _tried("map", partial(map_with_stages, rollout, spec.chips[job.chip].chip, spec.options))
    if isinstance(mapped, RunOutcome):
        return (mapped,) * len(job.seeds)
    known = _tried("map", partial(row_of_program, mapped.rollout, mapped.program))
    if isinstance(known, RunOutcome):
        return (known,) * len(job.seeds)
    return tuple(_tried("simulate", partial(_simulated, spec, mapped, known, seed)) for seed in job.seeds)


def _scheduled(spec: SweepSpec, job: RunJob) -> Rollout:
    pattern = spec.patterns[job.pattern]
    return Rollout(pattern.network, pattern, job.execution)


def _simulated(spec: SweepSpec, mapped: MappedRollout, known: ReportRow, seed: int) -> RunOutcome:
    frames, _ = choose_frames(mapped.rollout.network, None, RandomFrames(spec.n_frames, seed, spec.density))
    choice = EngineChoice(spec.engine, 1, spec.noise_seed)
    row = make_row(mapped.rollout, mapped.program, [frames], choice, known)
    figures = row_figures(row)
    if row.verified is False:
        message = "" if row.verification is None else row.verification.message
        return RunOutcome("mapped", "simulate", VerificationError.exit_code, message, figures)
    return RunOutcome("mapped", figures=figures)


def _tried(stage: str, work: Callable[[], Found]) -> Found | RunOutcome:
    """Do a stage; whatever it raises is what became of the run."""
    try:
        return work()
    except NeuromapError as error:
        return RunOutcome(_status(stage, error), stage, error.exit_code, _line(str(error)))
    except MemoryError:
        return RunOutcome("failed", stage, NeuromapError.exit_code, "out of memory; use fewer processes")
    except Exception as error:  # a fault of ours: the other runs need not wait until it is mended
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{where.filename.rpartition('/')[2]}, line {where.lineno}"
        line = f"internal error, please report it: {type(error).__name__}: {error} ({place})"
        return RunOutcome("failed", stage, NeuromapError.exit_code, _line(line))


def _status(stage: str, error: NeuromapError) -> RunStatus:
    if isinstance(error, DoesNotFitError):
        return "does not fit"
    is_invalid = isinstance(error, PatternError) or (stage == "schedule" and isinstance(error, InputError))
    return "invalid" if is_invalid else "failed"


def _line(text: str) -> str:
    return " ".join(text.split())
