"""Measure the mapper on its benchmark networks, with and without packing; write a table.

    python -m benchmarks.mapping                                     all but the board of 16 chips: some minutes
    python -m benchmarks.mapping --large                             with the board too: several GB of memory
    python -m benchmarks.mapping --cases "irregular" --cases "16 chips"
    python -m benchmarks.mapping --from benchmarks/results/mapping.json    table again, nothing is run

Every mapping is a process of its own, one after the other, on one thread; CPU time is given as a multiple of that of
the first case, packed, in the same run.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.mapping.cases import CASES, REFERENCE
from benchmarks.mapping.page import page_text
from neuromap.bench.bench_report import this_machine
from neuromap.files.whole_file import write_whole

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "mapping.json"
_OTHERS = [
    _RESULTS.with_name(f"{name}.json") for name in ("many_targets", "mapping_budgets", "bounds", "crops", "tiles")
]
_PAGE = _ROOT / "docs" / "mapping-benchmarks.md"
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def main(argv: list[str] | None = None) -> int:
    """Run the command; 1 if a mapping was refused or failed."""
    asked = _arguments(argv)
    if asked.source is None:
        found = _measure(asked)
    else:
        try:
            found = json.loads(asked.source.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            print(f"mapping: {asked.source}: {error}", file=sys.stderr)
            return 2
    others = (json.loads(path.read_text(encoding="utf-8")) if path.exists() else None for path in _OTHERS)
    page = page_text(found, *others)
    if asked.page:
        write_whole(_PAGE, page.encode())
    else:
        print(page)
    return int(any("refused" in row for row in found["rows"]))


def _measure(asked: argparse.Namespace) -> dict[str, Any]:
    titles = asked.cases or [title for title, case in CASES.items() if asked.large or not case.large]
    titles = list(dict.fromkeys([REFERENCE, *titles]))
    found: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "machine": asdict(this_machine()),
        "rows": [],
        "partitioners": [],
    }
    for title in titles:
        for packing in (True, False):
            found["rows"].append(_worker("cases", title, str(int(packing)), str(int(packing))))
            write_whole(asked.results, (json.dumps(found, indent=1) + "\n").encode())  # what is finished stays
    if asked.partitioner:
        for title in (t for t in titles if t in (REFERENCE, "irregular")):
            found["partitioners"].append(_worker("partitioner", title))
            write_whole(asked.results, (json.dumps(found, indent=1) + "\n").encode())
    return found


def _worker(module: str, *words: str) -> dict[str, Any]:
    """Run a worker; what it cannot do comes back as ``refused``."""
    print(f"mapping {module}: {', '.join(words)} ...", file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.mapping.{module}", *words],
        cwd=_ROOT,
        env={**os.environ, **_ONE_THREAD},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        print(f"  failed: {last}", file=sys.stderr, flush=True)
        return {"case": words[0], "packing": words[1:2] == ("1",), "refused": last}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    told = answer.get("refused") or f"{answer.get('cores', answer.get('parts')):,} cores"
    print(f"  {told}, {answer['cpu_seconds']:.1f} CPU seconds", file=sys.stderr, flush=True)
    return answer


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mapping", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", action="append", choices=list(CASES), help="a case; may be given again")
    parser.add_argument("--large", action="store_true", help="with the board of 16 chips")
    parser.add_argument("--no-partitioner", dest="partitioner", action="store_false", help="without METIS")
    parser.add_argument("--results", type=Path, default=_RESULTS, help="JSON file that is written")
    parser.add_argument("--from", dest="source", type=Path, help="figures that were written before")
    parser.add_argument("--no-page", dest="page", action="store_false", help="print the page, do not write it")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
