"""A table of runs as a Parquet file (extra ``parquet``)."""

from __future__ import annotations

from typing import Any

from neuromap.errors import NotSupportedError
from neuromap.hardware.chip.chip_figures import figure_text
from neuromap.sweep.forms.documents_of_runs import lines
from neuromap.sweep.store.run_figures import RUN_FIGURES
from neuromap.sweep.store.run_table import RunTable

__all__ = ["to_parquet"]

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
