"""Ranks on this machine, started by a parent process that passes on their output without MPI's additions.

``mpiexec`` prints its own banner if a rank fails or is killed, and ends ranks that could report more. The process that
starts ``mpiexec`` can leave the banner out and report in one line what has happened.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.errors import InputError, NeuromapError, NotSupportedError, ProgramError
from neuromap.files.messages import show, show_name
from neuromap.files.whole_file import left_in, unfinished_name
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program_file import map_program
from neuromap.simulation.mpi.rank_engine import Exchange

# Polls of a waiting rank before it sleeps in between.
_SPINS = 200
# Seconds of one sleep. A sleeping rank gets the core back sooner than a yielding one: five times as fast on a busy
# machine.
_NAP = 5e-5


def import_mpi() -> Any:
    """Import MPI, which also initialises it."""
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):
        raise NotSupportedError(
            "--engine mpi: needs mpi4py and an MPI, which are not installed; pip install 'neuromap-rollouts[mpi]'"
        ) from None
    return MPI


def _has_room(n_bytes: int) -> bool:
    """Whether shared memory has room for ``n_bytes``; it may have less than the machine."""
    try:
        return shutil.disk_usage(SHARED).free > n_bytes
    except OSError:
        return True


class MpiExchange:
    """One rank's connection by MPI; see :class:`neuromap.simulation.mpi.rank_engine.Exchange`.

    Parcels go point to point between ranks with common wires; no rank waits for one that it has no wires
    with. A rank sends what there is, and receives into buffers for the most that may come.

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
        """Allocate buffers for incoming parcels."""
        self._to = np.flatnonzero(most_out).tolist()
        self._room = {int(peer): np.empty(most_in[peer], dtype) for peer in np.flatnonzero(most_in)}
        self._nothing = np.zeros(0, dtype)

    def start(self, messages: Sequence[NDArray[Any]]) -> None:
        """Start receiving and sending."""
        byte = self._mpi.BYTE
        receive = [self._ranks.Irecv([room, byte], peer) for peer, room in self._room.items()]
        self._sent = [np.ascontiguousarray(messages[peer]) for peer in self._to]  # kept until they are sent
        send = [self._ranks.Isend([part, byte], peer) for part, peer in zip(self._sent, self._to, strict=True)]
        self._under_way = receive + send

    def finish(self) -> list[NDArray[Any]]:
        """Wait until everything is received and sent."""
        states = self._wait(self._under_way)
        found = [self._nothing] * self.size
        for (peer, room), state in zip(self._room.items(), states, strict=False):
            found[peer] = room[: state.Get_count(self._mpi.BYTE) // room.itemsize].copy()
        return found

    def memory(self, n_bytes: int) -> NDArray[np.uint8] | None:
        """Allocate a window of shared memory, if all ranks are on one machine with enough room."""
        machine = self._ranks.Split_type(self._mpi.COMM_TYPE_SHARED)
        if machine.size < self.size or not self.agree(_has_room(n_bytes)):
            return None
        window = self._mpi.Win.Allocate_shared(n_bytes if self.rank == 0 else 0, 1, comm=machine)
        self._windows.append(window)
        return np.frombuffer(window.Shared_query(0)[0], np.uint8)

    def share(self, array: Ints) -> list[Ints]:
        """Return the arrays of all ranks."""
        mine, counts = np.ascontiguousarray(array, np.int64), np.zeros(self.size, np.int64)
        self._wait([self._ranks.Iallgather(np.array([len(mine)]), counts)])
        whole = np.empty(int(counts.sum()), np.int64)
        self._wait([self._ranks.Iallgatherv(mine, [whole, counts])])
        return np.split(whole, np.cumsum(counts)[:-1])

    def agree(self, value: float) -> float:
        """Return the value of rank 0."""
        told = np.array([value])
        self._wait([self._ranks.Ibcast(told)])
        return float(told[0])

    def gather(self, array: Ints) -> list[Ints]:
        """Return the arrays of all ranks, on rank 0; else nothing."""
        mine, counts = np.ascontiguousarray(array, np.int64), np.zeros(self.size, np.int64)
        length = np.array([len(mine)])
        self._wait([self._ranks.Igather(length, counts)])
        whole = np.empty(int(counts.sum()), np.int64)
        self._wait([self._ranks.Igatherv(mine, [whole, counts] if self.rank == 0 else None)])
        return np.split(whole, np.cumsum(counts)[:-1]) if self.rank == 0 else []

    def _wait(self, requests: list[Any]) -> list[Any]:
        """Wait for all requests, sleeping in between after a while; return the status of each."""
        states, spins = [self._mpi.Status() for _ in requests], 0
        while not self._mpi.Request.Testall(requests, states):
            spins += 1
            if spins > _SPINS:
                time.sleep(_NAP)
        return states

    def abort(self, exit_code: int) -> None:
        """End all ranks at once, this one too."""
        self._ranks.Abort(exit_code)


# Named shared memory of MPI, removed if a killed run left it behind.
#
# MPI's names do not tell the owner. So a run writes a note of its segments beside them, whose name tells the process;
# the next run removes the segments that notes of dead processes list.


# Where Linux keeps named shared memory.
SHARED = Path("/dev/shm")
# Names of MPICH and Open MPI; other names are never removed.
_OF_MPI = re.compile(r"(mpich_|ucx_|vader_segment|sm_segment|osc_)[\w.-]+")


def mapped_segments(process: str = "self") -> set[str]:
    """Names of MPI's shared memory that a process has mapped; empty if the system does not tell."""
    found = set()
    with suppress(OSError):
        for line in Path(f"/proc/{process}/maps").read_text(errors="replace").splitlines():
            name = line.partition(f" {SHARED}/")[2]
            if _OF_MPI.fullmatch(name):  # and not a deleted one, which is marked behind its name
                found.add(name)
    return found


def note_segments() -> None:
    """Write a note of this process's MPI segments; it is removed when the process ends normally."""
    lines = []
    for name in sorted(mapped_segments()):
        with suppress(OSError):
            lines.append(f"{(SHARED / name).lstat().st_ino} {name}")
    if not lines:
        return
    note = SHARED / unfinished_name()
    with suppress(OSError):  # the note is optional
        handle = os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write("\n".join(lines) + "\n")
        atexit.register(_forget, note, os.getpid())


def _forget(note: Path, process: int) -> None:
    if os.getpid() == process:  # not in a forked process
        with suppress(OSError):
            note.unlink(missing_ok=True)


def sweep_segments() -> None:
    """Remove shared memory noted by dead processes, unless a process has it mapped."""
    if not sys.platform.startswith("linux"):
        return
    notes = list(left_in(SHARED))
    if not notes:
        return
    processes = (name for name in os.listdir("/proc") if name.isdecimal())  # noqa: PTH208
    used = set[str]().union(*map(mapped_segments, processes))
    for note in notes:
        with suppress(OSError):
            kept = [segment for segment in _noted(note) if not _removed(*segment, used)]
            if not kept:
                note.unlink()


def _noted(note: Path) -> Iterator[tuple[int, str]]:
    for line in note.read_text(errors="replace").splitlines():
        number, _, name = line.partition(" ")
        if number.isdecimal() and _OF_MPI.fullmatch(name):
            yield int(number), name


def _removed(number: int, name: str, used: set[str]) -> bool:
    """Remove a segment unless it is in use; return whether it is gone, or its name was reused for another inode."""
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


# As many as a float holds exactly.
_STAMP_BYTES = 6
# Number and length of the pieces of a file that are compared.
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 14


def load_on_ranks(path: str | Path, exchange: Exchange) -> ChipProgram:
    """Open a program file on all ranks; all of them call this."""
    # The file is memory-mapped, and nothing is copied before a rank extracts its cores. Rank 0 checks all of it, like
    # :func:`neuromap.load_program`, while the others wait. The cores of a rank are checked again for everything that
    # could make an engine read or write out of bounds.
    # path: the same file, or one with the same bytes. It must not change while the ranks run
    program = map_program(path, check=exchange.rank == 0)
    mine = _stamp(Path(path))
    if exchange.agree(mine) != mine:
        raise ProgramError(f"{show_name(str(path))}: is another program than on rank 0; give all ranks the same file")
    return program


def _stamp(path: Path) -> float:
    """Digest of a file's size and samples; a small file is read completely."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        digest = hashlib.blake2b(str(size).encode(), digest_size=_STAMP_BYTES)
        for k in range(_SAMPLES):
            file.seek(size * k // _SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))
    return float(int.from_bytes(digest.digest(), "little"))


# More than a machine has cores for.
MOST_RANKS = 1024
# Environment variables of a process started by MPI.
_RANK_WORDS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
# Seconds that interrupted ranks may take to end.
_SECONDS = 10.0
_INTERRUPTED = 130
_OURS = re.compile(rb"neuromap( [a-z]+)?: ")
# Lines that MPICH and Open MPI print themselves.
_NOISE = re.compile(
    rb"={40,}$|=   .*|YOUR APPLICATION TERMINATED WITH |This typically refers to a problem with your application"
    rb"|Please see the FAQ page |\[(mpiexec|proxy[:\d]*)@|Abort\(\d+\) on node |\[[\w.-]+:\d+\] "
)
# Open MPI encloses its messages on stderr in two of these.
_RULE = re.compile(rb"-{60,}$")
_SIGNAL = re.compile(rb"\(signal (\d+)\)|on signal (\d+)")


def is_rank() -> bool:
    """Whether MPI started this process."""
    return any(word in os.environ for word in _RANK_WORDS)


def start_ranks(n_ranks: int, words: Sequence[str]) -> int:
    """Run ``neuromap`` with these arguments on ranks of this machine, and wait for them."""
    # Their output is passed on, except what MPI adds. An interrupt ends them. Their stdin is empty.
    if not 1 <= n_ranks <= MOST_RANKS:
        raise InputError(f"--ranks {n_ranks}: must be 1 to {MOST_RANKS}")
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()]))
    if mpiexec is None:
        raise NotSupportedError(
            f"--ranks {n_ranks}: needs mpiexec, which is not installed; pip install 'neuromap-rollouts[mpi]'"
        )
    command = [mpiexec, "-n", str(n_ranks), sys.executable, "-m", "neuromap", *words]
    passed = Passed()
    ranks = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **_apart()
    )
    pumps = [
        threading.Thread(target=passed.on, args=ends, daemon=True)
        for ends in ((ranks.stdout, sys.stdout, False), (ranks.stderr, sys.stderr, True))
    ]
    for pump in pumps:
        pump.start()
    try:
        code = ranks.wait()
        for pump in pumps:
            pump.join()
    except BaseException:
        _end(ranks)
        raise
    if passed.failure is not None:
        raise passed.failure
    if code == _INTERRUPTED:
        raise KeyboardInterrupt
    if code != 0 and not passed.told:
        raise NeuromapError(f"--ranks {n_ranks}: {passed.reason(code)}")
    return code


def _apart() -> dict[str, Any]:
    """Options so that ``mpiexec`` gets Ctrl-C only from this process, and ends if this process is killed (Linux)."""
    if sys.platform == "win32":
        return {}
    found: dict[str, Any] = {"process_group": 0}
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        found["preexec_fn"] = lambda: system.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    return found


def _end(ranks: subprocess.Popen[bytes]) -> None:
    """End the ranks, gracefully if they can."""
    with suppress(subprocess.TimeoutExpired):
        ranks.send_signal(signal.SIGINT)
        ranks.wait(_SECONDS)
    ranks.kill()
    ranks.wait()


class Passed:
    """Passes the output of ranks on to the streams of this process."""

    # told: whether a rank printed one of neuromap's own messages
    # failure: why the rest was not passed on

    def __init__(self) -> None:
        self.told = False
        self.failure: OSError | None = None
        self._lines: set[bytes] = set()
        self._left_out: list[bytes] = []

    def on(self, source: BinaryIO, target: Any, is_error: bool) -> None:
        """Pass lines on until the stream ends."""
        blank, inside = b"", False
        for line in source:
            text = line.rstrip()
            if is_error and _RULE.match(text):
                inside = not inside
            elif inside or _NOISE.match(text):
                self._left_out.append(text)
                blank = b""
            elif not text:
                blank += line  # a banner may begin with one
            elif not self._is_told_again(text):
                self._write(target, blank + line)
                blank = b""
        self._write(target, blank)

    def _write(self, target: Any, data: bytes) -> None:
        """Write passed-on output as long as possible; the ranks' streams are read to their end in any case."""
        try:
            if self.failure is None:
                target.write(data.decode(errors="replace"))
                target.flush()
        except OSError as error:
            self.failure = error

    def _is_told_again(self, text: bytes) -> bool:
        """Whether a neuromap message repeats one of another rank, or will be printed by this process."""
        if not _OURS.match(text):
            return False
        again = text in self._lines or text == b"neuromap: interrupted"
        self._lines.add(text)
        self.told = True
        return again

    def reason(self, code: int) -> str:
        """Explain why the ranks ended, if none of them printed a message."""
        if code < 0:
            return f"mpiexec was killed (signal {-code}); start again, with --resume FILE where there is a checkpoint"
        every = b" ".join(self._left_out)
        found = _SIGNAL.search(every)
        if found is not None:
            number = int(found[1] or found[2])
            why = "perhaps for want of memory; " if number == signal.SIGKILL else ""
            return (
                f"a rank was killed (signal {number}), which ended the others; {why}start again, with --resume FILE "
                "where there is a checkpoint"
            )
        said = [text for text in self._left_out if re.search(rb"\w", text)]
        return f"mpiexec ended with exit code {code} and said {show(b' '.join(said).decode(errors='replace')[:200])}"
