"""Where the program starts: an interrupt is one line from the first moment, while the commands are still imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

_INTERRUPTED = 130
# Ctrl-C, a system that stops its processes, a terminal that is closed: all end the program in the same way.
_ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
# New objects between two searches for cycles; Python's 700 costs a short command a tenth of its time, in imports.
_YOUNG = 20_000


def _leave(*_: object) -> None:
    """End at once; an exception could be caught, or wrapped, by whatever is being imported."""
    if sys.stderr is not None:
        sys.stderr.write("neuromap: interrupted\n")
        sys.stderr.flush()
    os._exit(_INTERRUPTED)


def _end_with_that_code() -> None:
    """End without Python's last steps: it would end by the signal itself if that came within code that exec runs."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    os._exit(_INTERRUPTED)


def main() -> int:
    """Import the program and run it on the words of the process; see :func:`neuromap.cli.main.main`."""
    # gives the exit code; 130 where it was interrupted
    gc.set_threshold(_YOUNG)
    before = {ending: signal.getsignal(ending) for ending in _ENDINGS}
    mine = [ending for ending in _ENDINGS if before[ending] is not signal.SIG_IGN]  # ignored: a job in the background
    for ending in mine:
        signal.signal(ending, _leave)
    from neuromap.cli.main import main as run

    for ending in mine:
        # killed by default, without a chance to remove what is half written
        kept = before[ending] if ending == signal.SIGINT else signal.default_int_handler
        signal.signal(ending, kept)
    try:
        code = run()
        for ending in mine:  # all is done and said: what comes while Python clears up changes nothing
            signal.signal(ending, signal.SIG_IGN)
        if code == _INTERRUPTED:
            _end_with_that_code()
        return code
    except KeyboardInterrupt:  # before or after the run, which takes its own
        _leave()
        raise
    finally:
        gc.freeze()  # nor does Python search modules for cycles when it ends: that took a fifth of a short command
