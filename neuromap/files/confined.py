"""Native readers of foreign files, run in a process of their own with limits of time and memory.

HDF5, ONNX's shape inference and the like are written in C and C++: a damaged file can make them hang, take all memory
or end the process that they run in. In a child that costs one line, not the session.
"""

from __future__ import annotations

import atexit
import importlib
import json
import math
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from neuromap import errors
from neuromap.errors import InputError, NeuromapError
from neuromap.files.sealed import canonical_bytes

__all__ = ["Answer", "confined"]

Answer = tuple[Any, Mapping[str, NDArray[Any]]]
"""What a reader gives: what JSON can hold, and arrays."""

MEMORY = 2**30
"""Bytes of address space that a reader may take beside what it begins with, if nothing else is said."""
SECONDS = 60.0
"""Time that a reader has, if nothing else is said."""
_REFUSED = 3
"""Code of an answer that refuses the file in words of its own."""
_MOST_ANSWERS = 200
"""Files after which a child that is kept is replaced, as memory that was taken by many pieces is not given back."""
_FAREWELL = 10.0
"""Seconds in which a child ends whose input has ended."""
_END = 4096
"""Bytes of what it said last that are looked at."""


def confined(
    reader: str,
    asked: Mapping[str, Any],
    kind: str,
    *,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    error: type[InputError] = InputError,
    keep: bool = False,
    work: float | None = None,
) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Call a reader in a child process.

    Parameters
    ----------
    reader : str
        ``module:function`` of this package; the function takes ``asked`` as keywords and returns an :data:`Answer`.
    asked : mapping
        What JSON can hold.
    kind : str
        What the file should be, for messages.
    seconds : float
        Wall time that the child has; afterwards it is killed.
    memory : int
        Bytes that it may take.
    error : type of InputError
        What is raised.
    keep : bool
        Let the child wait for the next file of this kind: for readers that keep nothing of one. What it began with
        counts for its memory, and one that fails is not used again.
    work : float or None
        Seconds of computing that it may take, whatever else the machine does; its start does not count. ``None`` for
        no limit but that of wall time.

    Returns
    -------
    told : any
        What the reader said.
    arrays : dict of str to ndarray
        Its arrays, read-only.

    Raises
    ------
    NeuromapError
        What the reader raised; ``error``, if it crashed, ran out of memory or took too long.
    """
    kept_as = (os.getpid(), memory, tuple(sys.path))
    child = _kept.pop(kept_as, None) if keep else None
    if child is None or not child.is_there():
        child = _Child(memory)
    code, answer = child.ask({"reader": reader, "asked": asked, "work": work}, seconds)
    if code is None:
        end = child.ended()
        if child.is_late:
            raise error(f"takes longer than {seconds:g} s to read; it is damaged, or no {kind}")
        raise error(f"cannot be read as a {kind} ({end}); it is damaged, or was made to do harm")
    if keep and child.answers < _MOST_ANSWERS:
        _kept[kept_as] = child
    else:
        child.ended()
    if code == _REFUSED:
        refusal = json.loads(answer)
        raise getattr(errors, refusal["error"])(refusal["message"])
    arrays = load(answer)
    told = json.loads(arrays.pop(_TOLD).tobytes())
    for array in arrays.values():
        array.flags.writeable = False
    return told, arrays


_TOLD = "told"
_LENGTH = struct.Struct("<Q?")
"""What stands before a request and an answer: its length, and whether it is a refusal."""


class _Child:
    """A process that reads files, one after the other, until its input ends."""

    def __init__(self, memory: int) -> None:
        # -P: no file beside the user's script is imported in place of a module
        command = [sys.executable, "-P", "-m", __name__, str(memory)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed at its end; a pipe that nobody reads would fill
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, env=environment
        )
        self.is_late = False
        self.answers = 0

    def is_there(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> tuple[int | None, bytes]:
        """Ask, and give the code and the answer; no code where it ended, or was ended after so many seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        data = json.dumps(request).encode()
        watch = threading.Timer(seconds, self._end_late)
        watch.daemon = True
        watch.start()
        try:
            self._process.stdin.write(_LENGTH.pack(len(data), False) + data)
            self._process.stdin.flush()
            head = self._process.stdout.read(_LENGTH.size)
            if len(head) < _LENGTH.size:
                return None, b""
            length, is_refused = _LENGTH.unpack(head)
            answer = self._process.stdout.read(length)
        except (OSError, MemoryError, OverflowError):  # it ended while it was asked, or says what cannot be
            return None, b""
        except BaseException:  # an interrupt: nobody waits for it any more
            self._process.kill()
            raise
        finally:
            watch.cancel()
        if len(answer) < length:
            return None, b""
        self.answers += 1
        return _REFUSED if is_refused else 0, answer

    def _end_late(self) -> None:
        self.is_late = True
        self._process.kill()

    def ended(self) -> str:
        """End it, and say how it had ended before."""
        with suppress(OSError):
            self._process.communicate(timeout=_FAREWELL)
        self._process.kill()
        code = self._process.wait()
        with self._said as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - _END))
            last = stream.read().decode(errors="replace").strip().rpartition("\n")[2]
        if code < 0:
            late = -code == getattr(signal, "SIGXCPU", 0)
            return "its reader computes without end" if late else f"its reader was ended by signal {-code}"
        return (
            "it takes more memory than its reader may have" if "MemoryError" in last.partition(":")[0] else last[:120]
        )


_kept: dict[tuple[int, int, tuple[str, ...]], _Child] = {}
"""Children that wait for the next file, by the process that began them (one that it forks has its own), the memory that
they may take, and where they look for modules."""


@atexit.register
def _end_kept() -> None:
    for (process, *_), child in _kept.items():
        if process == os.getpid():
            child.ended()


def _answer() -> int:
    """Be the child: call the readers that are asked for, and write what they give to standard output."""
    # what libraries print must not stand in the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limited = False
    while head := sys.stdin.buffer.read(_LENGTH.size):
        request = json.loads(sys.stdin.buffer.read(_LENGTH.unpack(head)[0]))
        module, _, function = request["reader"].partition(":")
        read = getattr(importlib.import_module(module), function)
        if not limited:
            _limit(int(sys.argv[1]))
            limited = True
        _limit_work(request["work"])
        is_refused = False
        try:
            told, arrays = read(**request["asked"])
            data = canonical_bytes({**arrays, _TOLD: np.frombuffer(json.dumps(told).encode(), np.uint8)}, {})
        except NeuromapError as refused:
            is_refused, data = True, json.dumps({"error": type(refused).__name__, "message": str(refused)}).encode()
        answers.write(_LENGTH.pack(len(data), is_refused) + data)
        answers.flush()
    return 0


def _limit(memory: int) -> None:
    """Bound the address space of this process: what it has by now, and so much more."""
    if sys.platform == "win32":  # no limit of that kind there
        return
    import resource

    try:
        pages = int(open("/proc/self/statm", encoding="ascii").read().split()[0])  # noqa: PTH123, SIM115
    except OSError:  # no Linux: bounded from nothing, generously
        pages = 2**32 // resource.getpagesize()
    bound = pages * resource.getpagesize() + memory
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (bound if most == resource.RLIM_INFINITY else min(bound, most), most))


def _limit_work(seconds: float | None) -> None:
    """Bound the time that this process computes: what it has by now, and so much more."""
    if sys.platform == "win32":  # no limit of that kind there
        return
    import resource

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    bound = most if seconds is None else math.ceil(time.process_time() + seconds)
    if seconds is not None and most != resource.RLIM_INFINITY:
        bound = min(bound, most)
    resource.setrlimit(resource.RLIMIT_CPU, (bound, most))


if __name__ == "__main__":
    sys.exit(_answer())
