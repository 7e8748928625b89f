"""Long runs: memory and open files stay flat, and results are those of short ones.

    python -m benchmarks.endurance studio --ticks 100000     a session that is looked at, drawn on and edited
    python -m benchmarks.endurance sweep --runs 10000        on Dask, whose workers are killed and come back

``studio`` steps two rollouts of digits SR, a viewer asking for news after every 50 ticks, and draws, edits and takes
back on the way; a second session, looked at by nobody, gets the same orders in other steps: checksums of all spikes
must be equal. ``sweep`` maps and simulates a network so many times with other seeds on two workers, one of which is
killed every few seconds and replaced; its rows must be those of one process. At every tenth memory and open files are
told; the exit code is 1 where they grow after the first tenth by more than a tenth and 16 MiB, or results differ.
A simulation of any length is ``python -m benchmarks.long_run``.
"""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

import neuromap as nm
from neuromap.faults.edited_program import ThresholdEdit
from neuromap.studio.messages import Viewer
from neuromap.studio.scene.commands import Session
from neuromap.studio.scene.scene import Change, Scene, SceneRun, Shown

_DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "sr.toml"
_SLACK_MIB = 16.0


class Held(NamedTuple):
    """What processes hold (Linux)."""

    mib: float
    files: int

    @classmethod
    def by(cls, *processes: int) -> Held:
        """Look at them."""
        places = [Path("/proc", str(one)) for one in processes]
        pages = sum(int((place / "statm").read_text().split()[1]) for place in places)
        files = sum(len(list((place / "fd").iterdir())) for place in places)
        return cls(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, files)


def told(done: int, of: int, what: str, held: Held) -> Held:
    """Say what is held after a part of the work."""
    print(f"{done:,} of {of:,} {what}: {held.mib:.0f} MiB, {held.files} open files", flush=True)
    return held


def is_flat(after_a_tenth: Held, at_the_end: Held) -> bool:
    """Say whether what is held has stopped growing."""
    most = 1.1 * after_a_tenth.mib + _SLACK_MIB
    return at_the_end.mib <= most and at_the_end.files <= after_a_tenth.files + 2


def session() -> Session:
    """Begin a session with two rollouts; give it when both are mapped."""
    net = nm.load_network(_DIGITS)
    runs = tuple(SceneRun(nm.RolloutPattern.named(net, name), "windowed") for name in ("streaming", "sequential"))
    shown = Shown("random", density=0.3)
    begun = Session("long", Scene(net, nm.load_chip("truenorth"), runs, changes=(Change(0, shown=shown),)))
    while begun.is_mapping:
        time.sleep(0.05)
    return begun


def play(begun: Session, n_ticks: int, step: int, *, is_looked_at: bool) -> tuple[list[Held], tuple[int, ...]]:
    """Step a session, with something new every tenth of a tenth; give what was held at every tenth, and checksums."""
    viewer, held = Viewer(begun), list[Held]()
    every = n_ticks // 100
    for part in range(100):
        for _ in range(every // step):
            begun.step(step)
            if is_looked_at:
                viewer.news()
        shown = Shown("random", density=0.1 + 0.005 * part, seed=part)
        edits = (ThresholdEdit("H1", part % 8, 1),) if part % 2 else ()
        begun.stage.show(shown) if part % 3 else begun.stage.edit(0, edits)
        if part % 10 == 9 and is_looked_at:
            held.append(told((part + 1) * every, n_ticks, "ticks", Held.by(os.getpid())))
    return held, begun.stage.scene.checksums


def studio(n_ticks: int) -> bool:
    """Play a session and another one; say whether they stay flat and agree."""
    watched, alone = session(), session()
    held, found = play(watched, n_ticks, 50, is_looked_at=True)
    _, other = play(alone, n_ticks, 25, is_looked_at=False)
    print(f"checksums {found} and, looked at by nobody, in other steps, {other}")
    for one in (watched, alone):
        one.close()
    return is_flat(held[0], held[-1]) and found == other


def worker(address: str, folder: str) -> subprocess.Popen[bytes]:
    """Start a worker of the cluster."""
    words = ["-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    command = [sys.executable, *words, "--local-directory", folder]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)


def rows(store: Path) -> list[tuple[object, ...]]:
    """Give the rows of a store that are done, in the order of the sweep."""
    with closing(sqlite3.connect(store)) as opened:
        return opened.execute("SELECT * FROM runs WHERE status IS NOT NULL ORDER BY place").fetchall()


def sweep(n_runs: int, killed_every: float) -> bool:
    """Sweep on a cluster with workers that come and go, and in one process; say whether the rows are equal."""
    draw = np.random.default_rng(1)
    edges = {(u, v): draw.integers(-2, 4, (6, 6)) for u, v in ("IH", "HO", "IO", "HH")}
    nodes = {name: ((1, 1, 6), None if name == "I" else 2) for name in "IHO"}
    port = 20_000 + os.getpid() % 20_000
    address = f"tcp://127.0.0.1:{port}"
    with TemporaryDirectory() as base:
        folder = Path(base)
        nm.build_network(nodes, edges, name="small", outputs=["O"]).save(folder / "small.toml")
        (folder / "sweep.toml").write_text(
            'format = 1\nnetworks = ["small.toml"]\npatterns = ["streaming", "sequential"]\n'
            f"seeds = {{first = 0, count = {n_runs // 2}}}\n[stimulus]\nframes = 3\n"
        )
        begin = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": base}
        scheduler = subprocess.Popen(begin, **quiet)  # type: ignore[call-overload]
        workers = [worker(address, base), worker(address, base)]
        neuromap = [sys.executable, "-m", "neuromap", "sweep", "sweep.toml"]
        client = subprocess.Popen(
            [*neuromap, "-o", "far.sqlite", "--scheduler", address], cwd=base, stdout=subprocess.DEVNULL
        )
        held, last, n_killed = list[Held](), time.monotonic(), 0
        while client.poll() is None:
            time.sleep(1.0)
            if time.monotonic() - last > killed_every:
                os.killpg(workers[0].pid, signal.SIGKILL)
                workers[0].wait()
                workers = [workers[1], worker(address, base)]
                last, n_killed = time.monotonic(), n_killed + 1
            done = len(rows(folder / "far.sqlite")) if (folder / "far.sqlite").exists() else 0
            if done * 10 // n_runs > len(held) and client.poll() is None:
                both = Held.by(client.pid, scheduler.pid)
                held.append(told(done, n_runs, f"runs, {n_killed} workers killed", both))
        scheduler.kill()
        for one in workers:
            os.killpg(one.pid, signal.SIGKILL)
        if client.returncode:  # what was wrong it has said
            return False
        subprocess.run([*neuromap, "-o", "near.sqlite", "--processes", "1"], check=True, **quiet)  # type: ignore[call-overload]
        far, near = rows(folder / "far.sqlite"), rows(folder / "near.sqlite")
        print(f"{len(far):,} rows of the cluster, {n_killed} workers killed, {len(near):,} of one process")
        return client.returncode == 0 and far == near and is_flat(held[0], held[-1])


def main() -> int:
    """Read what is asked for and run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("studio", "sweep"))
    parser.add_argument("--ticks", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--killed-every", type=float, default=15.0, help="seconds between two workers that are killed")
    asked = parser.parse_args()
    holds = studio(asked.ticks) if asked.what == "studio" else sweep(asked.runs, asked.killed_every)
    print("flat, and results are equal" if holds else "NOT flat, or results differ")
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
