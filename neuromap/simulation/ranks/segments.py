"""Shared memory that MPI makes by name, removed where a killed run has left it.

MPI's names do not say whose they are. So a run writes down, beside them, what it has; the name of that note tells its
process, and the next run removes what notes of dead processes name.
"""

from __future__ import annotations

import atexit
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from neuromap.files.unfinished import left_in, unfinished_name

__all__ = ["SHARED", "note_segments", "sweep_segments"]

SHARED = Path("/dev/shm")
"""Where Linux keeps memory that processes share by name."""
_OF_MPI = re.compile(r"(mpich_|ucx_|vader_segment|sm_segment|osc_)[\w.-]+")
"""What MPICH and Open MPI call theirs; other names are never removed."""


def mapped_segments(process: str = "self") -> set[str]:
    """Names of MPI's shared memory that a process has mapped; none where the system does not say."""
    found = set()
    with suppress(OSError):
        for line in Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines():
            name = line.partition(f" {SHARED}/")[2]
            if _OF_MPI.fullmatch(name):  # and not one that is deleted, which the system tells behind its name
                found.add(name)
    return found


def note_segments() -> None:
    """Write down what MPI has made for this process; the note goes when the process ends by itself."""
    lines = []
    for name in sorted(mapped_segments()):
        with suppress(OSError):
            lines.append(f"{(SHARED / name).lstat().st_ino} {name}")
    if not lines:
        return
    note = SHARED / unfinished_name()
    with suppress(OSError):  # a run does without
        handle = os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write("\n".join(lines) + "\n")
        atexit.register(_forget, note, os.getpid())


def _forget(note: Path, process: int) -> None:
    if os.getpid() == process:  # and not one that it has forked
        with suppress(OSError):
            note.unlink(missing_ok=True)


def sweep_segments() -> None:
    """Remove shared memory that runs of dead processes have noted, where nobody has it mapped."""
    if not sys.platform.startswith("linux"):
        return
    notes = list(left_in(SHARED))
    used = set().union(*map(mapped_segments, _processes())) if notes else set()
    for note in notes:
        with suppress(OSError):
            kept = [segment for segment in _noted(note) if not _removed(*segment, used)]
            if not kept:
                note.unlink()


def _processes() -> Iterator[str]:
    return (name for name in os.listdir("/proc") if name.isdecimal())  # noqa: PTH208


def _noted(note: Path) -> Iterator[tuple[int, str]]:
    for line in note.read_text(errors="replace").splitlines():
        number, _, name = line.partition(" ")
        if number.isdecimal() and _OF_MPI.fullmatch(name):
            yield int(number), name


def _removed(number: int, name: str, used: set[str]) -> bool:
    """Remove a segment unless it is used; say whether it is gone. One of another number has taken the name since."""
    if name in used:
        return False
    path = SHARED / name
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    if stat.S_ISREG(found.st_mode) and found.st_ino == number and found.st_uid == os.geteuid():
        path.unlink()
    return True
