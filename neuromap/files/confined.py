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

from neuromap import errors
from neuromap.errors import InputError, NeuromapError

# What a reader gives: what JSON can hold, and arrays.
Answer = tuple[Any, Mapping[str, NDArray[Any]]]

# Bytes of address space that a reader may take beside what it begins with, if nothing else is said.
MEMORY = 2**30
# Time that a reader has, if nothing else is said.
SECONDS = 60.0
# Signal that ends a child whose work takes too long.
_TOO_LONG = getattr(signal, "SIGXCPU", 0)
# Files after which a child that is kept is replaced, as memory that was taken by many pieces is not given back.
_MOST_ANSWERS = 200
# Seconds in which a child ends whose input has ended.
_FAREWELL = 10.0
# Bytes that libraries may print about one file.
_MOST_NOISE = 2**20
# Bytes of what it said last that are looked at.
_END = 4096


def confined(
    reader: str,
    asked: Mapping[str, Any],
    kind: str,
    *,
    seconds: float = SECONDS,
    work: float | None = None,
    memory: int = MEMORY,
    error: type[InputError] = InputError,
    keep: bool = False,
    library: str = "",
) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Call a reader in a child process."""
    # library: what the reader stands on; importing it counts neither as memory nor as work
    # gives arrays: its arrays, read-only
    if keep:  # one child for files of about one size, where readers ask for memory by the byte
        memory = 1 << (memory - 1).bit_length()
    kept_as = (os.getpid(), memory, library, tuple(sys.path))
    child = _kept.pop(kept_as, None) if keep else None
    if child is None or not child.is_there():
        child = _Child(memory)
    work = seconds if work is None else work
    request = {"reader": reader, "library": library, "asked": asked, "work": work, "folder": _folder()}
    answer = child.ask(request, seconds)
    if keep and answer is not None and child.answers < _MOST_ANSWERS:
        _kept[kept_as] = child
    else:
        end = child.ended()
    if answer is None:
        if child.is_late or end == _TOO_LONG:
            limit = round(seconds if child.is_late else work, 1)
            raise error(f"takes longer than {limit:g} s to read; it is damaged, or no {kind}")
        raise error(f"cannot be read as a {kind} ({end}); it is damaged, or was made to do harm")
    is_refused, told, arrays = answer
    if is_refused:
        raise getattr(errors, told["error"])(told["message"])
    for array in arrays.values():
        array.flags.writeable = False
    return told, arrays


def _folder() -> str | None:
    """Name the folder that relative paths start from; a kept child was started in another one, maybe."""
    try:
        return os.getcwd()  # noqa: PTH109 - no more than a text is needed
    except FileNotFoundError:
        return None


class _Child:
    """A process that reads files, one after the other, until its input ends."""

    def __init__(self, memory: int) -> None:
        # -P: no file beside the user's script is imported in place of a module
        command = [sys.executable, "-P", "-m", __name__, str(memory)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        self._memory = memory
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115 - closed at its end; a pipe that nobody reads would fill
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._noise, env=environment
        )
        self.is_late = False
        self.answers = 0

    def is_there(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> tuple[bool, Any, dict[str, NDArray[Any]]] | None:
        """Ask, and give whether it refused, what it told, and arrays; ``None`` where it ended, or was ended in time."""
        watch = threading.Timer(seconds, self._end_late)
        watch.daemon = True
        watch.start()
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._answer()
        except (OSError, ValueError, TypeError, MemoryError):  # a broken pipe, or half an answer
            return None
        except BaseException:  # an interrupt: nobody waits for it any more
            self._process.kill()
            raise
        finally:
            watch.cancel()
        self.answers += 1
        return answer

    def _answer(self) -> tuple[bool, Any, dict[str, NDArray[Any]]]:
        """Take an answer array by array, so that nothing is in memory twice."""
        # It is a line of JSON, ``[is refused, told, [[name, dtype, shape], ...]]``, with the bytes of the arrays behind
        # it. A child that a file has taken over may say anything: no more room is made than it was allowed itself.
        stdout: Any = self._process.stdout
        is_refused, told, forms = json.loads(stdout.readline(self._memory))
        room, arrays = self._memory, {}
        for name, dtype, shape in forms:
            kind = np.dtype(dtype)
            room -= kind.itemsize * math.prod(shape)
            if room < 0 or kind.hasobject:
                raise ValueError(f"array {name}: more than the child may hold")
            array = np.empty(shape, kind)
            if stdout.readinto(_bytes_of(array)) != array.nbytes:
                raise ValueError(f"array {name}: half of it")
            arrays[name] = array
        return is_refused, told, arrays

    def _end_late(self) -> None:
        self.is_late = True
        self._process.kill()

    def ended(self) -> str | int:
        """End it, and say how it had ended before; the signal's number where its work took too long."""
        with suppress(OSError, subprocess.TimeoutExpired):
            self._process.communicate(timeout=_FAREWELL)
        self._process.kill()
        code = self._process.wait()
        with self._noise as noise:
            noise.seek(max(0, noise.seek(0, os.SEEK_END) - _END))
            last = noise.read().decode(errors="replace").strip().rpartition("\n")[2]
        if code < 0:
            return _TOO_LONG if -code == _TOO_LONG else f"its reader was ended by signal {-code}"
        if "MemoryError" in last.partition(":")[0]:
            return "it takes more memory than its reader may have"
        return " ".join(last[:120].split()) or "its reader gave no whole answer"


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """Give the memory of an array that lies in one piece."""
    return array.reshape(-1).view(np.uint8).data


# Children that wait for the next file, by the process that began them (one that it forks has its own), the memory that
# they may take, the library that they began with, and where they look for modules.
_kept: dict[tuple[int, int, str, tuple[str, ...]], _Child] = {}


@atexit.register
def _end_kept() -> None:
    for (process, *_), child in _kept.items():
        if process == os.getpid():
            child.ended()


# ---- in the child ---------------------------------------------------------------------------------------------------


def _serve(memory: int) -> int:
    """Call the readers that are asked for, and write what they give to standard output."""
    # what libraries print must not stand in the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if _TOO_LONG:
        signal.signal(_TOO_LONG, signal.SIG_DFL)
    is_limited = False
    for line in sys.stdin.buffer:
        request = json.loads(line)
        module, _, function = request["reader"].partition(":")
        read = getattr(importlib.import_module(module), function)
        if request["library"]:
            importlib.import_module(request["library"])
        if not is_limited:  # after the modules of the first reader are there
            _limit_room(memory)
            is_limited = True
        _limit_work(request["work"])
        if request["folder"] is not None:
            os.chdir(request["folder"])
        os.lseek(2, 0, os.SEEK_SET)
        os.ftruncate(2, 0)
        arrays: list[NDArray[Any]] = []
        try:
            told, named = read(**request["asked"])
            arrays = [np.asarray(array) for array in named.values()]
            forms = [[name, array.dtype.str, array.shape] for name, array in zip(named, arrays, strict=True)]
            head = [False, told, forms]
        except NeuromapError as refused:
            head = [True, {"error": type(refused).__name__, "message": str(refused)}, []]
        answers.write(json.dumps(head).encode() + b"\n")
        for array in arrays:
            answers.write(_bytes_of(np.ascontiguousarray(array)))
        answers.flush()
    return 0


def _limit_room(memory: int) -> None:
    """Bound what this process takes beyond what it has by now: address space, and what it prints."""
    if sys.platform == "win32":  # no limits of that kind there
        return
    import resource

    try:
        pages = int(open("/proc/self/statm", encoding="ascii").read().split()[0])  # noqa: PTH123, SIM115
    except OSError:  # no Linux: bounded from nothing, generously
        pages = 2**32 // resource.getpagesize()
    _bound(resource.RLIMIT_AS, pages * resource.getpagesize() + memory)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_FSIZE, _MOST_NOISE)  # standard error is a file


def _limit_work(seconds: float) -> None:
    """Bound the time that this process computes: what it has by now, and so much more."""
    if sys.platform != "win32":
        import resource

        _bound(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds))


def _bound(limit: int, value: int) -> None:
    import resource

    most = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (value if most == resource.RLIM_INFINITY else min(value, most), most))


if __name__ == "__main__":
    sys.exit(_serve(int(sys.argv[1])))
