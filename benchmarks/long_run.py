"""Ten million ticks in bounded memory, stopped by a kill and gone on from a checkpoint.

    python -m benchmarks.long_run [--ticks 10000000] [--every 1000000] [--ranks 2] [--record all]

Runs the digits network SR (5 ticks per update step, 15 per frame) on random frames, records spikes into HDF5, and
prints seconds and the peak of the memory: of a tenth of the ticks, of all of them, of a run that is killed in the
middle, and of the run that goes on from its checkpoint, with --ranks on ranks of MPI. The traces must have the same
checksum; else the exit code is 1. Needs h5py; with --record all, some 15 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from safetensors import safe_open

import neuromap as nm

_NETWORK = Path(__file__).parents[1] / "examples" / "digits" / "sr.toml"
_TICKS_PER_STEP = 5
_POLL_SECONDS = 0.05


class Run(NamedTuple):
    """What a process took."""

    seconds: float
    peak_mb: float
    exit_code: int


def program(path: Path) -> int:
    """Map the network into a file; return ticks per frame."""
    net = nm.load_network(_NETWORK)
    rollout = nm.Rollout(net, "sequential")
    mapped = nm.map_rollout(rollout, ticks_per_step=_TICKS_PER_STEP)
    mapped.save(path)
    return int(mapped.period)


def tick_of(checkpoint: Path) -> int:
    """Read the tick of a checkpoint, 0 where there is none yet."""
    if not checkpoint.exists():
        return 0
    with safe_open(checkpoint, framework="numpy") as file:
        return int(json.loads(file.metadata()["about"])["tick"])


def simulate(words: list[str], *, stop: Callable[[], bool] = lambda: False) -> Run:
    """Run ``neuromap simulate`` in a process of its own, and kill it when ``stop`` says so."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "neuromap", "simulate", *words]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    found, status, used = os.wait4(running.pid, os.WNOHANG)
    while found == 0:
        if stop():
            os.kill(running.pid, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)
        found, status, used = os.wait4(running.pid, os.WNOHANG)
    return Run(time.perf_counter() - began, used.ru_maxrss / 1024, os.waitstatus_to_exitcode(status))


def checksum(path: Path) -> str:
    """Read the checksum of a trace in HDF5."""
    import h5py

    with h5py.File(path) as file:
        return str(file.attrs["checksum"])


def main() -> None:
    """Run, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ticks", type=int, default=10_000_000, help="ticks of the run, at most")
    parser.add_argument("--every", type=int, default=1_000_000, help="ticks from one checkpoint to the next")
    parser.add_argument("--ranks", type=int, default=1, help="ranks of MPI that go on")
    parser.add_argument("--record", default="outputs,node:H2", help="neurons whose spikes are recorded")
    asked = parser.parse_args()
    with TemporaryDirectory() as folder:
        _measure(Path(folder), asked.ticks, asked.every, asked.ranks, asked.record)


def _measure(folder: Path, ticks: int, every: int, ranks: int, record: str) -> None:
    file, checkpoint = folder / "program.nmp", folder / "run.checkpoint"
    period = program(file)

    def words(n_ticks: int, name: str) -> list[str]:
        n_frames = n_ticks // period - 1
        options = {"--frames": n_frames, "--record": record, "--threads": 1, "-o": folder / name}
        return [str(file), *(str(word) for option in options.items() for word in option)]

    def tell(what: str, run: Run) -> None:
        print(f"{what:<42} {run.seconds:8.1f} s   peak {run.peak_mb:6.0f} MB   exit code {run.exit_code}", flush=True)

    tell(f"{ticks // 10} ticks", simulate(words(ticks // 10, "tenth.h5")))
    tell(f"{ticks} ticks", simulate(words(ticks, "whole.h5")))
    kept = ["--checkpoint", str(checkpoint), "--every", str(every)]
    stopped = simulate([*words(ticks, "stopped.h5"), *kept], stop=lambda: tick_of(checkpoint) >= ticks // 2)
    tell("with checkpoints, killed in the middle", stopped)
    at = tick_of(checkpoint)
    going_on = ["--resume", str(checkpoint), *(["--ranks", str(ranks)] if ranks > 1 else [])]
    where = f" on {ranks} ranks" if ranks > 1 else ""
    tell(f"gone on from tick {at}{where}", simulate([*words(ticks, "resumed.h5"), *going_on]))
    sizes = [path.stat().st_size / 1e6 for path in (folder / "whole.h5", checkpoint)]
    print(f"trace {sizes[0]:.0f} MB; checkpoint {sizes[1] * 1e3:.0f} kB")
    whole, resumed = checksum(folder / "whole.h5"), checksum(folder / "resumed.h5")
    if whole != resumed:
        raise SystemExit(f"traces differ: {whole} and {resumed}")
    print(f"both traces: {whole}")


if __name__ == "__main__":
    main()
