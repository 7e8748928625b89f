"""An exploration as CSV: one line per row."""

from __future__ import annotations

from typing import Any

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.listing import streaming_text
from neuromap.explorer.forms.json_form import to_dict
from neuromap.forms.documents import csv_text

__all__ = ["to_csv"]


def to_csv(exploration: Exploration, limits: Limits | None = None) -> str:
    """Write an exploration as CSV text (RFC 4180, UTF-8).

    Columns are named as in the JSON form and come in the same order, edges are written ``H1 -> O`` with commas
    between them, and what is not defined is empty.

    Parameters
    ----------
    exploration : Exploration
        What was found.
    limits : Limits, optional
        What the column ``within_limits`` is about.

    Returns
    -------
    str
        Header and rows.
    """
    document = to_dict(exploration, limits)
    head = {"network": document["network"]["name"], "neuromap_version": document["neuromap_version"]}
    lines = [{**head, **{key: _cell(value) for key, value in row.items()}} for row in document["rows"]]
    return csv_text(lines, columns=list(head))


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return streaming_text([(u, v) for u, v in value])
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value
