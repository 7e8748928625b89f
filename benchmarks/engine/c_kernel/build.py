"""Compile the C of the yardstick on first use, into ``build/`` beside this file."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Literal

from neuromap.errors import NotSupportedError

__all__ = ["Instructions", "compile_library"]

Instructions = Literal["native", "avx2"]
"""What the compiler may use: all that this CPU has (AVX-512 where it has it), or AVX2 only."""

_HERE = Path(__file__).resolve().parent
_MARCH: dict[str, str] = {"native": "native", "avx2": "x86-64-v3"}
_FLAGS = ("-std=c11", "-O3", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread")


def compile_library(name: str, instructions: Instructions = "native", defines: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Compile ``name.c`` and load it.

    Parameters
    ----------
    name : str
        "kernel" or "bandwidth".
    instructions : {"native", "avx2"}
        Instruction set.
    defines : tuple of str
        Macros for the compiler, such as "LISTEN_AHEAD=8": to tune the kernel.

    Returns
    -------
    ctypes.CDLL
        The library. It is kept, and compiled again if a source, the flags or the CPU changed.

    Raises
    ------
    NotSupportedError
        Without gcc, on a CPU without AVX2, or if the compiler fails.
    """
    if platform.machine() not in ("x86_64", "AMD64"):
        raise NotSupportedError(f"C kernel: needs an x86-64 CPU with AVX2, this is {platform.machine()}; leave it out")
    compiler = shutil.which("gcc")
    if compiler is None:
        raise NotSupportedError("C kernel: gcc is not on the PATH; install gcc, or leave the C kernel out")
    flags = (*_FLAGS, f"-march={_MARCH[instructions]}", *(f"-D{define}" for define in defines))
    library = _HERE / "build" / f"{name}-{_fingerprint(name, flags)}.so"
    if not library.exists():
        library.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=library.parent, suffix=".so")
        os.close(handle)
        try:
            command = [compiler, *flags, str(_HERE / f"{name}.c"), "-o", temporary]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                reason = next((line for line in done.stderr.splitlines() if "error" in line), "no message")
                raise NotSupportedError(f"C kernel: gcc cannot compile {name}.c: {reason}")
            Path(temporary).replace(library)
        finally:
            Path(temporary).unlink(missing_ok=True)
    return ctypes.CDLL(str(library))


def _fingerprint(name: str, flags: tuple[str, ...]) -> str:
    """Hash of all that the library depends on; "native" means another thing on another CPU."""
    digest = hashlib.sha256()
    for source in (_HERE / f"{name}.c", _HERE / "lanes.h"):
        digest.update(source.read_bytes())
    cpu = Path("/proc/cpuinfo")
    of_cpu = [line for line in cpu.read_text().splitlines() if line.startswith("flags")][:1] if cpu.exists() else []
    digest.update(repr((flags, of_cpu, platform.node())).encode())
    return digest.hexdigest()[:16]
