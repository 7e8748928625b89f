"""Run processes and take their time: of the clock, and of the processor, their children included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Taken", "imports_s", "run", "with_checkout"]

_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


@dataclass(frozen=True)
class Taken:
    """What a process took.

    Attributes
    ----------
    wall_s, cpu_s : float
        Seconds; of the processor in user and system mode.
    """

    wall_s: float
    cpu_s: float


def with_checkout(checkout: Path, cold: str | None = None) -> dict[str, str]:
    """Make the environment of a process that runs the code of a checkout; ``cold``: a folder with nothing compiled."""
    left = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    left["PYTHONPATH"] = os.pathsep.join([str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])])
    if cold is not None:
        left |= {"PYTHONPYCACHEPREFIX": f"{cold}/python", "NUMBA_CACHE_DIR": f"{cold}/numba"}
    return left


def run(words: Sequence[str], environment: Mapping[str, str], folder: Path, codes: Sequence[int] = (0,)) -> Taken:
    """Run a process to its end.

    Raises
    ------
    RuntimeError
        If it ends with another exit code; with the last line that it wrote.
    """
    with tempfile.TemporaryFile("w+") as said:
        began = time.perf_counter()
        process = subprocess.Popen(words, env=environment, cwd=folder, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        taken = Taken(time.perf_counter() - began, used.ru_utime + used.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            said.seek(0)
            last = (said.read().strip().splitlines() or [""])[-1]
            raise RuntimeError(f"{' '.join(words)}: exit code {process.returncode}: {last}")
    return taken


def imports_s(words: Sequence[str], environment: Mapping[str, str], folder: Path, rounds: int) -> dict[str, float]:
    """Seconds that a command imports for, by package, as Python counts them; of every module the least time."""
    command = [sys.executable, "-X", "importtime", "-m", "neuromap", *words]
    least: dict[str, int] = {}
    for _ in range(rounds):
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
        for found in filter(None, map(_IMPORT.match, done.stderr.splitlines())):
            least[found[2]] = min(least.get(found[2], int(found[1])), int(found[1]))
    packages: Counter[str] = Counter()
    for module, microseconds in least.items():
        packages[module.partition(".")[0]] += microseconds
    return {package: microseconds / 1e6 for package, microseconds in packages.most_common()}
