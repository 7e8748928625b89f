"""A sweep as JSON: what was set, the figures with their units, and a row for every chip."""

from __future__ import annotations

from typing import Any

from neuromap.forms.documents import json_text
from neuromap.sweep.chip_sweep import ChipSweep, SweepRow


def to_dict(sweep: ChipSweep) -> dict[str, Any]:
    """Make the JSON-ready form of a sweep."""
    # gives ``rows`` have the figures of the chip in ``set``, their labels, ``fits``, ``reason``, ``message``, and the
    # figures that ``columns`` names with their units, ``None`` where one is not known
    return {
        "neuromap": sweep.version,
        "network": sweep.network,
        "chip": sweep.chip.name,
        "set": list(sweep.parameters),
        "columns": [
            {"key": column.key, "title": column.title, "unit": _UNITS.get(column.unit, column.unit)}
            for column in sweep.columns
        ],
        "notes": list(sweep.notes),
        "rows": [_row(sweep, row) for row in sweep.rows],
    }


def to_json(sweep: ChipSweep) -> str:
    """Write a sweep as JSON text."""
    return json_text(to_dict(sweep))


_UNITS = {"": "count", "yes": "true or false"}


def _row(sweep: ChipSweep, row: SweepRow) -> dict[str, Any]:
    return {
        "chip": row.chip.name,
        "set": dict(zip(sweep.parameters, row.values, strict=True)),
        **dict(zip(sweep.label_titles, row.labels, strict=True)),
        "fits": row.fits,
        "reason": row.reason,
        "message": row.message,
        "cut_short": list(row.cut_short),
        **sweep.documented(row),
    }
