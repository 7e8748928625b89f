"""Native readers of foreign files, run in a process of their own with limits of time and memory.

HDF5, ONNX's shape inference and the like are written in C and C++: a damaged file can make them hang, take all memory
or end the process that they run in. In a child that costs one line, not the session.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
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
"""Exit code of a child that refused the file in words of its own."""


def confined(
    reader: str,
    asked: Mapping[str, Any],
    kind: str,
    *,
    seconds: float = SECONDS,
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
    command = [sys.executable, "-P", "-m", __name__, reader, str(memory)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(asked).encode(),
            capture_output=True,
            timeout=seconds,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise error(f"takes longer than {seconds:g} s to read; it is damaged, or no {kind}") from None
    if done.returncode == _REFUSED:
        refusal = json.loads(done.stdout)
        raise getattr(errors, refusal["error"])(refusal["message"])
    if done.returncode != 0:
        raise error(f"cannot be read as a {kind} ({_end_of(done)}); it is damaged, or was made to do harm")
    arrays = load(done.stdout)
    told = json.loads(arrays.pop(_TOLD).tobytes())
    for array in arrays.values():
        array.flags.writeable = False
    return told, arrays


_TOLD = "told"


def _end_of(done: subprocess.CompletedProcess[bytes]) -> str:
    """Say how a child ended that gave no answer."""
    if done.returncode < 0:
        return f"its reader was ended by signal {-done.returncode}"
    last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return "it takes more memory than its reader may have" if "MemoryError" in last.partition(":")[0] else last[:120]


def _answer() -> int:
    """Be the child: call the reader named by the arguments, and write what it gives to standard output."""
    module, _, function = sys.argv[1].partition(":")
    asked = json.loads(sys.stdin.buffer.read())
    read = getattr(importlib.import_module(module), function)
    # what libraries print must not stand in the answer
    answer, code = os.dup(1), 0
    os.dup2(2, 1)
    _limit(int(sys.argv[2]))
    try:
        told, arrays = read(**asked)
        data = canonical_bytes({**arrays, _TOLD: np.frombuffer(json.dumps(told).encode(), np.uint8)}, {})
    except NeuromapError as refused:
        told = {"error": type(refused).__name__, "message": str(refused)}
        data, code = json.dumps(told).encode(), _REFUSED
    with os.fdopen(answer, "wb") as stream:
        stream.write(data)
    return code


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


if __name__ == "__main__":
    sys.exit(_answer())
