"""The word to people that something is being compiled: else some seconds pass and nothing seems to happen.

Import it where compiled code is imported, and never before: Numba is slow to import.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

__all__ = ["announced"]

_LOGGER = logging.getLogger("neuromap")


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Say once, as an INFO of the logger "neuromap", if something is compiled in the block."""
    with event.install_listener("numba:compile", _Announcer(what)):
        yield


class _Announcer(event.Listener):  # type: ignore[misc]
    def __init__(self, what: str) -> None:
        self._what = what
        self._said = False

    def on_start(self, event: Any) -> None:
        if not self._said:
            self._said = True
            _LOGGER.info("compiling %s: some seconds, once", self._what)

    def on_end(self, event: Any) -> None:
        """Nothing: what comes next shows that it is over."""
