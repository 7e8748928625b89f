"""Map the networks of this folder onto one TrueNorth chip and print what comes of it.

    python -m examples.on_chip.report                            all of them, four rows each: many minutes
    python -m examples.on_chip.report sr dsr0 --reports build    some; with the full reports as build/NAME.html
    python -m examples.on_chip.report --page                     write docs/on-chip.md too

Rows are the streaming and the sequential pattern in windowed and pipelined execution. Exit code 1 if a row does not
fit or is not verified.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import neuromap as nm
from neuromap.files.whole_file import write_whole
from neuromap.mapping.options.options import MappingOptions
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "on-chip.md"
NAMES = ("sr", *(f"dsr{n}" for n in range(7)))
COLUMNS = ("network", "pattern", "execution", "cores", "bound", "first", "full", "period")
HEAD = """\
# The paper's networks on one chip

<!-- Written by `python -m examples.on_chip.report --page`; edit examples/on_chip/report.py instead. -->

DSR0 to DSR6 and SR of Fischer, Köhler and Pfeil (2018), in versions that TrueNorth's cores can hold, each on one chip
of 4096 cores. `examples/on_chip/README.md` says how they differ from the paper's. *Bound*: no mapping of that row takes
fewer cores. *First*, *full*: first and full response, measured on the program; *period*: frame period; all in ticks of
1 ms. Each program is legal, and its spikes are those of the reference in all of 32 random frames; a row that is not so
says "not verified" beside its cores.
"""


def table(reports: Sequence[LatencyReport]) -> str:
    """Make the table of all rows, in Markdown."""
    lines = [COLUMNS, ("---",) * 3 + ("---:",) * (len(COLUMNS) - 3)]
    lines += [
        line for report in reports for line in merged([(report.network.name, *cells(row)) for row in report.rows])
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def merged(lines: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Join the executions of rows that are equal in all else."""
    executions: dict[tuple[str, ...], list[str]] = {}
    for name, pattern, execution, *figures in lines:
        executions.setdefault((name, pattern, *figures), []).append(execution)
    for (name, pattern, *figures), of in executions.items():
        yield name, pattern, " and ".join(of), *figures


def cells(row: ReportRow) -> tuple[str, ...]:
    """Write one row's figures."""
    if row.usage is None:
        return (row.pattern, row.execution, row.status, *("-" for _ in range(4)))
    return (
        row.pattern,
        row.execution,
        str(row.usage.cores) if row.verified else f"{row.usage.cores}, not verified",
        "-" if row.core_bound is None else str(row.core_bound.total),
        str(row.measured.first_response_ticks),
        str(row.measured.full_response_ticks),
        str(row.frame_period_ticks),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m examples.on_chip.report", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all by default")
    parser.add_argument("--placer", default="hilbert", help="how cores are placed; the figures do not depend on it")
    parser.add_argument("--reports", type=Path, help="folder for the full reports")
    parser.add_argument("--page", action="store_true", help="write docs/on-chip.md")
    asked = parser.parse_args(argv)
    reports = []
    for name in asked.names or NAMES:
        if name not in NAMES:
            parser.error(f"{name} is not known; choose of {', '.join(NAMES)}")
        network = nm.load_network(HERE / f"{name}.toml")
        report = nm.latency_report(network, "truenorth", options=MappingOptions(placer=asked.placer))
        reports.append(report)
        print(table([report]), flush=True)
        for row in report.rows:
            if row.message:
                print(f"{name}, {row.pattern}, {row.execution}: {row.message}", file=sys.stderr, flush=True)
        if asked.reports is not None:
            asked.reports.mkdir(parents=True, exist_ok=True)
            report.save(asked.reports / f"{name}.html")
    if asked.page:
        write_whole(PAGE, f"{HEAD}\n{table(reports)}".encode())
    return int(not all(report.verified for report in reports))


if __name__ == "__main__":
    sys.exit(main())
