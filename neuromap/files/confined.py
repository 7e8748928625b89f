"""Native readers of foreign files, run in a process of their own with limits of time and memory.

HDF5, ONNX's shape inference and the like are written in C and C++: a damaged file can make them hang, take all memory
or end the process that they run in. In a child that costs one line, not the session.
"""

from __future__ import annotations

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
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from neuromap import errors
from neuromap.errors import InputError, NeuromapError

__all__ = ["Answer", "confined"]

Answer = tuple[Any, Mapping[str, NDArray[Any]]]
"""What a reader gives: what JSON can hold, and arrays."""

MEMORY = 2**30
"""Bytes of address space that a reader may take beside what it begins with, if nothing else is said."""
SECONDS = 60.0
"""Time that a reader has, if nothing else is said."""
_TOO_LONG = getattr(signal, "SIGXCPU", 0)
"""Signal that ends a child whose work takes too long."""
_REFUSED = 3
"""Exit code of a child that refused the file in words of its own."""


def confined(
    reader: str,
    asked: Mapping[str, Any],
    kind: str,
    *,
    seconds: float = SECONDS,
    work: float | None = None,
    memory: int = MEMORY,
    error: type[InputError] = InputError,
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
    work : float or None
        Processor time that it has, which a busy machine does not shorten; by default as much as wall time.
    memory : int
        Bytes that it may take.
    error : type of InputError
        What is raised.

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
    # -P: no file beside the user's script is imported in place of a module
    command = [sys.executable, "-P", "-m", __name__, reader, str(memory), str(work or seconds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    with (
        tempfile.TemporaryFile() as noise,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=noise, env=environment
        ) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            child.kill()

        watch = threading.Timer(seconds, end)
        watch.daemon = True
        watch.start()
        try:
            told, arrays = _taken(child.stdin, child.stdout, asked, memory)
            code = child.wait()
        finally:  # an interrupt ends the child too
            watch.cancel()
            child.kill()
        if is_late.is_set() or (code < 0 and -code == _TOO_LONG):
            told = round(seconds if is_late.is_set() else work or seconds, 1)
            raise error(f"takes longer than {told:g} s to read; it is damaged, or no {kind}")
        if code == _REFUSED and isinstance(told, dict):
            raise getattr(errors, told["error"])(told["message"])
        if code != 0 or arrays is None:
            raise error(f"cannot be read as a {kind} ({_end_of(code, noise)}); it is damaged, or was made to do harm")
    for array in arrays.values():
        array.flags.writeable = False
    return told, arrays


def _taken(
    stdin: IO[bytes], stdout: IO[bytes], asked: Mapping[str, Any], memory: int
) -> tuple[Any, dict[str, NDArray[Any]] | None]:
    """Ask a child, and take its answer array by array, so that nothing is in memory twice; ``None`` if it gives none.

    The answer is a line of JSON, ``[told, [[name, dtype, shape], ...]]``, with the bytes of the arrays behind it. A
    child that a file has taken over may say anything: no more room is made than it was allowed itself.
    """
    try:
        with stdin:
            stdin.write(json.dumps(asked).encode())
        told, forms = json.loads(stdout.readline(memory))
        arrays = {}
        for name, dtype, shape in forms:
            kind = np.dtype(dtype)
            memory -= kind.itemsize * math.prod(shape)
            if memory < 0 or kind.hasobject:
                return told, None
            array = np.empty(shape, kind)
            if stdout.readinto(_bytes_of(array)) != array.nbytes:  # type: ignore[attr-defined]
                return told, None
            arrays[name] = array
    except (OSError, ValueError, TypeError):  # a broken pipe, or half an answer
        return None, None
    return told, arrays


def _bytes_of(array: NDArray[Any]) -> memoryview:
    """Give the memory of an array that lies in one piece."""
    return array.reshape(-1).view(np.uint8).data


def _end_of(code: int, noise: IO[bytes]) -> str:
    """Say how a child ended that gave no answer."""
    if code < 0:
        return f"its reader was ended by signal {-code}"
    noise.seek(max(0, noise.seek(0, os.SEEK_END) - 4096))
    last = noise.read().decode(errors="replace").strip().rpartition("\n")[2]
    if "MemoryError" in last.partition(":")[0]:
        return "it takes more memory than its reader may have"
    return " ".join(last[:120].split()) or "its reader gave no whole answer"


def _answer() -> int:
    """Be the child: call the reader named by the arguments, and write what it gives to standard output."""
    module, _, function = sys.argv[1].partition(":")
    asked = json.loads(sys.stdin.buffer.read())
    read = getattr(importlib.import_module(module), function)
    # what libraries print must not stand in the answer
    answer = os.dup(1)
    os.dup2(2, 1)
    if _TOO_LONG:
        signal.signal(_TOO_LONG, signal.SIG_DFL)
    _limit(int(sys.argv[2]), float(sys.argv[3]))
    code, arrays = 0, []
    try:
        told, named = read(**asked)
        arrays = [np.asarray(array) for array in named.values()]
        forms = [[name, array.dtype.str, array.shape] for name, array in zip(named, arrays, strict=True)]
    except NeuromapError as refused:
        told, forms, code = {"error": type(refused).__name__, "message": str(refused)}, [], _REFUSED
    with os.fdopen(answer, "wb") as stream:
        stream.write(json.dumps([told, forms]).encode() + b"\n")
        for array in arrays:
            stream.write(_bytes_of(np.ascontiguousarray(array)))
    return code


def _limit(memory: int, work: float) -> None:
    """Bound this process beyond what it has and did by now: address space, work, and what it writes into files."""
    if sys.platform == "win32":  # no limit of that kind there
        return
    import resource

    try:
        pages = int(open("/proc/self/statm", encoding="ascii").read().split()[0])  # noqa: PTH123, SIM115
    except OSError:  # no Linux: bounded from nothing, generously
        pages = 2**32 // resource.getpagesize()
    bound = pages * resource.getpagesize() + memory
    for limit, value in (
        (resource.RLIMIT_AS, bound),
        (resource.RLIMIT_CPU, math.ceil(time.process_time() + work)),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 2**20),  # standard error is a file
    ):
        most = resource.getrlimit(limit)[1]
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(limit, (value, most))


if __name__ == "__main__":
    sys.exit(_answer())
