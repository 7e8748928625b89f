"""``job_runner``: runs jobs on the cluster of a scheduler, or on processes of this machine."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, NamedTuple, Self, TypeVar

from neuromap.errors import InputError, NeuromapError, NotSupportedError
from neuromap.files.argument_checks import whole_number
from neuromap.jobs.ahead import MOST_PROCESSES, DoneJob, JobRunner, Lost

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")


class Workers(NamedTuple):
    """Where jobs run."""

    processes: int = 1  # processes of this machine; 1 for this one alone
    scheduler: str | None = None  # address of the scheduler of a Dask cluster, whose workers run the jobs instead

    def check(self) -> Workers:
        """Return them, or refuse numbers out of range and requests for both."""
        check_processes(self.processes)
        if self.scheduler is not None and self.processes != 1:
            raise InputError(
                f"processes = {self.processes}: are of this machine, and scheduler {self.scheduler} has workers; "
                "drop one"
            )
        return self

    def at_most(self, jobs: int) -> Workers:
        """Return the same with no more processes than jobs."""
        return self._replace(processes=min(self.processes, max(1, jobs)))


def job_runner(
    work: Callable[[Shared, Job], Result], shared: Shared, workers: Workers, what: str
) -> JobRunner[Job, Result]:
    """Make the job runner for ``workers``."""
    processes, scheduler = workers.check()
    if scheduler is not None:
        return DaskCluster(work, shared, scheduler, what)
    return LocalProcesses(work, shared, processes, what)


# Jobs run by the workers of a Dask cluster (extra ``cluster``), any of which may die or join at any moment.
# Time within which a scheduler must answer.
_SECONDS = 10
# Jobs per thread of the cluster: one that runs and others queued there, so that no worker is idle.
_AHEAD = 3
# Retries of a job whose worker raised an exception.
_RETRIES = 2
_logger = logging.getLogger("neuromap")


class DaskCluster(JobRunner[Job, Result], Generic[Shared, Job, Result]):
    """Runs jobs on a Dask cluster; see :class:`~neuromap.jobs.ahead.JobRunner`."""

    # The scheduler reassigns the jobs of a dead worker, and gives up a job that took more workers along than its
    # ``allowed-failures``, by default at the fourth. What jobs share is a task of its own, so that it, too, is made
    # again if its workers die.

    def __init__(self, work: Callable[[Shared, Job], Result], shared: Shared, address: str, what: str) -> None:
        self._work, self._shared, self._address, self._what = work, shared, address, what
        self._client: Any = None
        self._shared_there: Any = None
        self._running: Any = None
        self._under_way: dict[str, tuple[Any, Job]] = {}
        self._silenced: list[logging.Logger] = []

    def __enter__(self) -> Self:
        ends = time.monotonic() + 0.95 * _SECONDS  # importing Dask takes part of it, and so does logging
        try:
            from distributed import as_completed
        except ImportError:
            raise NotSupportedError(
                f"{self._what}: a cluster needs Dask, which is not installed; pip install "
                "'neuromap-rollouts[cluster]', or leave the scheduler away for processes of this machine"
            ) from None
        self._silence_dask()
        try:
            self._client = _client(self._address, max(0.5, ends - time.monotonic()))
        except (OSError, ValueError, TypeError) as error:
            self._let_dask_speak()
            reason = "it stays silent" if isinstance(error, TimeoutError) else " ".join(str(error).split())[:200]
            raise InputError(
                f"scheduler {self._address}: does not answer within {_SECONDS} s ({reason}); start one with dask "
                "scheduler, and give the address that it prints"
            ) from None
        try:
            _logger.info("dashboard of the cluster: %s", self._client.dashboard_link)
            if not self._threads():
                _logger.info("the cluster has no workers yet; start some with dask worker %s", self._address)
            self._shared_there = self._submitted(_same, self._shared)
        except NeuromapError:
            self.__exit__(None, None, None)
            raise
        self._running = as_completed(loop=self._client.loop)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._client is not None:
            self._client.close(timeout=_SECONDS)
            self._under_way.clear()
            self._let_dask_speak()

    @property
    def at_once(self) -> int:
        """Threads of all workers; 1 as long as there are none."""
        return max(1, self._threads())

    @property
    def enough(self) -> int:
        """Several jobs per thread."""
        return _AHEAD * self.at_once

    def give(self, job: Job) -> None:
        """Submit a job; see :meth:`JobRunner.give <neuromap.jobs.ahead.JobRunner.give>`."""
        future = self._submitted(self._work, self._shared_there, job)
        self._under_way[future.key] = (future, job)
        self._running.add(future)

    def next_done(self) -> list[DoneJob[Job, Result]]:
        """Wait for jobs; see :meth:`JobRunner.next_done <neuromap.jobs.ahead.JobRunner.next_done>`."""
        batch = self._running.next_batch()
        return [DoneJob(self._under_way.pop(future.key)[1], self._result(future)) for future in batch]

    def _silence_dask(self) -> None:
        """Keep Dask from logging tracebacks; what matters is reported in one line here."""
        known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
        self._silenced = [logger for logger in map(logging.getLogger, known) if not logger.disabled]
        for logger in self._silenced:
            logger.disabled = True

    def _let_dask_speak(self) -> None:
        for logger in self._silenced:
            logger.disabled = False

    def _submitted(self, work: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._client.submit(work, *arguments, pure=False, retries=_RETRIES)
        except (OSError, RuntimeError):
            raise self._gone() from None

    def _threads(self) -> int:
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError):
            raise self._gone() from None

    def _gone(self) -> NeuromapError:
        return NeuromapError(
            f"{self._what}: scheduler {self._address}: went away; start one and give the same command again, which "
            "goes on with what is not done"
        )

    def _result(self, future: Any) -> Result | Exception:
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._gone()
        try:
            found: Result = future.result()
        except KilledWorker:
            how = "its workers were ended, perhaps for want of memory; give them more, or fewer threads"
            return Lost(f"{self._what}: {how}")
        except NeuromapError as error:
            return error
        except Exception as error:  # from Dask, or a worker that cannot import what it needs
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise NeuromapError(
                f"{self._what}: a worker of scheduler {self._address} failed ({reason}); have this version of neuromap "
                "on every worker"
            ) from None
        return found


def _client(address: str, seconds: float) -> Any:
    """Connect to a scheduler, or give up after some seconds."""
    # Dask limits the time to connect, but not the time that the other end then takes to identify itself.
    from distributed import Client

    class Bounded(Client):
        def start(self, **how: Any) -> None:
            try:
                super().start(callback_timeout=seconds, **how)
            except BaseException:
                with suppress(Exception):  # stop what was started, silently
                    self.close(timeout=1)
                raise

    return Bounded(address, timeout=seconds, set_as_default=False)


def _same(value: Shared) -> Shared:
    return value


# Jobs run by processes of this machine, any of which may be killed at any moment.


# Processes that a job may cost: one that ended three is likely to end the next, too.
MOST_TRIES = 3


@dataclass
class _Worker(Generic[Job]):
    """A process, our end of its pipe, and its job, sent only after the process has reported that it is there."""

    process: BaseProcess
    pipe: Connection
    task: tuple[Job, int] | None = None  # with the number of processes that the job has cost
    is_there: bool = False


class LocalProcesses(JobRunner[Job, Result], Generic[Shared, Job, Result]):
    """Runs jobs in processes of this machine; see :class:`~neuromap.jobs.ahead.JobRunner`."""

    # Every process has a pipe of its own, so the job of a dead one is known: it goes to a new process, three times at
    # most. Processes are spawned, so a script that asks for more than one needs ``if __name__ == "__main__"``; they end
    # with this one, however it ends.

    def __init__(self, work: Callable[[Shared, Job], Result], shared: Shared, processes: int, what: str) -> None:
        self._work, self._shared, self._what = work, shared, what
        self._processes = check_processes(processes)
        self._workers: list[_Worker[Job]] = []
        self._todo: deque[tuple[Job, int]] = deque()
        self._failed_starts = 0

    @property
    def at_once(self) -> int:
        """Number of processes."""
        return self._processes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for worker in self._workers:  # nobody needs their jobs any more
            worker.process.terminate()
        for worker in self._workers:
            _end(worker)
        self._workers.clear()
        self._todo.clear()

    def give(self, job: Job) -> None:
        """Submit a job; see :meth:`JobRunner.give <neuromap.jobs.ahead.JobRunner.give>`."""
        self._todo.append((job, 0))
        if self._processes > 1:
            self._hand_out()

    def next_done(self) -> list[DoneJob[Job, Result]]:
        """Wait for jobs; see :meth:`JobRunner.next_done <neuromap.jobs.ahead.JobRunner.next_done>`."""
        if self._processes == 1:
            job, _ = self._todo.popleft()
            return [DoneJob(job, self._work(self._shared, job))]
        ended: list[DoneJob[Job, Result]] = []
        while not ended:
            for pipe in wait([worker.pipe for worker in self._workers if worker.task is not None]):
                ended += self._heard(next(worker for worker in self._workers if worker.pipe is pipe))
            self._hand_out()
        return ended

    def _hand_out(self) -> None:
        """Give every idle process the next job, and start processes as long as there are jobs for them."""
        for worker in self._workers:
            if worker.task is None and self._todo:
                self._give(worker, self._todo.popleft())
        while self._todo and len(self._workers) < self._processes:
            self._workers.append(self._start())
            self._give(self._workers[-1], self._todo.popleft())

    def _give(self, worker: _Worker[Job], task: tuple[Job, int]) -> None:
        worker.task = task
        if worker.is_there:
            _send(worker.pipe, task[0])

    def _heard(self, worker: _Worker[Job]) -> list[DoneJob[Job, Result]]:
        """Handle what a process with a job reports: that it is there, a result or an error, or its death."""
        assert worker.task is not None
        try:
            result = worker.pipe.recv()
        except (EOFError, OSError):
            return self._bury(worker, *worker.task)
        if worker.is_there:
            done = DoneJob[Job, Result](worker.task[0], result)
            worker.task = None
            return [done]
        worker.is_there, self._failed_starts = True, 0
        _send(worker.pipe, (self._work, self._shared))
        self._give(worker, worker.task)
        return []

    def _bury(self, worker: _Worker[Job], job: Job, ended: int) -> list[DoneJob[Job, Result]]:
        """Remove a dead process; its job goes to another one, or is lost."""
        self._workers.remove(worker)
        _end(worker)
        if not worker.is_there:  # it never saw the job
            self._failed_starts += 1
            if self._failed_starts > MOST_TRIES * self._processes:
                raise NeuromapError(
                    f"{self._what}: processes end before they have begun ({self._failed_starts} in a row); use fewer, "
                    'and in a script of your own begin with if __name__ == "__main__"'
                )
        ended += worker.is_there
        if ended < MOST_TRIES:
            self._todo.appendleft((job, ended))
            return []
        how = f"{MOST_TRIES} processes that did it were ended, perhaps for want of memory; use fewer processes"
        return [DoneJob[Job, Result](job, Lost(f"{self._what}: {how}"))]

    def _start(self) -> _Worker[Job]:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        # ``shared`` goes through our pipe: multiprocessing's own blocks for ever if a process dies before it reads
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()  # else its end would not be seen from here
        return _Worker(process, ours)


def _serve(pipe: Connection) -> None:
    """Worker loop: run jobs until there are no more, in a process of its own."""
    _end_silently()
    _send(pipe, None)  # it is there
    try:
        work, shared = pipe.recv()
        while True:
            _send(pipe, _answer(work, shared, pipe.recv()))
    except (EOFError, OSError):
        return


def _answer(work: Callable[[Any, Any], Any], shared: Any, job: Any) -> Any:
    try:
        return work(shared, job)
    except Exception as error:
        return error


def _send(pipe: Connection, value: object) -> None:
    """Send to a process that may be dead; whoever waits for its answer will notice."""
    with suppress(OSError):
        pipe.send(value)


def _end(worker: _Worker[Any]) -> None:
    worker.process.join()
    worker.pipe.close()


def _end_silently() -> None:
    """End silently when the work is interrupted, and also when the parent process is killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # a job may take hours more, and write what another run writes, too


def check_processes(processes: int, name: str = "processes =") -> int:
    """Return a number of processes, or refuse it if out of range; ``name`` is its label in the message."""
    whole_number("processes", processes)
    if not 1 <= processes <= MOST_PROCESSES:
        raise InputError(f"{name} {processes}: must be 1 to {MOST_PROCESSES}")
    return processes
