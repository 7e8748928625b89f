"""Jobs done by the workers of a Dask cluster (extra ``cluster``), any of which may die or join at any moment."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from neuromap.errors import InputError, NeuromapError, NotSupportedError
from neuromap.jobs.as_done import DoneJob, Lost

__all__ = ["DaskCluster"]

Shared = TypeVar("Shared")
Job = TypeVar("Job")
Result = TypeVar("Result")

_SECONDS = 10
"""Within which a scheduler must answer."""
_AHEAD = 3
"""Jobs for every thread of the cluster: one that is done and others that wait there, so that no worker waits for us."""
_RETRIES = 2
"""Times that a job whose worker raised an exception is done again."""
_logger = logging.getLogger("neuromap")


class DaskCluster(Generic[Shared, Job, Result]):
    """Does jobs on a Dask cluster; see :class:`~neuromap.jobs.as_done.JobRunner`.

    The scheduler gives the jobs of a worker that died to others, and gives one up that took more of them along than its
    ``allowed-failures``, by default with the fourth. What jobs share is a task of its own, so that it, too, is made
    again where its workers died.

    Parameters
    ----------
    work : callable
        ``work(shared, job)``: a function of a module that the workers can import.
    shared : Shared
        Goes to every worker once, pickled.
    address : str
        Of the scheduler, such as ``"tcp://10.0.0.1:8786"``.
    what : str
        What messages call the whole work, such as ``"sweep"``.
    """

    def __init__(self, work: Callable[[Shared, Job], Result], shared: Shared, address: str, what: str) -> None:
        self._work, self._shared, self._address, self._what = work, shared, address, what
        self._client: Any = None
        self._silenced: list[logging.Logger] = []

    def __enter__(self) -> DaskCluster[Shared, Job, Result]:
        try:
            from distributed import Client
        except ImportError:
            raise NotSupportedError(
                f"{self._what}: a cluster needs Dask, which is not installed; pip install "
                "'neuromap-rollouts[cluster]', or leave the scheduler away for processes of this machine"
            ) from None
        self._silence_dask()
        try:
            self._client = Client(self._address, timeout=_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            self._let_dask_speak()
            reason = " ".join(str(error).split())[:200]
            raise InputError(
                f"scheduler {self._address}: does not answer within {_SECONDS} s ({reason}); start one with dask "
                "scheduler, and give the address that it prints"
            ) from None
        _logger.info("dashboard of the cluster: %s", self._client.dashboard_link)
        if not self._threads():
            _logger.info("the cluster has no workers yet; start some with dask worker %s", self._address)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._client is not None:
            self._client.close(timeout=_SECONDS)
            self._let_dask_speak()

    def results(self, jobs: Iterable[Job]) -> Iterator[list[DoneJob[Job, Result]]]:
        """Do all jobs; see :meth:`JobRunner.results <neuromap.jobs.as_done.JobRunner.results>`.

        Raises
        ------
        NeuromapError
            If the scheduler went away, or the workers cannot do any job, as where neuromap is not installed there.
        """
        from distributed import as_completed

        shared = self._client.submit(_same, self._shared, pure=False)
        todo = iter(jobs)
        under_way: dict[str, tuple[Any, Job]] = {}
        running = as_completed(loop=self._client.loop)
        while True:
            while len(under_way) < _AHEAD * max(1, self._threads()):
                job = next(todo, None)
                if job is None:
                    break
                future = self._submitted(shared, job)
                under_way[future.key] = (future, job)
                running.add(future)
            if not under_way:
                return
            batch = running.next_batch()
            yield [DoneJob(under_way.pop(future.key)[1], self._result(future)) for future in batch]

    def _silence_dask(self) -> None:
        """Keep it from logging tracebacks; of what matters a line is said here."""
        known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] == "distributed"]
        self._silenced = [logger for logger in map(logging.getLogger, known) if not logger.disabled]
        for logger in self._silenced:
            logger.disabled = True

    def _let_dask_speak(self) -> None:
        for logger in self._silenced:
            logger.disabled = False

    def _submitted(self, shared: Any, job: Job) -> Any:
        try:
            return self._client.submit(self._work, shared, job, pure=False, retries=_RETRIES)
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

    def _result(self, future: Any) -> Result | Lost:
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            raise self._gone()
        try:
            found: Result = future.result()
        except KilledWorker:
            how = "its workers were ended, perhaps for want of memory; give them more, or fewer threads"
            return Lost(f"{self._what}: {how}")
        except NeuromapError:
            raise
        except Exception as error:  # of Dask, or of a worker that cannot import what it needs
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise NeuromapError(
                f"{self._what}: a worker of scheduler {self._address} failed ({reason}); have this version of neuromap "
                "on every worker"
            ) from None
        return found


def _same(value: Shared) -> Shared:
    return value
