"""Jobs whose results come as they are done: what local processes and a cluster have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

__all__ = ["DoneJob", "JobRunner", "Lost"]

Job = TypeVar("Job")
Result = TypeVar("Result")


class Lost(NamedTuple):
    """In the place of a result: every process that did the job was ended from outside.

    Attributes
    ----------
    message : str
        What became of them, in one line.
    """

    message: str


class DoneJob(NamedTuple, Generic[Job, Result]):
    """A job with its result.

    Attributes
    ----------
    job : Job
        As it was given.
    result : Result or Lost
        What came of it.
    """

    job: Job
    result: Result | Lost


class JobRunner(Protocol[Job, Result]):
    """Does jobs as there are workers for them; a context manager.

    Workers are given ``work(shared, job)``, ``shared`` once each. Jobs are taken from their iterable as workers come
    free, so that there are never more under way than the workers need.
    """

    def __enter__(self) -> JobRunner[Job, Result]: ...

    def __exit__(self, kind: object, error: object, trace: object) -> None: ...

    def results(self, jobs: Iterable[Job]) -> Iterator[list[DoneJob[Job, Result]]]:
        """Do all jobs.

        Yields
        ------
        list of DoneJob
            What was done at the same time, one or more; in no order.

        Raises
        ------
        NeuromapError
            If no worker can be had. An exception of ``work`` itself is the caller's.
        """
        ...
