"""``neuromap report --from``: its options, and the output of rows of a store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import neuromap as nm
from neuromap.cli.arguments.command import Given
from neuromap.cli.arguments.options import check_destinations
from neuromap.cli.printing.text_output import fail, give_shown, write_forms
from neuromap.errors import InputError
from neuromap.files.messages import counted
from neuromap.options import COMMON, option


class StoreOptions(Given[None]):
    """A store, and which part of it to show."""

    _group: ClassVar = "store"
    store: str | None = option(
        "--from STORE  Report on the rows in this file, which neuromap sweep or neuromap explore wrote.", group=COMMON
    )
    over: str | None = option(
        "PARAMETERS  With --from: take runs together that have the same values of one parameter or two, such as "
        "core.axons,pattern."
    )
    figure: str | None = option(
        "KEY  With --over: the figure, called as in the CSV.  [default: measured_first_response_ticks]"
    )
    svg: str | None = option(
        "FILE  Write with --over: the figure over the first parameter, a line for every second value, to this file."
    )
    parquet: str | None = option("FILE  Write with --from: all runs as Parquet (extra parquet) to this file.")

    def require_none(self) -> None:
        """Refuse options of a store if none is given."""
        self.refuse("is about runs of a store; give one with --from")

    def require_alone(self, others: Sequence[object], groups: Sequence[Given[Any]]) -> None:
        """Refuse options of mapping and simulation, and options without the one they need."""
        # others: values of other options; ``None`` if not typed
        if any(other is not None for other in others) or any(groups):
            raise InputError(
                f"--from {self.store}: the runs are done; only --over, --figure, --svg, --csv, --parquet, --json-file "
                "and --json go with it, leave the others and NET away"
            )
        for name in ("figure", "svg"):
            if self.over is None and (value := getattr(self, name)) is not None:
                raise InputError(f"--{name} {value}: is of a figure over parameters; name these with --over")


def report_on_store(kept: StoreOptions, csv: str | None, json_file: str | None, *, every: bool, as_json: bool) -> None:
    """Write the requested files, and print the runs, or a figure over parameters."""
    from neuromap.sweep.grouped_runs import DEFAULT_FIGURE, print_over, runs_over
    from neuromap.sweep.run_forms import print_runs

    written = {"--csv": csv, "--parquet": kept.parquet, "--json-file": json_file, "--svg": kept.svg}
    journals = {f"journal of the store ({end})": f"{kept.store}{end}" for end in ("-wal", "-shm", "-lock")}
    check_destinations(written, {"store": kept.store, **journals})
    table = nm.sweep.load_runs(kept.store or "")
    over = None
    if kept.over is not None:
        names = [name.strip() for name in kept.over.split(",")]
        over = runs_over(table, names, DEFAULT_FIGURE if kept.figure is None else kept.figure)
    drawn = [] if over is None else [(kept.svg, over.to_svg)]
    paths = write_forms((csv, table.to_csv), (kept.parquet, table.to_parquet), (json_file, table.to_json), *drawn)
    show = partial(print_runs, table, every=every) if over is None else partial(print_over, over, every=every)
    give_shown(table, show, *paths, as_json=as_json)
    leave_with(table)


def leave_with(table: nm.sweep.RunTable) -> None:
    """Report problems with the runs of a table, in one line and the exit code."""
    if not table.exit_code:
        return
    wrong = [row for row in table.rows if row.outcome is not None and row.outcome.exit_code == table.exit_code]
    first = wrong[0]
    message = "" if first.outcome is None else first.outcome.message
    where = ", ".join(str(table.value(first, name)) for name in table.parameters)
    fail(f"{len(wrong)} of {counted(len(table.rows), 'run')}, first {where}: {message}", table.exit_code)
