"""``Ahead``: jobs that are begun before it is known whether their results are wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, Self, TypeVar

from neuromap.errors import NeuromapError
from neuromap.version import __version__

Job = TypeVar("Job")
Result = TypeVar("Result")
# Processes of this machine, at most.
MOST_PROCESSES = 1024


class Ahead(Generic[Job, Result]):
    """Gives results in the order in which they are asked for, whatever is done first."""

    def __init__(self, runner: JobRunner[tuple[str, Job], Result]) -> None:
        self._runner = runner
        self._begun: set[str] = set()
        self._ended: dict[str, Result | Lost | Failed] = {}

    def prepare(self, name: str, job: Job) -> None:
        """Begin a job that is likely to be asked for under this name."""
        if name not in self._begun:
            self._begun.add(name)
            self._runner.give((name, job))

    def get(self, name: str, job: Job) -> Result:
        """Do a job, or wait for it where it was begun."""
        self.prepare(name, job)
        while name not in self._ended:
            self._ended |= {ended: result for (ended, _), result in self._runner.next_done()}
        self._begun.remove(name)
        return not_lost(not_failed(self._ended.pop(name)))


# Jobs whose results come as they are done: what local processes and a cluster have in common.


class Lost(NamedTuple):
    """In the place of a result: every process that did the job was ended from outside."""

    message: str  # what became of them, in one line


class Failed(NamedTuple):
    """In the place of a result: what the work raised."""

    error: Exception  # the exception


class DoneJob(NamedTuple, Generic[Job, Result]):
    """A job with its result."""

    job: Job  # as it was given
    result: Result | Lost  # what came of it


class EndedJob(NamedTuple, Generic[Job, Result]):
    """A job that is no longer under way."""

    job: Job  # as it was given
    result: Result | Lost | Failed  # what came of it


class JobRunner(ABC, Generic[Job, Result]):
    """Does jobs as there are workers for them; a context manager."""

    # Workers are given ``work(shared, job)``, ``shared`` once each. Who wants all of many jobs done takes ``results``;
    # who decides from job to job gives each and waits for what is done next.

    @property
    @abstractmethod
    def at_once(self) -> int:
        """Jobs that are done at the same time, 1 or more; it changes as workers come and go."""

    @property
    def enough(self) -> int:
        """Jobs that are to be under way so that no worker waits for us."""
        return self.at_once

    @abstractmethod
    def give(self, job: Job) -> None:
        """Have a job done as soon as a worker is free."""

    @abstractmethod
    def next_done(self) -> list[EndedJob[Job, Result]]:
        """Wait until some of the jobs under way, one or more, have ended; there must be one."""

    @abstractmethod
    def __enter__(self) -> Self: ...

    @abstractmethod
    def __exit__(self, kind: object, error: object, trace: object) -> None: ...

    def results(self, jobs: Iterable[Job]) -> Iterator[list[DoneJob[Job, Result]]]:
        """Do all jobs; they are taken from their iterable as workers come free, no more than these need."""
        todo, n_under_way = iter(jobs), 0
        while True:
            for job in islice(todo, max(0, self.enough - n_under_way)):
                self.give(job)
                n_under_way += 1
            if not n_under_way:
                return
            done = [DoneJob(job, not_failed(result)) for job, result in self.next_done()]
            n_under_way -= len(done)
            yield done


def require_one_version(asked: str) -> None:
    """Refuse work for a command of another version than that of this worker."""
    if asked != __version__:
        raise NeuromapError(
            f"a worker has neuromap {__version__}, this command {asked}; install one version everywhere"
        )


def not_lost(result: Result | Lost) -> Result:
    """Give a result back, unless it is none."""
    if isinstance(result, Lost):
        raise NeuromapError(result.message)
    return result


def not_failed(result: Result | Lost | Failed) -> Result | Lost:
    """Give a result back, or raise what its work raised."""
    if isinstance(result, Failed):
        raise result.error
    return result
