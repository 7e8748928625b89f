"""One turn of one simulator: a process of its own, one thread, its answer checked against the reference."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.catalogue import Peer
from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice

__all__ = ["Failure", "difference", "reference_counts", "ticks_for", "turn"]

_ROOT = Path(__file__).resolve().parents[2]
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Failure(Exception):
    """A peer that gave no answer; the message says why, in one line."""


def ticks_for(peer: Peer, cores: int, seconds: float) -> int:
    """Choose how many ticks to measure: about ``seconds``, between 20 and 20,000."""
    return min(max(round(seconds * 1e6 / (peer.us_per_core * cores)), 20), 20_000)


def turn(
    peer: Peer, network: Path, work: Path, home: Path, *, warm: int, ticks: int, timeout_s: float
) -> dict[str, Any]:
    """Run a peer once.

    Parameters
    ----------
    peer : Peer
        Which.
    network : Path
        Folder of :mod:`network`, with the program file.
    work : Path
        Emptied before and deleted after.
    home : Path
        Folder of the environments.
    warm, ticks : int
        Ticks before and against the clock.
    timeout_s : float
        Seconds after which it is stopped.

    Returns
    -------
    dict
        What ``measure.report`` printed.

    Raises
    ------
    Failure
        If it ends with an error, without an answer, or not in time.
    """
    python = Path(sys.executable) if peer.own else peer.python(home)
    environment = os.environ | dict.fromkeys(_ONE_THREAD, "1") | {"PYTHONPATH": str(_ROOT) if peer.own else ""}
    command = [python, peer.script, network.resolve(), work.resolve(), f"--warm={warm}", f"--ticks={ticks}"]
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    # A session of its own, so that whatever the peer has started can be stopped with it.
    process = subprocess.Popen(
        list(map(str, command)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise Failure(f"took more than {timeout_s:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        shutil.rmtree(work, ignore_errors=True)
    if process.returncode:
        lines = errors.strip().splitlines() or [f"ended with code {process.returncode}"]
        raise Failure(lines[-1].strip()[:200])
    answers = [line for line in output.splitlines() if line.startswith('{"version"')]
    if not answers:
        raise Failure("printed no answer")
    return dict(json.loads(answers[-1]))


def reference_counts(program: Program, warm: int, ticks: Sequence[int]) -> dict[int, list[int]]:
    """Count spikes with neuromap: for each number of measured ticks those of every warm tick, then the sum.

    Parameters
    ----------
    program : Program
        What runs.
    warm : int
        Ticks that are counted one by one.
    ticks : sequence of int
        Numbers of ticks after them.

    Returns
    -------
    dict
        One list of ``warm + 1`` counts per number of ticks.
    """
    engine = make_engine(program, EngineChoice("fast", threads=1))
    nobody = np.zeros(program.target_core.shape, np.bool_)
    totals = [0]
    for _ in range(warm):
        engine.run(HostEvents.none(1), nobody)
        totals.append(engine.totals.spikes)
    first = [after - before for before, after in pairwise(totals)]
    counts = {}
    for stop in sorted(set(ticks)):
        engine.run(HostEvents.none(warm + stop - engine.tick), nobody)
        counts[stop] = [*first, engine.totals.spikes - totals[-1]]
    return counts


def difference(spikes: Sequence[int], expected: Sequence[int]) -> str | None:
    """Say where two lists of counts differ, or ``None``."""
    if len(spikes) != len(expected):
        return f"{len(spikes)} spike counts, expected {len(expected)}"
    for tick, (found, wanted) in enumerate(zip(spikes, expected, strict=True)):
        if found != wanted:
            where = f"tick {tick}" if tick < len(expected) - 1 else f"all ticks from {tick}"
            return f"{found} spikes in {where}, neuromap has {wanted}"
    return None
