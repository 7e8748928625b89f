"""What every runner of a peer shares: its arguments, its clocks, its answer as one line of JSON.

    run_PEER.py NETWORK WORK --warm 20 --ticks 200

NETWORK is a folder of :mod:`network`, WORK an empty folder for the peer's own files. The peer runs ``warm`` ticks,
counting the spikes of each, then ``ticks`` more against the clock, counting their spikes in all.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

__all__ = ["Arguments", "Stopwatch", "arguments", "report"]


@dataclass(frozen=True)
class Arguments:
    """What is asked of a runner."""

    network: Path
    work: Path
    warm: int
    ticks: int


class Stopwatch:
    """CPU seconds of this process, all its threads, and seconds on the wall, of what runs inside ``with``."""

    cpu_s = 0.0
    wall_s = 0.0

    def __enter__(self) -> Self:
        self._start = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = time.process_time() - self._start[0]
        self.wall_s = time.perf_counter() - self._start[1]


def arguments() -> Arguments:
    """Read the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("network", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--warm", type=int, required=True)
    parser.add_argument("--ticks", type=int, required=True)
    return Arguments(**vars(parser.parse_args()))


@dataclass(frozen=True)
class _Answer:
    version: str
    cpu_ms_per_tick: float
    wall_ms_per_tick: float
    build_s: float
    peak_mb: float
    spikes: list[int]
    bytes_per_tick: float | None
    hot_bytes: int | None


def report(
    asked: Arguments,
    *,
    version: str,
    cpu_s: float,
    wall_s: float,
    build_s: float,
    spikes: list[int],
    bytes_per_tick: float | None = None,
    hot_bytes: int | None = None,
) -> None:
    """Print the answer.

    Parameters
    ----------
    asked : Arguments
        The command line.
    version : str
        Of the peer.
    cpu_s, wall_s : float
        Of the ``ticks`` measured ticks alone.
    build_s : float
        Seconds on the wall from the arrays to the first tick.
    spikes : list of int
        Spikes in each warm tick, and last those of all measured ticks together.
    bytes_per_tick, hot_bytes : optional
        What moves through memory in a measured tick, and all that ticks touch; where the peer knows.
    """
    assert len(spikes) == asked.warm + 1
    peak_kib = max(_own_peak_kib(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    answer = _Answer(
        version=version,
        cpu_ms_per_tick=cpu_s * 1e3 / asked.ticks,
        wall_ms_per_tick=wall_s * 1e3 / asked.ticks,
        build_s=build_s,
        peak_mb=peak_kib * 1024 / 1e6,
        spikes=[int(n) for n in spikes],
        bytes_per_tick=bytes_per_tick,
        hot_bytes=hot_bytes,
    )
    print(json.dumps(asdict(answer)), flush=True)


def _own_peak_kib() -> int:
    """Read the peak from /proc: ``getrusage`` of a process also holds that of the one which started it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
