"""An exploration as CSV, or as a table of pandas: one line per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.listing import streaming_text
from neuromap.explorer.forms.json_form import to_dict
from neuromap.forms.documents import csv_text, data_frame

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["to_csv", "to_pandas"]

_HEAD = ("network", "neuromap_version")


def to_csv(exploration: Exploration, limits: Limits | None = None) -> str:
    """Write an exploration as CSV text (RFC 4180, UTF-8)."""
    # Columns are named as in the JSON form and come in the same order, edges are written ``H1 -> O`` with commas
    # between them, and what is not defined is empty.
    return csv_text(_lines(exploration, limits), columns=_HEAD)


def to_pandas(exploration: Exploration, limits: Limits | None = None) -> DataFrame:
    """Make a table of pandas of an exploration: rows, columns and their names as in :func:`to_csv`."""
    return data_frame(_lines(exploration, limits), columns=_HEAD)


def _lines(exploration: Exploration, limits: Limits | None) -> list[dict[str, Any]]:
    document = to_dict(exploration, limits)
    head = dict(zip(_HEAD, (document["network"]["name"], document["neuromap_version"]), strict=True))
    return [head | _cells(row) for row in document["rows"]]


def _cells(row: dict[str, Any]) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            cells |= {f"{key}.{name}": part for name, part in value.items()}
        elif isinstance(value, list):
            cells[key] = ", ".join(part if isinstance(part, str) else streaming_text([tuple(part)]) for part in value)
        else:
            cells[key] = value
    return cells
