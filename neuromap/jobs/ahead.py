"""``Ahead``: jobs started before it is known whether their results are needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, Self, TypeVar

from neuromap.errors import NeuromapError
from neuromap.version import __version__

Job = TypeVar("Job")
Result = TypeVar("Result")
# Most processes of this machine.
MOST_PROCESSES = 1024
SCHEDULER = "ADDRESS  Let the workers of this Dask cluster do it (extra cluster), such as tcp://10.0.0.1:8786."
"""Text of the option that names a cluster."""


class Ahead(Generic[Job, Result]):
    """Speculative jobs; results come in the order requested, whichever job ends first."""

    def __init__(self, runner: JobRunner[tuple[str, Job], Result]) -> None:
        self._runner = runner
        self._begun: set[str] = set()
        self._ended: dict[str, Result | Exception] = {}

    def prepare(self, name: str, job: Job) -> None:
        """Start a job that is likely to be requested under this name."""
        if name not in self._begun:
            self._begun.add(name)
            self._runner.give((name, job))

    def get(self, name: str, job: Job) -> Result:
        """Return the result of a job, started now unless it was prepared."""
        self.prepare(name, job)
        while name not in self._ended:
            self._ended |= {ended: result for (ended, _), result in self._runner.next_done()}
        self._begun.remove(name)
        return not_lost(self._ended.pop(name))


# Jobs whose results come in order of completion, on local processes or a cluster.


class Lost(NeuromapError):
    """Takes the place of a result: every process that did the job was killed."""


class DoneJob(NamedTuple, Generic[Job, Result]):
    """A job that has ended."""

    job: Job  # as it was given
    result: Result | Exception  # what came of it: a result, what its work raised, or :class:`Lost`


class JobRunner(ABC, Generic[Job, Result]):
    """Runs jobs on the available workers; a context manager."""

    # Workers call ``work(shared, job)``; each receives ``shared`` once. To run many jobs, use ``results``; to decide
    # from job to job, use ``give`` and ``next_done``.

    @property
    @abstractmethod
    def at_once(self) -> int:
        """Number of jobs that run at the same time, 1 or more; changes as workers come and go."""

    @property
    def enough(self) -> int:
        """Number of jobs to keep under way so that no worker is idle."""
        return self.at_once

    @abstractmethod
    def give(self, job: Job) -> None:
        """Submit a job, to run as soon as a worker is free."""

    @abstractmethod
    def next_done(self) -> list[DoneJob[Job, Result]]:
        """Wait until one or more of the jobs under way have ended; there must be one."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...

    def results(self, jobs: Iterable[Job]) -> Iterator[list[DoneJob[Job, Result]]]:
        """Run all jobs, taken from their iterable only as workers become free; raise what the work of one raises."""
        todo, n_under_way = iter(jobs), 0
        while True:
            for job in islice(todo, max(0, self.enough - n_under_way)):
                self.give(job)
                n_under_way += 1
            if not n_under_way:
                return
            done = self.next_done()
            for _, result in done:
                if not isinstance(result, Lost):
                    not_lost(result)
            n_under_way -= len(done)
            yield done


def require_one_version(asked: str) -> None:
    """Refuse work for a command whose version is not this worker's."""
    if asked != __version__:
        raise NeuromapError(
            f"a worker has neuromap {__version__}, this command {asked}; install one version everywhere"
        )


def not_lost(result: Result | Exception) -> Result:
    """Return a result, or raise what takes its place."""
    if isinstance(result, Lost):  # users know its message, and no such kind of error
        raise NeuromapError(str(result))
    if isinstance(result, Exception):
        raise result
    return result
