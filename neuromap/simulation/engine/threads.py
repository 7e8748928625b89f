"""How many threads a simulation may use."""

from __future__ import annotations

import os

from neuromap.errors import InputError

__all__ = ["MAX_THREADS", "thread_count"]

MAX_THREADS = 1024
"""More threads than any machine has cores for."""


def thread_count(threads: int | None = None) -> int:
    """Give the number of threads to use."""
    if threads is None:
        return min(MAX_THREADS, _usable_cores())
    if isinstance(threads, bool) or not isinstance(threads, int) or not 1 <= threads <= MAX_THREADS:
        raise InputError(f"threads {threads}: must be a whole number from 1 to {MAX_THREADS}; {_usable_cores()} here")
    return threads


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
