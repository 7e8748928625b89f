"""Entry point: interrupts print one line from the start, even while the commands are being imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

_INTERRUPTED = 130
# Ctrl-C, shutdown of the system, closing of the terminal: all end the program in the same way.
_ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
# New objects between garbage collections; Python's 700 costs a short command a tenth of its time, in imports.
_YOUNG = 20_000


def _leave(*_: object) -> None:
    """Exit immediately; an exception could be caught or wrapped by a module being imported."""
    if sys.stderr is not None:
        sys.stderr.write("neuromap: interrupted\n")
        sys.stderr.flush()
    os._exit(_INTERRUPTED)


def main() -> int:
    """Import the program and run it on the arguments of the process; see :func:`neuromap.cli.main.main`."""
    # returns the exit code; 130 if interrupted
    gc.set_threshold(_YOUNG)
    before = {ending: signal.getsignal(ending) for ending in _ENDINGS}
    mine = [ending for ending in _ENDINGS if before[ending] is not signal.SIG_IGN]  # ignored signals: a background job
    for ending in mine:
        signal.signal(ending, _leave)
    from neuromap.cli.main import main as run

    for ending in mine:
        # the default would kill without a chance to remove partial files
        kept = before[ending] if ending == signal.SIGINT else signal.default_int_handler
        signal.signal(ending, kept)
    try:
        code = run()
        for ending in mine:  # everything is done: signals during Python's shutdown change nothing
            signal.signal(ending, signal.SIG_IGN)
        if code == _INTERRUPTED:
            # without Python's shutdown, which would end by the signal itself if that came within code run by exec
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    if stream is not None:
                        stream.flush()
            os._exit(_INTERRUPTED)
        return code
    except KeyboardInterrupt:  # before or after the run, which handles its own
        _leave()
        raise
    finally:
        gc.freeze()  # skip garbage collection of modules at exit, which took a fifth of a short command's time
