"""Jobs done by processes of this machine, any of which may be killed at any moment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from neuromap.errors import NeuromapError
from neuromap.jobs.as_done import DoneJob, Lost
from neuromap.jobs.workers import check_processes, end_silently

__all__ = ["MOST_TRIES", "LocalProcesses"]

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")

MOST_TRIES = 3
"""Processes that a job may cost: what ends three of them is likely to end the next one too."""


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


class LocalProcesses(Generic[Shared, Job, Result]):
    """Does jobs in processes of this machine; see :class:`~neuromap.jobs.as_done.JobRunner`.

    Every process has a pipe of its own, so that one that dies names its job: it is given to a new one, three times at
    most. The processes are started anew (spawned), so a script that asks for more than one needs
    ``if __name__ == "__main__"``; they end with this one, however it ends.

    Parameters
    ----------
    work : callable
        ``work(shared, job)``: a function of a module.
    shared : Shared
        Goes to every process once, pickled.
    processes : int
        1 for none but this one; see :func:`~neuromap.jobs.workers.check_processes`.
    what : str
        What messages call the whole work, such as ``"sweep"``.
    """

    def __init__(self, work: Callable[[Shared, Job], Result], shared: Shared, processes: int, what: str) -> None:
        self._work, self._shared, self._what = work, shared, what
        self._processes = check_processes(processes)
        self._workers: list[_Worker[Job]] = []
        self._failed_starts = 0

    def __enter__(self) -> LocalProcesses[Shared, Job, Result]:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for worker in self._workers:  # what they are at is of no use to anybody any more
            worker.process.terminate()
        for worker in self._workers:
            _end(worker)
        self._workers.clear()

    def results(self, jobs: Iterable[Job]) -> Iterator[list[DoneJob[Job, Result]]]:
        """Do all jobs; see :meth:`JobRunner.results <neuromap.jobs.as_done.JobRunner.results>`.

        Raises
        ------
        NeuromapError
            If processes end before they have begun.
        """
        if self._processes == 1:
            for job in jobs:
                yield [DoneJob(job, self._work(self._shared, job))]
            return
        todo = (_Try(job) for job in jobs)
        again: list[_Try[Job]] = []
        while True:
            self._hand_out(todo, again)
            if all(worker.task is None for worker in self._workers) and not again:
                return
            done = self._next_done(again)
            if done:
                yield done

    def _hand_out(self, todo: Iterator[_Try[Job]], again: list[_Try[Job]]) -> None:
        """Give every process without a job the next one, starting processes as long as there are jobs for them."""
        for worker in self._workers:
            if worker.task is None:
                self._give(worker, again.pop() if again else next(todo, None))
        while len(self._workers) < self._processes:
            task = again.pop() if again else next(todo, None)
            if task is None:
                return
            self._workers.append(self._start())
            self._give(self._workers[-1], task)

    def _give(self, worker: _Worker[Job], task: _Try[Job] | None) -> None:
        worker.task = task
        if task is not None and worker.is_there:
            _send(worker.pipe, task.job)

    def _next_done(self, again: list[_Try[Job]]) -> list[DoneJob[Job, Result]]:
        """Wait for what some processes have to say: that they are there, a result, an error, or that they are dead."""
        done = []
        for pipe in wait([worker.pipe for worker in self._workers if worker.task is not None]):
            worker = next(w for w in self._workers if w.pipe is pipe)
            try:
                kind, value = worker.pipe.recv()
            except (EOFError, OSError):
                done += self._bury(worker, again)
                continue
            if kind == "error":
                raise value
            if kind == "there":
                worker.is_there, self._failed_starts = True, 0
                _send(worker.pipe, (self._work, self._shared))
                self._give(worker, worker.task)
            elif worker.task is not None:
                done.append(DoneJob[Job, Result](worker.task.job, value))
                worker.task = None
        return done

    def _bury(self, worker: _Worker[Job], again: list[_Try[Job]]) -> list[DoneJob[Job, Result]]:
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
            again.append(task)
            return []
        how = f"{MOST_TRIES} processes that did it were ended, perhaps for want of memory; use fewer processes"
        return [DoneJob[Job, Result](task.job, Lost(f"{self._what}: {how}"))]

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
    end_silently()
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
