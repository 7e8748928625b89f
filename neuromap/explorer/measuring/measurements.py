"""Measurements of candidates: taken from the store, begun ahead by workers, or made now."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from neuromap.explorer.answer.rows import Candidate
from neuromap.explorer.measuring.kept_rows import KeptRows
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.row_work import RowWork, measure_row
from neuromap.explorer.measuring.setting import Setting
from neuromap.jobs.ahead import Ahead
from neuromap.jobs.runners import Workers, job_runner

__all__ = ["Measurements"]


class Measurements:
    """Gives what came of candidates, each mapped and simulated once; a context manager."""

    # store: file of the rows that are kept; ``None`` to keep them in memory only

    def __init__(
        self,
        setting: Setting,
        name_of: Callable[[tuple[int, ...]], str],
        store: str | Path | None = None,
        workers: Workers = Workers(),  # noqa: B008 - a value
        until: float | None = None,
    ) -> None:
        self._must_be_verified = setting.verify
        on_cluster = workers.scheduler is not None
        alone = workers.processes == 1 and not on_cluster
        work = RowWork.of(setting, until, alone=alone, on_cluster=on_cluster)
        self._kept = KeptRows(store, setting, name_of)
        self._runner = job_runner(measure_row, work, workers, "explore")
        self._ahead = Ahead(self._runner)
        self._open = ExitStack()

    def __enter__(self) -> Measurements:
        with ExitStack() as opening:
            opening.enter_context(self._kept)
            opening.enter_context(self._runner)
            self._open = opening.pop_all()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._open.close()

    @property
    def at_once(self) -> int:
        """Candidates that are measured at the same time."""
        return self._runner.at_once

    def has(self, fingerprint: str) -> bool:
        """Whether a candidate was measured before, so that nothing has to be mapped."""
        return self._known(fingerprint) is not None

    def prepare(self, fingerprint: str, candidate: Candidate) -> None:
        """Begin to measure a candidate that is likely to be asked for."""
        if self._known(fingerprint) is None:
            self._ahead.prepare(fingerprint, candidate)

    def get(self, fingerprint: str, candidate: Candidate) -> Measured:
        """Measure a candidate, unless that was done before."""
        known = self._known(fingerprint)
        if known is not None:
            return known
        measured = self._ahead.get(fingerprint, candidate)
        self._kept.add(fingerprint, candidate, measured)
        return measured

    def _known(self, fingerprint: str) -> Measured | None:
        """Look up a result; one that was not held against the reference is none where it must be."""
        found = self._kept.get(fingerprint)
        if found is not None and found.status == "mapped" and self._must_be_verified and found.verified is None:
            return None
        return found
