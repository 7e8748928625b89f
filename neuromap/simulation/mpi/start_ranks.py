"""Ranks on this machine, started by one that is none of them: what they say is passed on, without what MPI adds.

MPI's starter prints a banner of its own where a rank fails or is killed, and ends those that could say more. Who starts
the starter can leave that out, and say in one line what has happened.
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

# Times that a rank looks for what it waits for before it sleeps in between.
_SPINS = 200
# Seconds of such a sleep. Who sleeps has the core sooner than who yields: five times as quick on a busy machine.
_NAP = 5e-5


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
    """One rank's end; see :class:`neuromap.simulation.mpi.rank_engine.Exchange`.

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


# Where Linux keeps memory that processes share by name.
SHARED = Path("/dev/shm")
# What MPICH and Open MPI call theirs; other names are never removed.
_OF_MPI = re.compile(r"(mpich_|ucx_|vader_segment|sm_segment|osc_)[\w.-]+")


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


# As many as a float holds.
_STAMP_BYTES = 6
# Pieces of a file that are compared, and their length.
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 14


def load_on_ranks(path: str | Path, exchange: Exchange) -> ChipProgram:
    """Open a program file on all ranks; each calls this."""
    # The file is mapped into memory, and nothing of it is copied before a rank takes out its cores. Rank 0 checks all
    # of it, as :func:`neuromap.load_program` does, while the others wait. What a rank takes out is asked again for all
    # that could make an engine read or write past an array.
    # path: the same file, or one of the same bytes. It must not be changed while the ranks run
    program = map_program(path, check=exchange.rank == 0)
    mine = _stamp(Path(path))
    if exchange.agree(mine) != mine:
        raise ProgramError(f"{show_name(str(path))}: is another program than on rank 0; give all ranks the same file")
    return program


def _stamp(path: Path) -> float:
    """Tell files apart by their size and samples; a small file is read as a whole."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        digest = hashlib.blake2b(str(size).encode(), digest_size=_STAMP_BYTES)
        for k in range(_SAMPLES):
            file.seek(size * k // _SAMPLES)
            digest.update(file.read(_SAMPLE_BYTES))
    return float(int.from_bytes(digest.digest(), "little"))


# More than a machine has cores for.
MOST_RANKS = 1024
# In the environment of a process that MPI has started.
_RANK_WORDS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
# How long ranks that are interrupted may take to end.
_SECONDS = 10.0
_INTERRUPTED = 130
_OURS = re.compile(rb"neuromap( [a-z]+)?: ")
# Lines of MPICH and Open MPI.
_NOISE = re.compile(
    rb"={40,}$|=   .*|YOUR APPLICATION TERMINATED WITH |This typically refers to a problem with your application"
    rb"|Please see the FAQ page |\[(mpiexec|proxy[:\d]*)@|Abort\(\d+\) on node |\[[\w.-]+:\d+\] "
)
# Open MPI has its messages between two of these, on stderr.
_RULE = re.compile(rb"-{60,}$")
_SIGNAL = re.compile(rb"\(signal (\d+)\)|on signal (\d+)")


def is_rank() -> bool:
    """Say whether MPI has started this process."""
    return any(word in os.environ for word in _RANK_WORDS)


def start_ranks(n_ranks: int, words: Sequence[str]) -> int:
    """Run ``neuromap`` with some words on ranks of this machine, and wait for them."""
    # What they print is passed on, but for what MPI adds. An interrupt ends them. They read nothing.
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
    """Start the starter so that it hears a Ctrl-C from here only, and ends where this process is killed."""
    if sys.platform == "win32":
        return {}
    found: dict[str, Any] = {"process_group": 0}
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        found["preexec_fn"] = lambda: system.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    return found


def _end(ranks: subprocess.Popen[bytes]) -> None:
    """End the ranks, in their own way if they can."""
    with suppress(subprocess.TimeoutExpired):
        ranks.send_signal(signal.SIGINT)
        ranks.wait(_SECONDS)
    ranks.kill()
    ranks.wait()


class Passed:
    """What ranks say, on its way to the streams of this process."""

    # told: whether one of them has said a line of ours
    # failure: why the rest was not passed on

    def __init__(self) -> None:
        self.told = False
        self.failure: OSError | None = None
        self._lines: set[bytes] = set()
        self._left_out: list[bytes] = []

    def on(self, source: BinaryIO, target: Any, is_error: bool) -> None:
        """Pass lines on until there are no more."""
        blank, inside = b"", False
        for line in source:
            text = line.rstrip()
            if is_error and _RULE.match(text):
                inside = not inside
            elif inside or _NOISE.match(text):
                self._left_out.append(text)
                blank = b""
            elif not text:
                blank += line  # a banner may begin so
            elif not self._is_told_again(text):
                self._write(target, blank + line)
                blank = b""
        self._write(target, blank)

    def _write(self, target: Any, data: bytes) -> None:
        """Write what is passed on, while that can be written; the ranks are read to their end in any case."""
        try:
            if self.failure is None:
                target.write(data.decode(errors="replace"))
                target.flush()
        except OSError as error:
            self.failure = error

    def _is_told_again(self, text: bytes) -> bool:
        """Say whether a line of ours was said by another rank, or will be said here."""
        if not _OURS.match(text):
            return False
        again = text in self._lines or text == b"neuromap: interrupted"
        self._lines.add(text)
        self.told = True
        return again

    def reason(self, code: int) -> str:
        """Say why the ranks have ended, of which none has said anything."""
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
