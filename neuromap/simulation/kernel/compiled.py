"""The compiled entry points, cached on disk under a stamp of everything that they are made of."""

from __future__ import annotations

import ctypes
import hashlib
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding
import numba
import numpy as np
from numba import njit, uint64
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from neuromap import __version__
from neuromap.errors import NotSupportedError
from neuromap.simulation.kernel.lanes import count_ones, trailing_zeros
from neuromap.simulation.kernel.team import run_ticks

__all__ = ["Compiled", "announced", "compiled", "kernel_stamp"]

_LOGGER = logging.getLogger("neuromap")


class Compiled(NamedTuple):
    """Numba dispatchers; they compile on first use for the types that they meet."""

    run: Any
    """:func:`neuromap.simulation.kernel.team.run_ticks`, without the interpreter's lock."""
    list_spikes: Any
    """``list_spikes(fired, n_rows, n_groups)``: ticks, rows and neurons of the set bits."""


def kernel_stamp() -> str:
    """Digest of the kernel files and of the versions that compile them.

    Numba's own cache looks at the file of the entry point only, so it would not see an edit of another one.
    """
    digest = hashlib.sha256(f"{__version__} {numba.__version__} {np.__version__} {sys.version}".encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def compiled() -> Compiled:
    """Entry points for this machine.

    Raises
    ------
    NotSupportedError
        If Numba is told not to compile.
    """
    if numba.config.DISABLE_JIT:
        raise NotSupportedError("NUMBA_DISABLE_JIT: the fast engine has to be compiled; unset it, or take engine numpy")
    _offer_sleep()
    return _entry_points(kernel_stamp())


@contextmanager
def announced() -> Iterator[None]:
    """Say so, as an INFO of the logger "neuromap", if something is compiled in the block."""
    with event.install_listener("numba:compile", _Announcer()):
        yield


class _Announcer(event.Listener):
    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        if not self._said:
            self._said = True
            _LOGGER.info("compiling the fast engine for this processor and core shape: some seconds, once")

    def on_end(self, event: Any) -> None:
        """Nothing: what comes next shows that it is over."""


def _entry_points(stamp: str) -> Compiled:
    def run(image, state, scratch, team, me, first_tick, n_ticks, events, event_tick, record, seed, width):  # type: ignore[no-untyped-def]
        run_ticks(image, state, scratch, team, me, first_tick, n_ticks, events, event_tick, record, seed, width)

    def list_spikes(fired, n_rows, n_groups):  # type: ignore[no-untyped-def]
        n = 0
        for k in range(len(fired)):
            n += count_ones(fired[k])
        ticks, rows, neurons = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        n = 0
        for k in range(len(fired)):
            word = uint64(fired[k])
            while word != uint64(0):
                ticks[n] = k // (n_rows * n_groups)
                rows[n] = k // n_groups % n_rows
                neurons[n] = k % n_groups * 32 + trailing_zeros(word)
                n += 1
                word &= word - uint64(1)
        return ticks, rows, neurons

    return Compiled(_cached(run, stamp, _nrt=False), _cached(list_spikes, stamp))


def _cached(function: Callable[..., Any], stamp: str, **options: Any) -> Any:
    """Compile with a cache on disk, or without one where no folder can be written."""
    function.__qualname__ = f"{function.__name__}_{stamp[:20]}"  # Numba names its files so
    dispatcher = njit(function, nogil=True, error_model="numpy", **options)
    with suppress(RuntimeError):  # "no locator available"
        dispatcher._cache = _Cache(function)
    return dispatcher


class _SealedFile(IndexDataCacheFile):
    """Files of the cache with a digest at the end, where unpickling does not look.

    Machine code that a disk has changed is not run.
    """

    def _dump(self, value: Any) -> bytes:
        data: bytes = super()._dump(value)
        return data + hashlib.sha256(data).digest()

    def _load_data(self, name: str) -> Any:
        data = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(data[:-32]).digest() != data[-32:]:
            raise ValueError(f"{name}: the digest does not agree")
        return super()._load_data(name)


class _Cache(FunctionCache):
    """Numba's cache, but never a reason to fail: what cannot be read is compiled, what cannot be kept is not kept."""

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


def _offer_sleep() -> None:
    """Give the kernels a function of the operating system that sleeps for some microseconds."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.Sleep  # takes milliseconds: longer naps
    else:
        function = ctypes.CDLL(None).usleep
    llvmlite.binding.add_symbol("neuromap_sleep", ctypes.cast(function, ctypes.c_void_p).value)
