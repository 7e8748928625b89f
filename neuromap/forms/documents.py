"""JSON and CSV as text, and the same lines as a table of pandas."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neuromap.errors import NotSupportedError

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["csv_cells", "csv_text", "data_frame", "json_text"]


def json_text(document: Mapping[str, Any]) -> str:
    """Write a document of plain values as JSON: indented, with a line feed at the end."""
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def csv_text(lines: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Write lines as CSV (RFC 4180)."""
    # lines: column and cell; columns that a line lacks are empty in it, and so is ``None``. Texts are written as
    # :func:`csv_cells` says
    names = _names(lines, columns)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(csv_cells(names))
    writer.writerows(csv_cells([line.get(name, "") for name in names]) for line in lines)
    return stream.getvalue()


def csv_cells(values: Sequence[Any]) -> list[Any]:
    """Give cells of CSV that a spreadsheet shows as they are and never runs."""
    # gives numbers as they are, negative ones and those written as texts too; ``true`` and ``false``; an apostrophe
    # before other texts that a spreadsheet would take for a formula, and before those that look like one with
    # apostrophes before it, so that taking one off gives every text back
    return [_cell(value) for value in values]


def data_frame(lines: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> DataFrame:
    """Make a table of pandas, of the same lines and columns as :func:`csv_text` writes."""
    try:
        import pandas
    except ImportError:
        raise NotSupportedError(
            "to_pandas: needs pandas, which is not installed; pip install 'neuromap-rollouts[pandas]', or take to_csv()"
        ) from None
    return pandas.DataFrame(lines, columns=_names(lines, columns)).convert_dtypes()


def _names(lines: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*columns, *(column for line in lines for column in line)]))


_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]")
"""What a formula begins with (OWASP, CSV injection; its wide forms too), and the same behind apostrophes."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    is_formula = isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value
