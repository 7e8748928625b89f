"""Ranks on this machine, started by one that is none of them: what they say is passed on, without what MPI adds.

MPI's starter prints a banner of its own where a rank fails or is killed, and ends those that could say more. Who starts
the starter can leave that out, and say in one line what has happened.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from neuromap.errors import InputError, NeuromapError, NotSupportedError, ProgramError
from neuromap.files.messages import show, show_name
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program_file import map_program
from neuromap.simulation.mpi.exchange import Exchange

_STAMP_BYTES = 6
"""As many as a float holds."""
_SAMPLES, _SAMPLE_BYTES = 64, 1 << 14
"""Pieces of a file that are compared, and their length."""


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


MOST_RANKS = 1024
"""More than a machine has cores for."""
_RANK_WORDS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
"""In the environment of a process that MPI has started."""
_SECONDS = 10.0
"""How long ranks that are interrupted may take to end."""
_INTERRUPTED = 130
_OURS = re.compile(rb"neuromap( [a-z]+)?: ")
_NOISE = re.compile(
    rb"={40,}$|=   .*|YOUR APPLICATION TERMINATED WITH |This typically refers to a problem with your application"
    rb"|Please see the FAQ page |\[(mpiexec|proxy[:\d]*)@|Abort\(\d+\) on node |\[[\w.-]+:\d+\] "
)
"""Lines of MPICH and Open MPI."""
_RULE = re.compile(rb"-{60,}$")
"""Open MPI has its messages between two of these, on stderr."""
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
