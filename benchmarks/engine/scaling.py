"""Measure how neuromap's ticks scale with cores, rate, cores at rest and threads; write a table and a plot.

    python -m benchmarks.engine.scaling            16 to 4096 cores; 2, 20, 100 Hz; 0 and 99 % at rest; 1 and 2 threads
    python -m benchmarks.engine.scaling --board    with 65,536 cores too: 16 chips, several GB of memory
    python -m benchmarks.engine.scaling --from benchmarks/results/scaling.json    table and plot again, nothing is run

Everything of one size class is measured in one run, in turn, with the memory's bandwidth; figures are medians.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

from neuromap.bench.bench import bench
from neuromap.bench.characterisation import characterisation_program
from neuromap.cli.printing.text_output import progress_bar
from neuromap.errors import NeuromapError
from neuromap.files.whole_file import write_whole
from neuromap.simulation.engine.engine_choice import thread_count

_ROOT = Path(__file__).resolve().parents[2]
_RESULTS = _ROOT / "benchmarks" / "results" / "scaling.json"
_PAGE = _ROOT / "docs" / "benchmarks-scaling.md"
_PLOT = _ROOT / "docs" / "img" / "benchmarks-scaling.svg"
_CHIP, _BOARD = 4096, 65536
_RATE = 20.0
_HEAD = """\
# Scaling of the fast engine

<!-- Written by `python -m benchmarks.engine.scaling`; edit benchmarks/engine/scaling.py instead. -->

How the time of a tick grows with cores, rate and threads, and what it costs when most cores are at rest, on
[characterisation networks](bench.md#the-characterisation-network) of 128 synapses per axon and delay 1; a tick is 1 ms.

![Milliseconds per tick over cores and over rate](img/benchmarks-scaling.svg)
"""
_COLUMNS = (
    "cores", "rate [Hz]", "at rest", "threads", "ms per tick", "real-time factor", "time / limit", "time / in cache",
)  # fmt: skip


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    asked = _arguments(argv)
    try:
        if asked.source is None:
            found = _measure(asked)
            _RESULTS.parent.mkdir(parents=True, exist_ok=True)
            write_whole(_RESULTS, (json.dumps(found, indent=1) + "\n").encode())
        else:
            found = json.loads(asked.source.read_text(encoding="utf-8"))
    except NeuromapError as error:
        print(f"scaling: {error}", file=sys.stderr)
        return error.exit_code
    except (OSError, ValueError) as error:
        print(f"scaling: {asked.source}: {error}", file=sys.stderr)
        return 2
    write_whole(_PAGE, page_text(found).encode())
    try:
        from benchmarks.engine.scaling_plot import draw
    except ImportError:
        print("scaling: matplotlib is missing, the plot is left as it was; install it, then --from", file=sys.stderr)
        return 1
    write_whole(_PLOT, draw(found))
    return 0


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine.scaling",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="measured per program and number of threads")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, min(2, thread_count())}))
    parser.add_argument("--most-cores", type=int, default=_CHIP, help="the largest program without --board")
    parser.add_argument("--board", action="store_true", help=f"{_BOARD} cores too")
    parser.add_argument("--from", dest="source", type=Path, help="figures that were written before")
    return parser.parse_args(argv)


def _measure(asked: argparse.Namespace) -> list[dict[str, Any]]:
    """One document of ``neuromap bench`` for the chip, one for the board."""
    largest = asked.most_cores
    sizes = [n for n in (16, 64, 256, 1024) if n < largest]
    points = [(n, _RATE, 0.0) for n in sizes]
    points += [(largest, rate, at_rest) for at_rest in (0.0, 0.99) for rate in (2.0, _RATE, 100.0)]
    groups = [points, *([[(_BOARD, _RATE, 0.0), (_BOARD, _RATE, 0.99)]] if asked.board else [])]
    documents = []
    for group in groups:
        with progress_bar("scaling") as progress:
            programs = []
            for number, (cores, rate, at_rest) in enumerate(group):
                progress("making the networks", number, len(group))
                programs.append(characterisation_program(cores, rate_hz=rate, at_rest=at_rest))
            report = bench(
                programs,
                threads=asked.threads,
                seconds=asked.seconds,
                rounds=asked.rounds,
                scaling="cores, rate, at rest",
                settings=[
                    [("cores", cores), ("rate_hz", rate), ("at_rest", at_rest), ("synapses", 128), ("delay", [1, 1])]
                    for cores, rate, at_rest in group
                ],
                same_kind=[partial(characterisation_program, rate_hz=rate) for _, rate, _ in group],
                progress=progress,
            )
        documents.append(report.to_dict())
    return documents


def page_text(found: list[dict[str, Any]]) -> str:
    """Make the page from documents of ``neuromap bench``.

    Parameters
    ----------
    found : list of dict
        They follow ``docs/schemas/bench.schema.json``.

    Returns
    -------
    str
        Markdown.
    """
    first = found[0]
    machine = first["machine"]
    gib = f", {machine['memory_bytes'] / 2**30:.0f} GiB" if machine["memory_bytes"] else ""
    cache = f", last-level cache {machine['cache_bytes'] / 2**20:.0f} MiB" if machine["cache_bytes"] else ""
    if first.get("caches"):
        near, last = (first["caches"][name] / 2**20 for name in ("near_bytes", "last_bytes"))
        cache += f" (measured: {near:.3g} MiB near, {last:.3g} MiB in all)"
    load = machine["load_average"]
    others = f" The load average before the start was {load:.1f}: others ran too." if load and load >= 0.5 else ""
    when = (
        f"Taken on {first['date'][:10]} on {machine['cpu']}, {machine['cpus']} CPUs{gib}{cache}, {machine['system']}, "
        f"Python {machine['python']}, NumPy {machine['numpy']}, Numba {machine['numba']}, neuromap "
        f"{first['neuromap_version']}; medians over {first['rounds']} rounds, all programs and thread counts in turn. "
        f"Times are wall clock.{others}"
    )
    rows = [_row(run, timing) for document in found for run in document["runs"] for timing in run["timings"]]
    lines = [_line(_COLUMNS), "|" + " ---: |" * len(_COLUMNS), *(_line(row) for row in rows)]
    note = (
        "At rest: the fraction of the cores that is silent. Rate: of the active cores. Limit: by memory; in cache: by "
        "computing alone ([figures](bench.md#figures)). `benchmarks/results/scaling.json` has quartiles and events."
    )
    return "\n".join([_HEAD, when + "\n", *lines, "", note, ""])


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _row(run: dict[str, Any], timing: dict[str, Any]) -> tuple[str, ...]:
    settings = run["settings"]
    distances = (timing["distance_to_memory_limit"], timing.get("distance_to_time_in_cache"))
    return (
        f"{run['cores']:,}",
        f"{settings['rate_hz']:g}",
        f"{settings['at_rest'] * 100:g} %",
        f"{timing['threads']}",
        f"**{timing['wall_seconds_per_tick']['median'] * 1e3:.3g}**",
        f"{timing['real_time_factor']:.3g}",
        *("n/a" if distance is None else f"{distance:.3g}" for distance in distances),
    )


if __name__ == "__main__":
    sys.exit(main())
