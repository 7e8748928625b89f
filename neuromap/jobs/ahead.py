"""``Ahead``: jobs that are begun before it is known whether their results are wanted."""

from __future__ import annotations

from typing import Generic, TypeVar

from neuromap.jobs.as_done import Failed, JobRunner, Lost, not_lost

__all__ = ["Ahead"]

Job = TypeVar("Job")
Result = TypeVar("Result")


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
        found = self._ended.pop(name)
        if isinstance(found, Failed):
            raise found.error
        return not_lost(found)
