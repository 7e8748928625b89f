"""Jobs done by processes of this machine, any of which may be killed at any moment."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, Self, TypeVar

from neuromap.errors import InputError, NeuromapError
from neuromap.files.given import whole_number
from neuromap.jobs.as_done import EndedJob, Failed, JobRunner, Lost

__all__ = ["MOST_TRIES", "LocalProcesses", "check_processes"]

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")

MOST_TRIES = 3
"""Processes that a job may cost: what ends three of them is likely to end the next one too."""
_MOST_PROCESSES = 1024


@dataclass
class _Try(Generic[Job]):
    """A job, and how many processes it has cost."""

    job: Job
    ended: int = 0


@dataclass
class _Worker(Generic[Job]):
    """A process, our end of its pipe, and what it is at; it takes a job only after it has said that it is there."""

    process: BaseProcess
    pipe: Connection
    task: _Try[Job] | None = None
    is_there: bool = False


class LocalProcesses(JobRunner[Job, Result], Generic[Shared, Job, Result]):
    """Does jobs in processes of this machine; see :class:`~neuromap.jobs.as_done.JobRunner`."""

    # Every process has a pipe of its own, so that one that dies names its job: it is given to a new one, three times at
    # most. The processes are started anew (spawned), so a script that asks for more than one needs ``if __name__ ==
    # "__main__"``; they end with this one, however it ends.

    def __init__(self, work: Callable[[Shared, Job], Result], shared: Shared, processes: int, what: str) -> None:
        self._work, self._shared, self._what = work, shared, what
        self._processes = check_processes(processes)
        self._workers: list[_Worker[Job]] = []
        self._todo: deque[_Try[Job]] = deque()
        self._failed_starts = 0

    @property
    def at_once(self) -> int:
        """Processes."""
        return self._processes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for worker in self._workers:  # what they are at is of no use to anybody any more
            worker.process.terminate()
        for worker in self._workers:
            _end(worker)
        self._workers.clear()
        self._todo.clear()

    def give(self, job: Job) -> None:
        """Have a job done; see :meth:`JobRunner.give <neuromap.jobs.as_done.JobRunner.give>`."""
        self._todo.append(_Try(job))
        if self._processes > 1:
            self._hand_out()

    def next_done(self) -> list[EndedJob[Job, Result]]:
        """Wait for jobs; see :meth:`JobRunner.next_done <neuromap.jobs.as_done.JobRunner.next_done>`."""
        if self._processes == 1:
            job = self._todo.popleft().job
            return [EndedJob(job, self._work(self._shared, job))]
        ended: list[EndedJob[Job, Result]] = []
        while not ended:
            for pipe in wait([worker.pipe for worker in self._workers if worker.task is not None]):
                ended += self._heard(next(worker for worker in self._workers if worker.pipe is pipe))
            self._hand_out()
        return ended

    def _hand_out(self) -> None:
        """Give every process without a job the next one, starting processes as long as there are jobs for them."""
        for worker in self._workers:
            if worker.task is None and self._todo:
                self._give(worker, self._todo.popleft())
        while self._todo and len(self._workers) < self._processes:
            self._workers.append(self._start())
            self._give(self._workers[-1], self._todo.popleft())

    def _give(self, worker: _Worker[Job], task: _Try[Job]) -> None:
        worker.task = task
        if worker.is_there:
            _send(worker.pipe, task.job)

    def _heard(self, worker: _Worker[Job]) -> list[EndedJob[Job, Result]]:
        """Take what a process has to say: that it is there, a result, an error, or that it is dead."""
        try:
            kind, value = worker.pipe.recv()
        except (EOFError, OSError):
            return self._bury(worker)
        task = worker.task
        if task is None:
            return []
        if kind == "there":
            worker.is_there, self._failed_starts = True, 0
            _send(worker.pipe, (self._work, self._shared))
            self._give(worker, task)
            return []
        worker.task = None
        return [EndedJob(task.job, Failed(value) if kind == "error" else value)]

    def _bury(self, worker: _Worker[Job]) -> list[EndedJob[Job, Result]]:
        """Forget a process that died; its job goes to another one, or is lost."""
        self._workers.remove(worker)
        _end(worker)
        task = worker.task
        if task is None:
            return []
        if not worker.is_there:  # it never saw the job
            self._failed_starts += 1
            if self._failed_starts > MOST_TRIES * self._processes:
                raise NeuromapError(
                    f"{self._what}: processes end before they have begun ({self._failed_starts} in a row); use fewer, "
                    'and in a script of your own begin with if __name__ == "__main__"'
                )
        else:
            task.ended += 1
        if task.ended < MOST_TRIES:
            self._todo.appendleft(task)
            return []
        how = f"{MOST_TRIES} processes that did it were ended, perhaps for want of memory; use fewer processes"
        return [EndedJob[Job, Result](task.job, Lost(f"{self._what}: {how}"))]

    def _start(self) -> _Worker[Job]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        # what is shared goes over our pipe: multiprocessing's own blocks for ever if a process dies before it reads
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()  # else its end would not be seen from here
        return _Worker(process, ours)


def _serve(pipe: Connection) -> None:
    """Do jobs until there are no more; runs in a process of its own."""
    _end_silently()
    _send(pipe, ("there", None))
    try:
        work, shared = pipe.recv()
        while True:
            _send(pipe, _answer(work, shared, pipe.recv()))
    except (EOFError, OSError):
        return


def _answer(work: Callable[[Any, Any], Any], shared: Any, job: Any) -> tuple[str, Any]:
    try:
        return "done", work(shared, job)
    except Exception as error:
        return "error", error


def _send(pipe: Connection, value: object) -> None:
    """Send to a process that may be dead: what waits for its answer will notice."""
    try:
        pipe.send(value)
    except OSError:
        return


def _end(worker: _Worker[Any]) -> None:
    worker.process.join()
    worker.pipe.close()


def _end_silently() -> None:
    """End without a word where the work is interrupted, and also where whoever asked for it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # a job may take hours yet, and write what another run writes too


def check_processes(processes: int, name: str = "processes =") -> int:
    """Give a number of processes back, unless it is out of range; ``name`` is what the message calls it."""
    whole_number("processes", processes)
    if not 1 <= processes <= _MOST_PROCESSES:
        raise InputError(f"{name} {processes}: must be 1 to {_MOST_PROCESSES}")
    return processes
