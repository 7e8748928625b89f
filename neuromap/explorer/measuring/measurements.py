"""Measurements of candidates: taken from the file of results, begun ahead in other processes, or made now."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import TracebackType

from neuromap.explorer.answer.rows import Candidate
from neuromap.explorer.measuring.evaluate import evaluate
from neuromap.explorer.measuring.measured import Measured
from neuromap.explorer.measuring.results import explorer_results
from neuromap.explorer.measuring.setting import Setting
from neuromap.jobs.workers import Workers
from neuromap.mapping.tile.tilings import Tilings

__all__ = ["Measurements"]


class Measurements:
    """Gives what came of candidates, each mapped and simulated once; a context manager.

    Parameters
    ----------
    setting : Setting
        What all candidates have in common.
    results : str, path or None
        File of results.
    processes : int
        Processes that map.
    until : float, optional
        When mappings under way end their searches, by the monotonic clock, which all processes share. What was cut
        short is not added to the file.

    Raises
    ------
    InputError
        If the file of results is none.
    """

    def __init__(
        self, setting: Setting, results: str | Path | None, processes: int, until: float | None = None
    ) -> None:
        self._must_be_verified = setting.verify
        self._results = explorer_results(results)
        # What is known would travel to other processes with every candidate, and never come back.
        known: dict[str, Tilings] | None = None if processes > 1 else {}
        work = partial(evaluate, setting, known=known, until=until)
        self._cut_short: dict[str, Measured] = {}
        self._workers: Workers[Candidate, Measured] = Workers(work, processes, "explore")

    def __enter__(self) -> Measurements:
        self._workers.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    @property
    def at_once(self) -> int:
        """Candidates that are measured at the same time."""
        return self._workers.processes

    def has(self, fingerprint: str) -> bool:
        """Whether a candidate was measured before, so that nothing has to be mapped."""
        return self._known(fingerprint) is not None

    def prepare(self, fingerprint: str, candidate: Candidate) -> None:
        """Begin to measure a candidate that is likely to be asked for."""
        if self._known(fingerprint) is None:
            self._workers.prepare(fingerprint, candidate)

    def get(self, fingerprint: str, candidate: Candidate) -> Measured:
        """Measure a candidate, unless that was done before.

        Parameters
        ----------
        fingerprint : str
            Of all that the result depends on; candidates that share a row share it.
        candidate : Candidate
            What is mapped where nothing is known.

        Returns
        -------
        Measured

        Raises
        ------
        InputError
            If the file of results cannot be written.
        NeuromapError
            If a process was ended from outside.
        """
        known = self._known(fingerprint)
        if known is not None:
            return known
        measured = self._workers.get(fingerprint, candidate)
        if measured.cut_short:
            self._cut_short[fingerprint] = measured
        else:
            self._results.add(fingerprint, measured)
        return measured

    def _known(self, fingerprint: str) -> Measured | None:
        """Look up a result; one that was not held against the reference is none where it must be."""
        found = self._cut_short.get(fingerprint) or self._results.get(fingerprint)
        if found is not None and found.status == "mapped" and self._must_be_verified and found.verified is None:
            return None
        return found
