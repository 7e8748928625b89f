"""Keys that are pressed while a command runs, read one by one where stdin is a terminal that tells them."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Keys = Callable[[float], str]
"""Waits for a key so many seconds and gives it; an empty text where none was pressed."""


@contextmanager
def pressed_keys() -> Iterator[Keys | None]:
    """Read keys as they are pressed, without echo, until the block ends.

    Yields
    ------
    callable or None
        ``keys(seconds)``; None where stdin is no terminal, or the system's terminals are not those of POSIX.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows
        yield None
        return
    if sys.stdin is None or not sys.stdin.isatty():
        yield None
        return
    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    ended = False

    def key(wait: float) -> str:
        nonlocal ended
        if ended:
            time.sleep(wait)
            return ""
        ready, _, _ = select.select([stream], [], [], wait)
        found = os.read(stream, 1) if ready else b" "
        if not found:
            ended = True  # the terminal is gone: there is nobody to stop the run
            return "q"
        return found.decode("ascii", "replace") if ready else ""

    tty.setcbreak(stream)
    try:
        yield key
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)
