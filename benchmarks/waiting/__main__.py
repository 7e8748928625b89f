"""Measure what users wait for, and write the page.

    python -m benchmarks.waiting                                   some minutes
    python -m benchmarks.waiting --before CHECKOUT --rounds 5      with another checkout, in turns
    python -m benchmarks.waiting --sanafe ~/peers/sanafe/bin/python
    python -m benchmarks.waiting --from benchmarks/results/waiting.json    page again, nothing is run

Every command is a process of its own; of all rounds the least time counts, of the clock and of the processor.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.waiting.cases import BATCHES, CASES, IMPORTS, PEERS, Case, write_networks
from benchmarks.waiting.measure import imports_s, run, with_checkout
from benchmarks.waiting.page import page_text
from benchmarks.waiting.stages import stages_of
from neuromap.bench.bench_report import this_machine
from neuromap.files.whole_file import write_whole

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "waiting.json"
_PAGE = _ROOT / "docs" / "benchmarks-waiting.md"
_COLD_ROUNDS = 1
"""First use takes half a minute, nearly all of it compiling, which varies little."""


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    asked = _arguments(argv)
    found = _measure(asked) if asked.source is None else json.loads(asked.source.read_text(encoding="utf-8"))
    page = page_text(found)
    if asked.page:
        write_whole(_PAGE, page.encode())
    else:
        print(page)
    return 0


def _measure(asked: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": asdict(this_machine()),
        "commit": _commit(_ROOT),
        "before": None if asked.before is None else _commit(asked.before),
        "rounds": asked.rounds,
        "rows": [],
    }
    checkouts = {"now": _ROOT} | ({} if asked.before is None else {"before": asked.before.resolve()})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_networks(folder)
        for case in CASES:
            if not case.is_cold or asked.cold:
                found["rows"].append(_row(case, checkouts, folder, asked.rounds))
                print(json.dumps(found["rows"][-1]), file=sys.stderr, flush=True)
        found["imports"] = {
            who: {
                command: imports_s(words, with_checkout(at), folder, asked.rounds) for command, words in IMPORTS.items()
            }
            for who, at in checkouts.items()
        }
        found["peers"] = {peer: _import_of(peer, asked, folder) for peer in PEERS}
        found["batches"] = _batches() if asked.batches else []
    write_whole(asked.results, (json.dumps(found, indent=1) + "\n").encode())
    return found


def _row(case: Case, checkouts: dict[str, Path], folder: Path, rounds: int) -> dict[str, Any]:
    """Run a command in turns in all checkouts; the first turn of warm ones does not count."""
    taken: dict[str, list[tuple[float, float]]] = {who: [] for who in checkouts}
    for number in range(_COLD_ROUNDS if case.is_cold else rounds + 1):
        for who, checkout in checkouts.items():
            with tempfile.TemporaryDirectory() as cold:
                environment = with_checkout(checkout, cold if case.is_cold else None)
                one = run([sys.executable, "-m", "neuromap", *case.words], environment, folder, case.codes)
            if case.is_cold or number:
                taken[who].append((one.wall_s, one.cpu_s))
    least = {who: [round(min(some), 3) for some in zip(*times, strict=True)] for who, times in taken.items()}
    row = {"title": case.title, "wanted_s": case.wanted_s, "is_cold": case.is_cold, **least}
    if case.wanted_s is not None and least["now"][0] > case.wanted_s:
        row["stages"] = stages_of(case.words, with_checkout(_ROOT), folder)
    return row


def _import_of(package: str, asked: argparse.Namespace, folder: Path) -> list[float] | None:
    """Seconds of clock and processor that a process takes to import a package; ``None`` where it is not at hand."""
    python = asked.sanafe if package == "sanafe" else sys.executable
    if python is None:
        return None
    try:
        each = [run([python, "-c", f"import {package}"], with_checkout(_ROOT), folder) for _ in range(asked.rounds + 1)]
    except (OSError, RuntimeError):
        return None
    return [round(min(one.wall_s for one in each), 3), round(min(one.cpu_s for one in each), 3)]


def _batches() -> list[dict[str, Any]]:
    rows = []
    for name, (file, n, frames) in BATCHES.items():
        for threads in (1, 2):
            words = [sys.executable, "-m", "benchmarks.waiting.batch_turn", file, str(n), str(frames), str(threads)]
            done = subprocess.run(
                words, cwd=_ROOT, env=with_checkout(_ROOT), capture_output=True, text=True, check=True
            )
            rows.append({"name": name, "stimuli": n, "frames": frames, "threads": threads, **json.loads(done.stdout)})
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def _commit(checkout: Path) -> str:
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.waiting", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, help="a checkout of a commit to compare with, run in turns")
    parser.add_argument("--sanafe", help="Python of an environment with SANA-FE")
    parser.add_argument("--no-cold", dest="cold", action="store_false", help="without first use")
    parser.add_argument("--no-batches", dest="batches", action="store_false")
    parser.add_argument("--results", type=Path, default=_RESULTS, help="JSON file that is written")
    parser.add_argument("--from", dest="source", type=Path, help="figures that were written before")
    parser.add_argument("--no-page", dest="page", action="store_false", help="print the page, do not write it")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
