"""Forms of a table of runs: text, JSON, CSV, Parquet."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import figure_text
from neuromap.registry import require_package
from neuromap.render.document import ANYTHING, COLUMNS, COUNT, TEXT, by_name, document, each, record
from neuromap.render.table import Column, Table, csv_text, print_rest, print_text, printed
from neuromap.rollout.schedule.execution import time_axis
from neuromap.sweep.chip_sweep import columns_told, figure_cell
from neuromap.sweep.grouped_runs import short_message, value_text
from neuromap.sweep.run_store import KINDS, OUTCOME, RUN_FIGURES, RunFigure, RunRow, RunTable
from neuromap.sweep.sweep_spec import SweepRun
from neuromap.version import __version__

if TYPE_CHECKING:
    from rich.console import Console

_LAST = ("n_frames", "density", "n_stimuli", "mapping", "asked_by", "network_digest", "neuromap", "key")


def _lines(table: RunTable) -> list[dict[str, Any]]:
    """Return every run as a record of plain values."""
    # all records have the same keys: parameters, outcome, figures with units in their names, and everything else that
    # the run's key depends on; unknown values are ``None``
    return [
        {
            **{name: table.value(row, name) for name in table.parameters},
            **{name: getattr(row.outcome, name, None) for name in OUTCOME},
            "status": "open" if row.outcome is None else row.outcome.status,
            **{figure.key: row.figures.get(figure.key) for figure in RUN_FIGURES},
            **{name: getattr(row.run, name) for name in _LAST},
        }
        for row in table.rows
    ]


_ROW = record(status=TEXT, stage=TEXT, exit_code=COUNT, message=TEXT, key=TEXT, neuromap=TEXT)(
    additionalProperties=ANYTHING
)
DOCUMENT = document(
    "runs",
    neuromap=TEXT(at=lambda _: __version__),
    store=TEXT(at="name"),
    runs=COUNT(at=lambda table: len(table.rows)),
    counts=by_name(COUNT),
    verified=COUNT(at="n_verified"),
    parameters=each(TEXT),
    figures=COLUMNS(at=lambda _: columns_told(RUN_FIGURES)),
    rows=each(_ROW.by(dict))(at=_lines),
)
# Conversion to plain values.
to_dict = DOCUMENT.of


def to_csv(table: RunTable) -> str:
    """Write a table of runs as CSV (RFC 4180); unknown values are empty."""
    return csv_text(_lines(table), [*table.parameters, "status", *OUTCOME[1:]])


def to_parquet(table: RunTable) -> bytes:
    """Write a table of runs as Parquet."""
    require_package("Parquet", "pyarrow", "parquet", instead="take CSV")
    import pyarrow
    from pyarrow import parquet

    kinds = {"whole": pyarrow.int64(), "real": pyarrow.float64(), "yes": pyarrow.bool_()}
    rows = _lines(table)
    columns = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        known = (values, kinds[KINDS[name]]) if name in KINDS else _numbers_or_texts(values, pyarrow)
        columns[name] = pyarrow.array(*known)
    stream = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), stream)
    return bytes(stream.getvalue())


def _numbers_or_texts(values: list[Any], pyarrow: Any) -> tuple[list[Any], Any]:
    known = {type(value) for value in values if value is not None}
    if known == {int}:
        return values, pyarrow.int64()
    if known and known <= {int, float}:
        return values, pyarrow.float64()
    return [None if value is None else figure_text(value) for value in values], pyarrow.string()


# Text for a terminal.


_HEADER_WIDTH = 12
# Figures that a brief table omits first.
_SECOND = ("predicted_first_response_ticks", "spikes_per_frame", "hops_per_frame")
_SHOWN = tuple(figure for figure in RUN_FIGURES if figure.is_shown)
_SEVERAL = {"does not fit": "do not fit"}
_FROM = "times: from stimulus onset, the least first response over all outputs; per frame: in steady operation"


def headline(table: RunTable) -> str:
    """Write a headline: number of runs, by outcome."""
    words = ", ".join(f"{n} {_SEVERAL.get(status, status)}" for status, n in table.counts.items())
    mapped = table.counts.get("mapped", 0)
    verified = f"; verified {table.n_verified} of {mapped} mapped" if mapped else ""
    return f"{table.name}: {counted(len(table.rows), 'run')}: {words or 'none'}{verified}"


def print_runs(table: RunTable, console: Console, *, every: bool = True) -> None:
    """Print one line of main figures per run, below the parameters that all runs share."""
    # every: print all main figures and notes, not just the most important ones
    print_text(console, headline(table))
    if not table.rows:
        return
    # parameters that all runs share need no column
    values = {name: {value_text(table, row, name) for row in table.rows} for name in table.parameters}
    same = [f"{name} {next(iter(found))}" for name, found in values.items() if len(found) == 1]
    if same:
        print_text(console, f"in all runs: {', '.join(same)}")
    names = [name for name, found in values.items() if len(found) > 1]
    columns = [
        *(_parameter(table, name) for name in names),
        *(_column(figure) for figure in _SHOWN),
        Column[RunRow]("status", _status, left=True, wraps=True, least=8),
    ]
    shown = Table(columns, table.rows, "", range(len(names)), _style, is_edged=True)
    shown.print(console, brief=not every)
    if every:
        executions = dict.fromkeys(row.run.execution for row in table.rows)
        stimuli = dict.fromkeys(_stimuli(row.run) for row in table.rows)
        for note in [*(f"{execution}: {time_axis(execution)}" for execution in executions), _FROM, *stimuli]:
            print_text(console, note)
    else:
        print_rest(console, [*shown.left_out(console.width), "what the columns mean"], "--all, --csv FILE or --json")


def render_text(table: RunTable, width: int = 160) -> str:
    """Write a table of runs as text without colours, ``width`` columns wide."""
    return printed(lambda console: print_runs(table, console), width)


def _style(row: RunRow) -> str:
    return "green" if row.figures.get("verified") else "yellow"


def _parameter(table: RunTable, name: str) -> Column[RunRow]:
    return Column(name.replace(".", ".\n"), lambda row: value_text(table, row, name), left=True)


def _column(figure: RunFigure) -> Column[RunRow]:
    unit = f"\n[{figure.unit}]" if figure.unit in ("ticks", "Hz", "s", "W") else ""
    rank = 2 if figure.key in _SECOND else 1
    title = fill(figure.title, _HEADER_WIDTH) + unit
    return Column(title, lambda row: figure_cell(figure.unit, row.figures.get(figure.key)), rank=rank)


def _status(row: RunRow) -> str:
    return "open" if row.outcome is None else short_message(row.outcome.message) or row.outcome.status


def _stimuli(run: SweepRun) -> str:
    """Describe the stimuli of a run, and which figures of an explored row are known."""
    if run.asked_by == "sweep":
        return f"every run of a sweep: {run.n_frames} random frames of its seed"
    several = f"{run.n_stimuli} stimuli of " if run.n_stimuli > 1 else ""
    frames = "given frames" if run.seed is None else "random frames, of its seed" + (" on" if several else "")
    return f"every row of an exploration: {several}{run.n_frames} {frames}; its times are predicted"
