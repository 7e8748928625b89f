"""``run_sweep``: all runs of a spec that a store does not have yet, on processes or on a cluster."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import DoesNotFitError, InputError, NeuromapError, PatternError, VerificationError
from neuromap.files.argument_checks import needs
from neuromap.jobs.ahead import DoneJob, JobRunner, Lost
from neuromap.jobs.runners import Workers, job_runner
from neuromap.jobs.silent import silent
from neuromap.mapping.map_rollout import MappedRollout, map_with_stages
from neuromap.report.figures.row import ReportRow
from neuromap.report.measure_row import make_row, row_of_program
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.choose_frames import RandomFrames, choose_frames
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.sweep.run_store import RunStore
from neuromap.sweep.run_table import RunTable, load_runs
from neuromap.sweep.sweep_spec import RunJob, RunOutcome, RunStatus, SweepRun, SweepSpec, runs_of
from neuromap.version import __version__

_SEEDS_PER_JOB = 16
"""Runs of a job, at most: as many are done again where its worker dies."""
_Job = tuple[RunJob, tuple[str, ...]]
_Runner = JobRunner[RunJob, tuple[RunOutcome, ...]]


def run_sweep(
    spec: SweepSpec,
    store: str | Path,
    *,
    processes: int = 1,
    scheduler: str | None = None,
    progress: Callable[[str, int, int], object] = silent,
) -> RunTable:
    """Do all runs of a sweep, and keep each in the store as soon as it is done.

    Parameters
    ----------
    spec : SweepSpec
        What is asked for.
    store : str or Path
        File of the rows; runs that are done there are not done again.
    processes : int
        Processes of this machine; 1 for none but this one.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster, whose workers do the runs instead.
    progress : callable
        ``progress(what, runs done, runs in all)``.

    Returns
    -------
    RunTable
        All rows of the store, those of other specs included.

    Raises
    ------
    InputError
        If a number is out of range, the store is no store, or the scheduler does not answer.
    NotSupportedError
        If Dask is not installed.
    NeuromapError
        If there are no workers to be had; what was done is in the store.
    """
    needs("run_sweep", spec, SweepSpec)
    workers = Workers(processes, scheduler).check()
    planned: list[_Job] = []
    with RunStore(store) as kept:
        kept.plan(_noted(runs_of(spec), planned))
        done = kept.done()
        keys = {key for _, its_keys in planned for key in its_keys}
        n_done = sum(key in done for key in keys)
        progress(spec.name, n_done, len(keys))
        with job_runner(measure_runs, work_of(spec), workers.at_most(len(keys) - n_done), "sweep") as runner:
            for batch in _batches(runner, _jobs(planned, done)):
                kept.add(batch)
                n_done += len(batch)
                progress(spec.name, n_done, len(keys))
    return load_runs(store)


def _noted(runs: Iterable[tuple[RunJob, tuple[SweepRun, ...]]], planned: list[_Job]) -> Iterator[SweepRun]:
    """Go through runs, which are hashed on the way, and note the keys of each job."""
    for job, its_runs in runs:
        planned.append((job, tuple(run.key for run in its_runs)))
        yield from its_runs


def _jobs(planned: Iterable[_Job], done: set[str]) -> Iterator[_Job]:
    """Cut what is not done into jobs; of runs with the same key the first is done."""
    begun = set(done)
    for job, keys in planned:
        left = [(seed, key) for seed, key in zip(job.seeds, keys, strict=True) if key not in begun]
        begun.update(key for _, key in left)
        for first in range(0, len(left), _SEEDS_PER_JOB):
            seeds, its_keys = zip(*left[first : first + _SEEDS_PER_JOB], strict=True)
            yield job._replace(seeds=seeds), its_keys


def _batches(runner: _Runner, jobs: Iterable[_Job]) -> Iterator[list[tuple[str, RunOutcome]]]:
    """Do jobs, and give what became of their runs, by key, as it comes."""
    keys: dict[RunJob, tuple[str, ...]] = {}

    def taken() -> Iterator[RunJob]:
        for job, its_keys in jobs:
            keys[job] = its_keys
            yield job

    for batch in runner.results(taken()):
        yield [pair for done in batch for pair in _outcomes(done, keys.pop(done.job))]


def _outcomes(done: DoneJob[RunJob, tuple[RunOutcome, ...]], keys: tuple[str, ...]) -> list[tuple[str, RunOutcome]]:
    if isinstance(done.result, Lost):
        lost = RunOutcome("lost", "process", NeuromapError.exit_code, done.result.message)
        return [(key, lost) for key in keys]
    return list(zip(keys, done.result, strict=True))


# Runs of a sweep that share a program: mapped once, then measured for every seed.


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


# Figures of a run, taken from its row of the report.
_Part = Mapping[str, Callable[[Any], Any]]
_OF_ROW: _Part = ReadOnlyMapping(
    {
        "frame_period_ticks": lambda row: None if row.frame_period_ticks is None else float(row.frame_period_ticks),
        "largest_gap_ticks": lambda row: row.largest_gap_ticks,
        "sampling_frequency_hz": lambda row: row.sampling_frequency_hz,
        "predicted_first_response_ticks": lambda row: row.predicted.first_response_ticks,
        "measured_first_response_ticks": lambda row: row.measured.first_response_ticks,
        "measured_first_response_seconds": lambda row: row.measured.first_response_seconds,
        "predicted_full_response_ticks": lambda row: row.predicted.full_response_ticks,
        "measured_full_response_ticks": lambda row: row.measured.full_response_ticks,
        "measured_full_response_seconds": lambda row: row.measured.full_response_seconds,
        "worst_case_reaction_ticks": lambda row: row.worst_case_reaction_ticks,
        "core_bound": lambda row: None if row.core_bound is None else row.core_bound.total,
        "verified": lambda row: row.verified,
    }
)
_OF_USAGE: _Part = ReadOnlyMapping(
    {
        "cores": lambda usage: usage.cores,
        "neurons": lambda usage: usage.neurons,
        "copies": lambda usage: usage.copies,
        "relays": lambda usage: usage.relays,
        "mean_hops": lambda usage: usage.mean_hops,
        "longest_way_hops": lambda usage: usage.longest_way,
    }
)
_OF_FIGURES: _Part = ReadOnlyMapping(
    {
        "spikes_per_frame": lambda figures: figures.network_on_chip.spikes_per_frame,
        "hops_per_frame": lambda figures: figures.network_on_chip.hops_per_frame,
        "synaptic_events_per_frame": lambda figures: figures.work.synaptic_events_per_frame,
        "joules_per_frame": lambda figures: figures.energy.joules_per_frame,
        "watts": lambda figures: figures.energy.watts,
    }
)


def row_figures(row: ReportRow) -> dict[str, float | bool]:
    """Give the figures of a run that are known."""
    parts = ((_OF_ROW, row), (_OF_USAGE, row.usage), (_OF_FIGURES, row.figures))
    found = {key: take(part) for figures, part in parts if part is not None for key, take in figures.items()}
    return {key: value for key, value in found.items() if value is not None}
