"""Native readers of foreign files, run in a child process with time and memory limits.

HDF5, ONNX's shape inference and the like are written in C and C++: a damaged file can make them hang, exhaust memory
or crash their process. In a child process that costs one error message, not the session.
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

# What a reader returns: a JSON value, and arrays.
Answer = tuple[Any, Mapping[str, NDArray[Any]]]

# Default limit of a reader's address space, in bytes beyond what it starts with.
MEMORY = 2**30
# Default time limit of a reader.
SECONDS = 60.0
# Signal that ends a child whose work takes too long.
_TOO_LONG = getattr(signal, "SIGXCPU", 0)
# Files after which a kept child is replaced, as fragmented memory is not given back.
_MOST_ANSWERS = 200
# Seconds that a child has to exit after its input ends.
_FAREWELL = 10.0
# Bytes that libraries may print about one file.
_MOST_NOISE = 2**20
# Bytes at the end of that output that are inspected.
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
    # library: what the reader needs; importing it counts neither as memory nor as work
    # returns the reader's answer, and its arrays, read-only
    if keep:  # rounded up, so that files of similar size share a child
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
    """Return the working folder; a kept child may have been started in another one."""
    try:
        return os.getcwd()  # noqa: PTH109 - a text suffices
    except FileNotFoundError:
        return None


class _Child:
    """A child process that reads files, one after the other, until its input ends."""

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
        """Send a request; return whether it was refused, the answer and arrays; ``None`` if the child died or hung."""
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
        except BaseException:  # an interrupt: nobody waits for the answer any more
            self._process.kill()
            raise
        finally:
            watch.cancel()
        self.answers += 1
        return answer

    def _answer(self) -> tuple[bool, Any, dict[str, NDArray[Any]]]:
        """Receive an answer array by array, so that nothing is in memory twice."""
        # A line of JSON, ``[is refused, told, [[name, dtype, shape], ...]]``, then the bytes of the arrays. A hijacked
        # child may send anything, so no more memory is allocated than the child's own limit.
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
        """Stop the child, and return how it had ended before; the signal's number if its work took too long."""
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
    """Return the memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


# Children that wait for the next file, by parent process (a fork of it has its own), memory limit, library and module
# search path.
_kept: dict[tuple[int, int, str, tuple[str, ...]], _Child] = {}


@atexit.register
def _end_kept() -> None:
    for (process, *_), child in _kept.items():
        if process == os.getpid():
            child.ended()


# ---- in the child ---------------------------------------------------------------------------------------------------


def _serve(memory: int) -> int:
    """Call the requested readers, and write their answers to standard output."""
    # keep what libraries print out of the answers
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
        if not is_limited:  # only after the first reader's modules are imported
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
    """Limit the address space that this process takes beyond its current size, and what it prints."""
    if sys.platform == "win32":  # no limits of that kind there
        return
    import resource

    try:
        pages = int(open("/proc/self/statm", encoding="ascii").read().split()[0])  # noqa: PTH123, SIM115
    except OSError:  # not Linux: a generous guess
        pages = 2**32 // resource.getpagesize()
    _bound(resource.RLIMIT_AS, pages * resource.getpagesize() + memory)
    _bound(resource.RLIMIT_CORE, 0)
    _bound(resource.RLIMIT_FSIZE, _MOST_NOISE)  # standard error is a file


def _limit_work(seconds: float) -> None:
    """Limit the CPU time of this process to what it has used by now plus ``seconds``."""
    if sys.platform != "win32":
        import resource

        _bound(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds))


def _bound(limit: int, value: int) -> None:
    import resource

    most = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (value if most == resource.RLIM_INFINITY else min(value, most), most))


if __name__ == "__main__":
    sys.exit(_serve(int(sys.argv[1])))
