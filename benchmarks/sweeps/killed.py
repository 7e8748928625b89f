"""Sweeps whose processes are killed at random, beside the same sweep undisturbed.

    python -m benchmarks.sweeps.killed                      1,008 runs on 3 processes, head or worker killed ten times
    python -m benchmarks.sweeps.killed --dask               on a Dask cluster of two workers, one of which is killed
    python -m benchmarks.sweeps.killed --runs 48 --kills 2  fewer

Every kill is a SIGKILL at a moment that is drawn: when a random number of runs is done. The command is given again as
often as the head is killed. The rows of both stores are compared column by column. Linux only: processes are found in
/proc.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

__all__ = ["killed_sweep", "rows_of", "write_spec"]

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "sweeps_killed.json"
_SPEC = """\
format = 1
networks = ["{root}/examples/digits/sr.toml", "{root}/examples/digits/ff.toml"]
patterns = ["streaming", "sequential"]
executions = ["windowed", "pipelined"]
seeds = {{count = {seeds}}}
[set]
"core.axons" = [64, 256]
"core.neurons" = [128, 256]
[stimulus]
frames = 2
"""
_PER_SEED = 32
_POLL_SECONDS = 0.02


def write_spec(folder: Path, runs: int) -> Path:
    """Write a sweep file of at least so many runs."""
    path = folder / "killed.toml"
    path.write_text(_SPEC.format(root=_ROOT, seeds=-(-runs // _PER_SEED)), encoding="utf-8")
    return path


def rows_of(store: Path) -> list[tuple[Any, ...]]:
    """Read all columns of all rows, in their order."""
    with closing(sqlite3.connect(store)) as database:
        return database.execute("SELECT * FROM runs ORDER BY place").fetchall()


def n_done(store: Path) -> int:
    """Count what is done while the store is written; 0 as long as there is none."""
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60)) as database:
            return int(database.execute("SELECT count(*) FROM runs WHERE status IS NOT NULL").fetchone()[0])
    except sqlite3.Error:
        return 0


def start(spec: Path, store: Path, *how: str) -> subprocess.Popen[bytes]:
    """Give the command."""
    words = [sys.executable, "-m", "neuromap", "sweep", str(spec), "-o", str(store), *how]
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=_ROOT)


def workers_of(pid: int) -> list[int]:
    """Find the processes that were started by a head to work for it, not the one that tidies up after them."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [int(child) for child in children if b"spawn_main" in _command(child)]


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def killed_sweep(spec: Path, store: Path, runs: int, kills: int, draw: random.Random, *how: str) -> dict[str, int]:
    """Run a sweep, kill its head or one of its workers so many times, and give the command until it is done.

    Returns
    -------
    dict
        Kills of ``heads`` and of ``workers``, and how many ``commands`` it took.
    """
    moments = sorted(draw.sample(range(runs), kills))
    count = {"heads": 0, "workers": 0, "commands": 1}
    head = start(spec, store, *how)
    while (code := head.poll()) in (None, -signal.SIGKILL):  # else done, maybe before all moments came, or failed
        if code is not None:
            head.communicate()
            head = start(spec, store, *how)
            count["commands"] += 1
        elif moments and n_done(store) >= moments[0]:
            moments.pop(0)
            _kill(head.pid, draw, count)
        time.sleep(_POLL_SECONDS)
    _, said = head.communicate()
    if head.returncode:
        raise SystemExit(f"the sweep failed: {said.decode()}")
    return count


def _kill(head: int, draw: random.Random, count: dict[str, int]) -> None:
    workers = workers_of(head)
    victim = draw.choice([head, *workers])
    count["heads" if victim == head else "workers"] += 1
    os.kill(victim, signal.SIGKILL)


@contextmanager
def dask_cluster(folder: Path, n_workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and workers without nannies, so that a worker that is killed stays away."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    begun = [_dask(folder, "scheduler", "--port", str(port), *local)]
    worker = ["worker", address, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--no-dashboard"]
    begun += [_dask(folder, *worker, "--local-directory", str(folder)) for _ in range(n_workers)]
    try:
        yield address, begun[1:]
    finally:
        for process in begun:
            process.kill()
            process.wait()


def _dask(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-m", "dask", *words], cwd=folder, **quiet)  # type: ignore[call-overload]


def dask_sweep(spec: Path, store: Path, folder: Path, moment: int) -> dict[str, int]:
    """Run a sweep on two workers, and kill one when so many runs are done."""
    with dask_cluster(folder, 2) as (address, workers):
        head = start(spec, store, "--scheduler", address)
        while head.poll() is None and n_done(store) < moment:
            time.sleep(_POLL_SECONDS)
        done = n_done(store)
        workers[0].kill()
        _, said = head.communicate()
        if head.returncode:
            raise SystemExit(f"the sweep failed: {said.decode()}")
    return {"workers": 1, "runs done when it was killed": done}


def main() -> int:
    """Compare, print, and keep what was found."""
    options = _parser().parse_args()
    draw = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = write_spec(folder, options.runs)
        whole, broken = folder / "whole.sqlite", folder / "killed.sqlite"
        local = ("--processes", str(options.processes))
        first = start(spec, whole, *local)
        _, said = first.communicate()
        if first.returncode:
            raise SystemExit(f"the undisturbed sweep failed: {said.decode()}")
        runs = len(rows_of(whole))
        if options.dask:
            found = dask_sweep(spec, broken, folder, draw.randrange(runs // 4, 3 * runs // 4))
        else:
            found = killed_sweep(spec, broken, runs, options.kills, draw, *local)
        is_same = rows_of(whole) == rows_of(broken)
    where = "dask" if options.dask else "local"
    document = {"runs": runs, "seed": options.seed, "killed": found, "rows are those of the undisturbed sweep": is_same}
    print(json.dumps({where: document}, indent=2))
    if is_same and not options.no_file:
        kept = json.loads(_RESULTS.read_text(encoding="utf-8")) if _RESULTS.exists() else {}
        _RESULTS.write_text(json.dumps({**kept, where: document}, indent=2) + "\n", encoding="utf-8")
    return 0 if is_same else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="at least so many")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="of moments and victims")
    parser.add_argument("--dask", action="store_true", help="on a Dask cluster, one of whose two workers is killed")
    parser.add_argument("--no-file", action="store_true", help=f"do not write {_RESULTS.name}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
