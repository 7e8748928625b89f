"""Mixed-integer programs solved without a word on the terminal.

HiGHS, as it comes with SciPy 1.17, writes a line to the standard output of the process now and then, whatever it is
told: between the lines of a report, or into a document. So it gets another one while it works.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["quiet_solver"]


@contextlib.contextmanager
def quiet_solver() -> Iterator[None]:
    """Send what is written to standard output to nowhere, for the milliseconds of a solution."""
    # What Python holds in its buffer is written afterwards; what other threads write out meanwhile is lost.
    try:
        kept = os.dup(1)
    except OSError:  # the process has no standard output
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nowhere:
            _flush()
            os.dup2(nowhere.fileno(), 1)
            try:
                yield
            finally:
                _flush()
                os.dup2(kept, 1)
    finally:
        os.close(kept)


def _flush() -> None:
    """Write out what the C library still holds."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)
