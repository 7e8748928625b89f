"""JSON and CSV as text, and the published schemas of JSON documents."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

__all__ = ["csv_text", "json_text", "load_schema"]


def json_text(document: Mapping[str, Any]) -> str:
    """Write a document of plain values as JSON: indented, with a line feed at the end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def load_schema(package: str, name: str) -> dict[str, Any]:
    """Load a JSON Schema.

    Parameters
    ----------
    package : str
        The folder of forms that it lies in.
    name : str
        Of the file.

    Returns
    -------
    dict
        The schema (draft 2020-12).
    """
    schema: dict[str, Any] = json.loads(files(package).joinpath(name).read_text(encoding="utf-8"))
    return schema


def csv_text(lines: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Write lines as CSV (RFC 4180).

    Parameters
    ----------
    lines : sequence of mapping
        Column and cell; columns that a line lacks are empty in it.
    columns : sequence of str
        Those that come first, also where there is no line; the others follow as they come up.

    Returns
    -------
    str
        Header and lines.
    """
    names = list(dict.fromkeys([*columns, *(column for line in lines for column in line)]))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, restval="", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(lines)
    return stream.getvalue()
