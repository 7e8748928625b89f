"""Worker processes: jobs done ahead of being asked for, and the same in one process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Generic, TypeVar

from neuromap.errors import InputError, NeuromapError
from neuromap.files.given import whole_number

__all__ = ["Workers", "check_processes", "end_silently"]

Job = TypeVar("Job")
Result = TypeVar("Result")

_MOST_PROCESSES = 1024


class Workers(Generic[Job, Result]):
    """Does jobs, in other processes where more than one is asked for; a context manager.

    The processes are started anew (spawned), so a script that asks for more than one needs
    ``if __name__ == "__main__"``. An interrupt ends them without a word, and so does leaving the context.

    Parameters
    ----------
    work : callable
        ``work(job)`` gives the result of a job. For several processes it must travel between them, with its jobs and
        results: a function of a module, or one of :func:`functools.partial` with values that can be pickled.
    processes : int
        1 for none but this one; see :func:`check_processes`.
    what : str
        What messages call the whole work, such as ``"explore"``.
    """

    def __init__(self, work: Callable[[Job], Result], processes: int, what: str) -> None:
        self._work, self._processes, self._what = work, processes, what
        self._pool: ProcessPoolExecutor | None = None
        self._under_way: dict[Hashable, Future[Result]] = {}
        self._others: set[BaseProcess] = set()

    @property
    def processes(self) -> int:
        """Processes that work: so many jobs are done at the same time."""
        return self._processes

    def __enter__(self) -> Workers[Job, Result]:
        if self._processes > 1:
            self._others = set(multiprocessing.active_children())
            self._pool = ProcessPoolExecutor(
                self._processes,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=end_silently,
            )
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._pool is None:
            return
        workers = set(multiprocessing.active_children()) - self._others
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in workers:  # what they are at is of no use to anybody any more
            process.terminate()
        for process in workers:
            process.join()

    def prepare(self, name: Hashable, job: Job) -> None:
        """Begin a job that is likely to be asked for under this name; nothing happens where there is one process."""
        if self._pool is not None and name not in self._under_way:
            self._under_way[name] = self._pool.submit(self._work, job)

    def get(self, name: Hashable, job: Job) -> Result:
        """Do a job, or wait for it where it was begun.

        Raises
        ------
        NeuromapError
            If a worker was ended from outside.
        """
        if self._pool is None:
            return self._work(job)
        self.prepare(name, job)
        try:
            return self._under_way.pop(name).result()
        except BrokenExecutor:
            raise NeuromapError(
                f"{self._what}: one of {self._processes} processes was ended, perhaps for want of memory; use fewer"
            ) from None


def check_processes(processes: int, name: str = "processes =") -> int:
    """Give a number of processes back, unless it is out of range; ``name`` is what the message calls it.

    Raises
    ------
    InputError
        If it is below 1, or beyond what any machine can use.
    """
    whole_number("processes", processes)
    if not 1 <= processes <= _MOST_PROCESSES:
        raise InputError(f"{name} {processes}: must be 1 to {_MOST_PROCESSES}")
    return processes


def end_silently() -> None:
    """End without a word where the work is interrupted, and also where whoever asked for it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # a job may take hours yet, and write what another run writes too
