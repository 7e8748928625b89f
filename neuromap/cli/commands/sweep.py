"""``neuromap sweep``: do many runs in processes of this machine or on a cluster, and keep them in one store."""

from __future__ import annotations

from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments.command import Given, command
from neuromap.cli.arguments.options import AS_JSON, check_destinations, check_workers
from neuromap.cli.printing.store_report import leave_with
from neuromap.cli.printing.text_output import print_json, print_line, progress_bar, text_console
from neuromap.files.messages import counted
from neuromap.jobs.ahead import MOST_PROCESSES, SCHEDULER
from neuromap.options import argument, option

EXAMPLES = """\
\b
Examples:
  neuromap sweep examples/sweeps/digits.toml --dry-run
  neuromap sweep examples/sweeps/digits.toml --processes 1 -o digits.sqlite
  neuromap sweep examples/sweeps/digits.toml -o digits.sqlite --json
"""


class WorkerFlags(Given[None]):
    """Workers that do the runs."""

    processes: int | None = option(
        "N  Runs at the same time, each on one thread; the rows are the same.  [default: the cores of the machine]",
        within=(1, MOST_PROCESSES),
    )
    scheduler: str | None = option(SCHEDULER)


@command
def sweep(
    spec: Path = argument("SPEC  Sweep file (TOML)."),
    store: str | None = option(
        "-o, --store FILE  Keep the rows in this file (SQLite, on a disk of this machine); runs that are done there "
        "are not done again.  [default: NAME.sqlite of SPEC's name]"
    ),
    *,
    workers: WorkerFlags,
    dry_run: bool = option("Check the file and count its runs, and those that are left; do none.", False),
    as_json: bool = AS_JSON,
) -> None:
    """Map, simulate and verify every combination of networks, patterns, executions, chips, their figures and seeds.

    Every run is a row, whether it fits or not. The same command goes on where it was ended, whatever ended it; see the
    rows with neuromap report --from FILE.
    """
    from neuromap.simulation.engine.engine_choice import thread_count
    from neuromap.sweep.run_forms import headline

    check_workers(workers)
    asked = nm.sweep.load_sweep(spec)
    file = f"{asked.name}.sqlite" if store is None else store
    check_destinations({"--store": file}, {"sweep file": spec})
    if dry_run:
        _print_plan(asked, file, as_json=as_json)
        return
    with progress_bar("sweep") as progress:
        table = nm.report.run_sweep(asked, file, progress=progress, **(workers or {"processes": thread_count()}))
    if as_json:
        print_json({"store": file, "runs": len(table.rows), "counts": table.counts, "verified": table.n_verified})
    else:
        console = text_console()
        print_line(console, headline(table))
        print_line(console, f"written to {file}; see neuromap report --from {file}")
    leave_with(table)


def _print_plan(spec: nm.sweep.SweepSpec, store: str, *, as_json: bool) -> None:
    """Print the number of runs and of those left, without creating the store."""
    from neuromap.sweep.sweep_spec import runs_of

    keys = {run.key for _, runs in runs_of(spec) for run in runs}
    kept = nm.sweep.load_runs(store).rows if Path(store).exists() else ()
    left = len(keys) - sum(row.is_done and row.run.key in keys for row in kept)
    if as_json:
        print_json({"name": spec.name, "runs": len(keys), "left": left, "store": store})
        return
    console = text_console()
    print_line(console, f"{spec.name}: {counted(len(keys), 'run')}, {left} left to do")
    parts = {
        "network": [network.name for network in spec.networks],
        "pattern": dict.fromkeys(pattern.name for pattern in spec.patterns),
        "execution": spec.executions,
        "chip": dict.fromkeys(chip.chip.name for chip in spec.chips),
        "seed": spec.seeds,
    }
    for name, values in parts.items():
        print_line(console, f"{counted(len(values), name)}: {', '.join(map(str, values))}")
