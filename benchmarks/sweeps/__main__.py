"""A sweep beside the same runs from a shell loop, one command each.

    python -m benchmarks.sweeps                 24 runs both ways, and what is left of it for every run
    python -m benchmarks.sweeps --seeds 8       more seeds for every mapping

Both do the same: the loop gives ``neuromap report`` once for every run, with one pattern, execution, chip, seed and
stimulus. What is compared is processor time, of the command and all its processes, on one process at a time; the
figures of both are held against each other before anything is written.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neuromap.sweep.run_store import RunRow, RunTable, load_runs

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "sweeps.json"
_NETWORK = _ROOT / "examples" / "digits" / "sr.toml"
_SPEC = """\
format = 1
networks = ["{network}"]
patterns = ["streaming", "sequential", "hybrid"]
executions = ["windowed", "pipelined"]
seeds = {{count = {seeds}}}
[stimulus]
frames = 8
"""


def neuromap(*words: str) -> None:
    """Give a command, in a process of its own, on one thread."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "neuromap", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=_ROOT, env=environment)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Do something in other processes, and give the processor time that they took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def loop(table: RunTable, folder: Path) -> None:
    """Give the command of every run of a table, one after the other."""
    for number, row in enumerate(table.rows):
        run = row.run
        what = ["--patterns", run.pattern, "--executions", run.execution, "--seed", str(run.seed)]
        how = ["--frames", str(run.n_frames), "--stimuli", "1", "--threads", "1"]
        neuromap("report", str(_NETWORK), *what, *how, "--json-file", str(folder / f"{number}.json"))


def differs(row: RunRow, document: dict[str, Any]) -> bool:
    """Hold a row of the sweep against the report of its run alone."""
    (alone,) = document["rows"]
    told = (alone["cores"], alone["measured"]["first_response_ticks"], alone["energy"]["joules_per_frame"])
    keys = ("cores", "measured_first_response_ticks", "joules_per_frame")
    return told != tuple(row.figures[key] for key in keys)


def main() -> int:
    """Measure, compare, print, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="runs of every mapping")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec, store = folder / "spec.toml", folder / "a.sqlite"
        spec.write_text(_SPEC.format(network=_NETWORK, seeds=options.seeds), encoding="utf-8")
        words = ("sweep", str(spec), "-o", str(store), "--processes", "1")
        neuromap(*words)  # compiles what has to be compiled
        store.unlink()
        swept = cpu_seconds(lambda: neuromap(*words))
        table = load_runs(store)
        looped = cpu_seconds(lambda: loop(table, folder))
        documents = [json.loads((folder / f"{k}.json").read_text(encoding="utf-8")) for k in range(len(table.rows))]
    wrong = sum(map(differs, table.rows, documents))
    found = {
        "runs": len(table.rows),
        "mappings": len(table.rows) // options.seeds,
        "CPU seconds, neuromap sweep": round(swept, 2),
        "CPU seconds, loop of neuromap report": round(looped, 2),
        "ratio": round(looped / swept, 1),
        "rows that differ": wrong,
    }
    print(json.dumps(found, indent=2))
    if not wrong:
        _RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
