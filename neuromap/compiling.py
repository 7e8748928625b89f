"""Numba's cache on disk, and a log message when something is compiled.

Import it only where compiled code is imported: Numba is slow to import.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

_LOGGER = logging.getLogger("neuromap")

# For functions that only compiled code calls: entry points for Python and C take longer to compile than the functions.
INSIDE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Log once, as an INFO of the logger "neuromap", if something is compiled in the block."""
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
        """Do nothing: the next output shows that compiling is over."""


def cached(function: Callable[..., Any], **options: Any) -> Any:
    """Compile a function on its first call, cached on disk unless no folder can be written."""
    # The cache sees edits of the function's own file only.
    dispatcher = njit(function, nogil=True, error_model="numpy", **options)
    with suppress(RuntimeError):  # "no locator available": no folder can be written
        dispatcher._cache = _Cache(function)
    return dispatcher


class _SealedFile(IndexDataCacheFile):  # type: ignore[misc]
    """Cache files with a digest at the end, which unpickling ignores."""

    # Machine code that was corrupted on disk is not run.

    def _dump(self, value: Any) -> bytes:
        data: bytes = super()._dump(value)
        return data + hashlib.sha256(data).digest()

    def _load_data(self, name: str) -> Any:
        data = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(data[:-32]).digest() != data[-32:]:
            raise ValueError(f"{name}: the digest does not agree")
        return super()._load_data(name)


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's cache, but never a reason to fail: unreadable code is compiled again, unwritable code is not kept."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _SealedFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(signature, target_context)
        except Exception:  # whatever damaged files lead to
            with suppress(Exception):
                self.flush()
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        with suppress(OSError):  # a full disk
            super().save_overload(signature, result)
