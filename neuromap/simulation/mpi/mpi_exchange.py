"""Ranks as processes of MPI, on one machine or many."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.errors import NotSupportedError
from neuromap.files.unfinished import left_in, unfinished_name

_SPINS = 200
"""Times that a rank looks for what it waits for before it sleeps in between."""
_NAP = 5e-5
"""Seconds of such a sleep. Who sleeps has the core sooner than who yields: five times as quick on a busy machine."""


def import_mpi() -> Any:
    """Import MPI, which begins then."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):
        raise NotSupportedError(
            "--engine mpi: needs mpi4py and an MPI, which are not installed; pip install 'neuromap-rollouts[mpi]'"
        ) from None
    return MPI


def _has_room(n_bytes: int) -> bool:
    """Say whether shared memory takes so much; it may have less room than the machine."""
    try:
        return shutil.disk_usage(SHARED).free > n_bytes
    except OSError:
        return True


class MpiExchange:
    """One rank's end; see :class:`neuromap.simulation.mpi.exchange.Exchange`.

    Parcels go from point to point, to ranks with which there are wires; nobody waits for a rank that it has no wires
    with. A rank sends what there is, and receives into room for all that may come.

    Raises
    ------
    NotSupportedError
        If mpi4py is not installed.
    """

    def __init__(self) -> None:
        self._mpi = import_mpi()
        if os.environ.get("MPI_LOCALRANKID", os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK", "0")) == "0":
            sweep_segments()
            note_segments()
        self._ranks = self._mpi.COMM_WORLD
        self.rank, self.size = int(self._ranks.rank), int(self._ranks.size)
        self._room: dict[int, NDArray[Any]] = {}
        self._to: list[int] = []
        self._nothing: NDArray[Any] = np.zeros(0, np.int32)
        self._under_way: list[Any] = []
        self._sent: list[NDArray[Any]] = []
        self._windows: list[Any] = []  # MPI ends them

    def open(self, most_out: Ints, most_in: Ints, dtype: Any) -> None:
        """Make room for what may come."""
        self._to = np.flatnonzero(most_out).tolist()
        self._room = {int(peer): np.empty(most_in[peer], dtype) for peer in np.flatnonzero(most_in)}
        self._nothing = np.zeros(0, dtype)

    def start(self, messages: Sequence[NDArray[Any]]) -> None:
        """Begin to receive and to send."""
        byte = self._mpi.BYTE
        receive = [self._ranks.Irecv([room, byte], peer) for peer, room in self._room.items()]
        self._sent = [np.ascontiguousarray(messages[peer]) for peer in self._to]  # kept until they are gone
        send = [self._ranks.Isend([part, byte], peer) for part, peer in zip(self._sent, self._to, strict=True)]
        self._under_way = receive + send

    def finish(self) -> list[NDArray[Any]]:
        """Wait until all has come and gone."""
        states = self._wait(self._under_way)
        found = [self._nothing] * self.size
        for (peer, room), state in zip(self._room.items(), states, strict=False):
            found[peer] = room[: state.Get_count(self._mpi.BYTE) // room.itemsize].copy()
        return found

    def memory(self, n_bytes: int) -> NDArray[np.uint8] | None:
        """Take a window of shared memory, if all ranks are on one machine and it has room for that."""
        machine = self._ranks.Split_type(self._mpi.COMM_TYPE_SHARED)
        if machine.size < self.size or not self.agree(_has_room(n_bytes)):
            return None
        window = self._mpi.Win.Allocate_shared(n_bytes if self.rank == 0 else 0, 1, comm=machine)
        self._windows.append(window)
        return np.frombuffer(window.Shared_query(0)[0], np.uint8)

    def share(self, array: Ints) -> list[Ints]:
        """Take the arrays of all ranks."""
        mine, counts = np.ascontiguousarray(array, np.int64), np.zeros(self.size, np.int64)
        self._wait([self._ranks.Iallgather(np.array([len(mine)]), counts)])
        whole = np.empty(int(counts.sum()), np.int64)
        self._wait([self._ranks.Iallgatherv(mine, [whole, counts])])
        return np.split(whole, np.cumsum(counts)[:-1])

    def agree(self, value: float) -> float:
        """Take the value of rank 0."""
        told = np.array([value])
        self._wait([self._ranks.Ibcast(told)])
        return float(told[0])

    def gather(self, array: Ints) -> list[Ints]:
        """Take the arrays of all ranks, on rank 0."""
        mine, counts = np.ascontiguousarray(array, np.int64), np.zeros(self.size, np.int64)
        length = np.array([len(mine)])
        self._wait([self._ranks.Igather(length, counts)])
        whole = np.empty(int(counts.sum()), np.int64)
        self._wait([self._ranks.Igatherv(mine, [whole, counts] if self.rank == 0 else None)])
        return np.split(whole, np.cumsum(counts)[:-1]) if self.rank == 0 else []

    def _wait(self, requests: list[Any]) -> list[Any]:
        """Wait for all of them, and let others have the core after a while; how each has ended."""
        states, spins = [self._mpi.Status() for _ in requests], 0
        while not self._mpi.Request.Testall(requests, states):
            spins += 1
            if spins > _SPINS:
                time.sleep(_NAP)
        return states

    def abort(self, exit_code: int) -> None:
        """End all ranks at once, this one too."""
        self._ranks.Abort(exit_code)


# Shared memory that MPI makes by name, removed where a killed run has left it.
#
# MPI's names do not say whose they are. So a run writes down, beside them, what it has; the name of that note tells
# its process, and the next run removes what notes of dead processes name.


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
