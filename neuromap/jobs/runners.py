"""``job_runner``: what does jobs, by the name of a scheduler or a number of processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, NamedTuple, Self, TypeVar

from neuromap.errors import InputError, NeuromapError, NotSupportedError
from neuromap.jobs.as_done import EndedJob, Failed, JobRunner, Lost
from neuromap.jobs.local_processes import LocalProcesses, check_processes

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


# Jobs done by the workers of a Dask cluster (extra ``cluster``), any of which may die or join at any moment.


_SECONDS = 10
"""Within which a scheduler must answer."""
_AHEAD = 3
"""Jobs for every thread of the cluster: one that is done and others that wait there, so that no worker waits for us."""
_RETRIES = 2
"""Times that a job whose worker raised an exception is done again."""
_logger = logging.getLogger("neuromap")


class DaskCluster(JobRunner[Job, Result], Generic[Shared, Job, Result]):
    """Does jobs on a Dask cluster; see :class:`~neuromap.jobs.as_done.JobRunner`."""

    # The scheduler gives the jobs of a worker that died to others, and gives one up that took more of them along than
    # its ``allowed-failures``, by default with the fourth. What jobs share is a task of its own, so that it, too, is
    # made again where its workers died.

    def __init__(self, work: Callable[[Shared, Job], Result], shared: Shared, address: str, what: str) -> None:
        self._work, self._shared, self._address, self._what = work, shared, address, what
        self._client: Any = None
        self._shared_there: Any = None
        self._running: Any = None
        self._under_way: dict[str, tuple[Any, Job]] = {}
        self._silenced: list[logging.Logger] = []

    def __enter__(self) -> Self:
        ends = (
            time.monotonic() + 0.95 * _SECONDS
        )  # importing Dask takes its part of them, and so does what is said then
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
            self._begin()
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
        """Some jobs for every thread."""
        return _AHEAD * self.at_once

    def give(self, job: Job) -> None:
        """Have a job done; see :meth:`JobRunner.give <neuromap.jobs.as_done.JobRunner.give>`."""
        future = self._submitted(self._work, self._shared_there, job)
        self._under_way[future.key] = (future, job)
        self._running.add(future)

    def next_done(self) -> list[EndedJob[Job, Result]]:
        """Wait for jobs; see :meth:`JobRunner.next_done <neuromap.jobs.as_done.JobRunner.next_done>`."""
        batch = self._running.next_batch()
        return [EndedJob(self._under_way.pop(future.key)[1], self._result(future)) for future in batch]

    def _silence_dask(self) -> None:
        """Keep it from logging tracebacks; of what matters a line is said here."""
        known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
        self._silenced = [logger for logger in map(logging.getLogger, known) if not logger.disabled]
        for logger in self._silenced:
            logger.disabled = True

    def _let_dask_speak(self) -> None:
        for logger in self._silenced:
            logger.disabled = False

    def _begin(self) -> None:
        _logger.info("dashboard of the cluster: %s", self._client.dashboard_link)
        if not self._threads():
            _logger.info("the cluster has no workers yet; start some with dask worker %s", self._address)
        self._shared_there = self._submitted(_same, self._shared)

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

    def _result(self, future: Any) -> Result | Lost | Failed:
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._gone()
        try:
            found: Result = future.result()
        except KilledWorker:
            how = "its workers were ended, perhaps for want of memory; give them more, or fewer threads"
            return Lost(f"{self._what}: {how}")
        except NeuromapError as error:
            return Failed(error)
        except Exception as error:  # of Dask, or of a worker that cannot import what it needs
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise NeuromapError(
                f"{self._what}: a worker of scheduler {self._address} failed ({reason}); have this version of neuromap "
                "on every worker"
            ) from None
        return found


def _client(address: str, seconds: float) -> Any:
    """Connect to a scheduler, or give up after some seconds."""
    # Dask bounds how long a connection takes to be made, not how long the other end then takes to say who it is.
    from distributed import Client

    class Bounded(Client):
        def start(self, **how: Any) -> None:
            try:
                super().start(callback_timeout=seconds, **how)
            except BaseException:
                with suppress(Exception):  # what was begun ends with it, and says nothing of its own
                    self.close(timeout=1)
                raise

    return Bounded(address, timeout=seconds, set_as_default=False)


def _same(value: Shared) -> Shared:
    return value
