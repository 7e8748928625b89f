"""Processes that map candidates for a search, and the same in one process."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from neuromap.errors import NeuromapError
from neuromap.explorer.answer.exploration import Candidate
from neuromap.explorer.measuring.evaluate import Measured, Setting, evaluate

__all__ = ["MappingProcesses"]


class MappingProcesses:
    """Evaluates candidates, in other processes where more than one is asked for; a context manager.

    Parameters
    ----------
    setting : Setting
        What all candidates have in common.
    processes : int
        1 for none but this one.
    """

    def __init__(self, setting: Setting, processes: int) -> None:
        self._setting, self._processes = setting, processes
        self._sent = _sendable(setting)
        self._pool: ProcessPoolExecutor | None = None
        self._under_way: dict[Any, Future[Measured]] = {}
        self._others: set[Any] = set()

    def __enter__(self) -> MappingProcesses:
        if self._processes > 1:
            self._others = set(multiprocessing.active_children())
            self._pool = ProcessPoolExecutor(
                self._processes,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_take_interrupts,
            )
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._pool is None:
            return
        helpers = set(multiprocessing.active_children()) - self._others
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in helpers:  # what they are at is of no use to anybody any more
            process.terminate()
        for process in helpers:
            process.join()

    def prepare(self, key: Any, candidate: Candidate) -> None:
        """Begin to evaluate a candidate that is likely to be asked for."""
        if self._pool is not None and key not in self._under_way:
            self._under_way[key] = self._pool.submit(_evaluate, self._sent, candidate)

    def get(self, key: Any, candidate: Candidate) -> Measured:
        """Evaluate a candidate, or wait for it.

        Raises
        ------
        NeuromapError
            If a helping process was ended from outside.
        """
        if self._pool is None:
            return evaluate(self._setting, candidate)
        self.prepare(key, candidate)
        try:
            return self._under_way.pop(key).result()
        except BrokenExecutor:
            raise NeuromapError(
                f"explore: one of {self._processes} processes was ended, perhaps for want of memory; use fewer"
            ) from None


def _take_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who interrupts the search interrupts its helpers, without a word


def _evaluate(pieces: Mapping[str, Any], candidate: Candidate) -> Measured:
    return evaluate(_received(pieces), candidate)


def _sendable(setting: Setting) -> dict[str, Any]:
    """Take values apart that hold read-only mappings: these do not travel between processes."""
    return {
        "network": _fields(setting.network),
        "chips": {name: _fields(chip) for name, chip in setting.chips.items()},
        "frames": dict(setting.frames),
        "verify": setting.verify,
        "engine": setting.engine,
    }


def _fields(value: Any) -> dict[str, Any]:
    found = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {name: dict(part) if isinstance(part, MappingProxyType) else part for name, part in found.items()}


def _received(pieces: Mapping[str, Any]) -> Setting:
    from neuromap.hardware.chip.chip_spec import ChipSpec
    from neuromap.network.network import Network

    chips = {name: ChipSpec(**parts) for name, parts in pieces["chips"].items()}
    return Setting(Network(**pieces["network"]), chips, pieces["frames"], pieces["verify"], pieces["engine"])
