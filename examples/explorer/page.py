"""Compute and draw all of docs/explorer-study.md.

    python -m examples.explorer.page                 everything: about an hour of one CPU core
    python -m examples.explorer.page --quick         figures and tables from the committed results: seconds
    python -m examples.explorer.page --only ticks    one study or figure, then the tables

Studies keep what they have mapped under build/explorer and continue from there. Figures need matplotlib (extra
``benchmarks``).
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from examples.explorer.blocks import PAGE, with_blocks
from examples.explorer.rows import RESULTS, save
from examples.explorer.studies import STUDIES
from neuromap.files.whole_file import write_whole

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "img"
WORK = ROOT / "build" / "explorer"


def main() -> int:
    """Run the studies that are asked for, draw the figures, renew the page; 0 if all results are there."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.explorer.page",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="run nothing: draw from the committed results")
    parser.add_argument("--only", metavar="NAME", help=f"one study ({', '.join(STUDIES)}) or figure")
    asked = parser.parse_args()
    try:
        from examples.explorer.figures import FIGURES, draw
    except ImportError as error:
        parser.error(f"figures need matplotlib ({error}); pip install 'neuromap-rollouts[benchmarks]'")
    if asked.only is not None and asked.only not in STUDIES and asked.only not in FIGURES:
        parser.error(f"{asked.only} is not known; choose of {', '.join([*STUDIES, *FIGURES])}")

    WORK.mkdir(parents=True, exist_ok=True)
    for name, study in STUDIES.items():
        if asked.quick or asked.only not in (None, name):
            continue
        start = time.monotonic()
        save(name, study(WORK))
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    missing = [name for name in STUDIES if not (RESULTS / f"{name}.json").exists()]
    if missing:
        print(f"results of {', '.join(missing)} are missing; run without --quick and --only", file=sys.stderr)
        return 1
    for name in FIGURES:
        if asked.only in (None, name) or asked.only in STUDIES:
            write_whole(IMAGES / f"{name}.svg", draw(name))
    if PAGE.exists():
        write_whole(PAGE, with_blocks(PAGE.read_text(encoding="utf-8")).encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
