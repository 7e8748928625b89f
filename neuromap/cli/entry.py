"""Where the program starts: an interrupt is one line from the first moment, while the commands are still imported."""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["main"]


def _leave(*_: object) -> None:
    """End at once; an exception could be caught, or wrapped, by whatever is being imported."""
    if sys.stderr is not None:
        sys.stderr.write("neuromap: interrupted\n")
        sys.stderr.flush()
    os._exit(130)


def main() -> int:
    """Import the program and run it on the words of the process; see :func:`neuromap.cli.main.main`.

    Returns
    -------
    int
        The exit code; 130 where it was interrupted.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as for a job in the background
        signal.signal(signal.SIGINT, _leave)
    from neuromap.cli.main import main as run

    signal.signal(signal.SIGINT, before)
    try:
        return run()
    except KeyboardInterrupt:  # before or after the run, which takes its own
        _leave()
        raise
