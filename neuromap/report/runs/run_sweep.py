"""``run_sweep``: all runs of a spec that a store does not have yet, on processes or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from neuromap.errors import NeuromapError
from neuromap.files.given import needs
from neuromap.jobs.as_done import DoneJob, JobRunner, Lost
from neuromap.jobs.runners import Workers, job_runner
from neuromap.jobs.silent import silent
from neuromap.report.runs.measure_runs import measure_runs, work_of
from neuromap.sweep.spec.sweep_run import RunJob, RunOutcome, SweepRun, runs_of
from neuromap.sweep.spec.sweep_spec import SweepSpec
from neuromap.sweep.store.run_store import RunStore
from neuromap.sweep.store.run_table import RunTable, load_runs

__all__ = ["run_sweep"]

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
