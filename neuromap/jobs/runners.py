"""``job_runner``: what does jobs, by the name of a scheduler or a number of processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from neuromap.errors import InputError
from neuromap.jobs.as_done import JobRunner
from neuromap.jobs.dask_cluster import DaskCluster
from neuromap.jobs.local_processes import LocalProcesses, check_processes

__all__ = ["Workers", "job_runner"]

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")


class Workers(NamedTuple):
    """Who does jobs."""

    processes: int = 1  # processes of this machine; 1 for none but this one
    scheduler: str | None = None  # address of the scheduler of a Dask cluster, whose workers do the jobs instead

    def check(self) -> Workers:
        """Give them back, unless they are out of range or both are asked for."""
        check_processes(self.processes)
        if self.scheduler is not None and self.processes != 1:
            raise InputError(
                f"processes = {self.processes}: are of this machine, and scheduler {self.scheduler} has workers; "
                "drop one"
            )
        return self

    def at_most(self, jobs: int) -> Workers:
        """Give the same with no more processes than there are jobs."""
        return self._replace(processes=min(self.processes, max(1, jobs)))


def job_runner(
    work: Callable[[Shared, Job], Result], shared: Shared, workers: Workers, what: str
) -> JobRunner[Job, Result]:
    """Make what does jobs."""
    processes, scheduler = workers.check()
    if scheduler is not None:
        return DaskCluster(work, shared, scheduler, what)
    return LocalProcesses(work, shared, processes, what)
