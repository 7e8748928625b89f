"""A table of runs as a Parquet file (extra ``parquet``)."""

from __future__ import annotations

from typing import Any

from neuromap.errors import NotSupportedError
from neuromap.forms.documents import csv_text, json_text
from neuromap.hardware.chip.chip_file import figure_text
from neuromap.sweep.run_store import OUTCOME, RUN_FIGURES
from neuromap.sweep.run_table import RunRow, RunTable
from neuromap.version import __version__

_WHOLE = frozenset({"seed", "n_frames", "n_stimuli", "exit_code"})


def to_parquet(table: RunTable) -> bytes:
    """Write a table of runs as Parquet."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise NotSupportedError(
            "Parquet: needs pyarrow, which is not installed; pip install 'neuromap-rollouts[parquet]', or take CSV"
        ) from None
    kinds = {"whole": pyarrow.int64(), "real": pyarrow.float64(), "yes": pyarrow.bool_()}
    types = {figure.key: kinds[figure.kind] for figure in RUN_FIGURES}
    types |= dict.fromkeys(_WHOLE, kinds["whole"]) | {"density": kinds["real"]}
    rows = lines(table)
    columns = {}
    for name in rows[0] if rows else ():
        values = [row[name] for row in rows]
        kind = types.get(name)
        columns[name] = pyarrow.array(*((values, kind) if kind else _numbers_or_texts(values, pyarrow)))
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


# A table of runs as JSON and CSV, and the lines that other tables are made of.


_LAST = ("n_frames", "density", "n_stimuli", "mapping", "asked_by", "network_digest", "neuromap", "key")


def lines(table: RunTable) -> list[dict[str, Any]]:
    """Give every run as a line of plain values."""
    # gives all with the same keys: parameters, what became of the run, figures with their units in the name, and what
    # else its key stands for; ``None`` where something is not known
    return [_line(table, row) for row in table.rows]


def to_dict(table: RunTable) -> dict[str, Any]:
    """Make the JSON-ready form of a table of runs."""
    return {
        "neuromap": __version__,
        "store": table.name,
        "runs": len(table.rows),
        "counts": dict(table.counts),
        "verified": table.n_verified,
        "parameters": list(table.parameters),
        "figures": [{"key": f.key, "title": f.title, "unit": _UNITS.get(f.unit, f.unit)} for f in RUN_FIGURES],
        "rows": lines(table),
    }


def to_json(table: RunTable) -> str:
    """Write a table of runs as JSON text."""
    return json_text(to_dict(table))


def to_csv(table: RunTable) -> str:
    """Write a table of runs as CSV (RFC 4180), the columns of :func:`lines`; empty where something is not known."""
    return csv_text(lines(table), [*table.parameters, "status", *OUTCOME[1:]])


_UNITS = {"": "count", "yes": "true or false"}


def _line(table: RunTable, row: RunRow) -> dict[str, Any]:
    outcome = row.outcome
    return {
        **{name: table.value(row, name) for name in table.parameters},
        **{name: None if outcome is None else getattr(outcome, name) for name in OUTCOME},
        "status": "open" if outcome is None else outcome.status,
        **{figure.key: row.figures.get(figure.key) for figure in RUN_FIGURES},
        **{name: getattr(row.run, name) for name in _LAST},
    }
