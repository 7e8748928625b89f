"""What commands print: JSON or text to stdout, never both; and files, never half of one."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuromap.errors import InputError, NeuromapError
from neuromap.report.numbers import json_count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "check_destination",
    "count_members",
    "error_object",
    "new_table",
    "print_json",
    "text_console",
    "text_width",
]


def count_members(name: str, number: int | None) -> dict[str, Any]:
    """Make the JSON members of a count.

    Parameters
    ----------
    name : str
        Name of the member.
    number : int or None
        The count; ``None`` where it was not counted.

    Returns
    -------
    dict
        ``{name: number, name_log2: float}``; the number is a decimal string from 2^53 on, because readers
        that use doubles would round it. Both are ``None`` where it was not counted, and the logarithm of 0 is
        ``None``.
    """
    if number is None:
        return {name: None, f"{name}_log2": None}
    return {name: json_count(number), f"{name}_log2": math.log2(number) if number > 0 else None}


def _plain(value: Any) -> Any:
    """Turn values of the library into what JSON can hold."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _layout(value: Any, indent: str = "") -> str:
    """Lay JSON out for readers: one member a line, but lists of plain values on one line."""
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        members = (f"{inner}{json.dumps(str(key))}: {_layout(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n" + ",\n".join(inner + _layout(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


def print_json(data: Any) -> None:
    """Write one JSON document to stdout."""
    plain = json.loads(json.dumps(data, allow_nan=False, default=_plain))
    sys.stdout.write(_layout(plain) + "\n")


def error_object(error: BaseException, message: str, exit_code: int) -> dict[str, Any]:
    """Make the JSON document that ``--json`` prints where a command fails.

    Returns
    -------
    dict
        ``{"error": {"kind", "message", "exit_code"}}``; refusals of the mapper add ``infeasibility``, invalid
        patterns ``cycle``.
    """
    kind = type(error).__name__
    if not isinstance(error, (NeuromapError, OSError)) and exit_code == 2:
        kind = "UsageError"  # whatever typer calls it
    fields: dict[str, Any] = {"kind": kind, "message": message, "exit_code": exit_code}
    infeasibility = getattr(error, "infeasibility", None)
    if infeasibility is not None:
        fields["infeasibility"] = infeasibility
    if getattr(error, "cycle", ()):
        fields["cycle"] = list(error.cycle)  # type: ignore[attr-defined]
    return {"error": fields}


def text_width() -> int:
    """Columns for text on stdout: those of the terminal, else of ``COLUMNS``, else 160."""
    if sys.stdout.isatty():
        return os.get_terminal_size(sys.stdout.fileno()).columns
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) >= 40 else 160


def text_console() -> Console:
    """Make the console for tables on stdout."""
    from rich.console import Console

    return Console(file=sys.stdout, width=text_width(), highlight=False)


def new_table(*columns: str, title: str = "", left: int = 1) -> Table:
    """Make an empty table; all but the first ``left`` columns are aligned to the right."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < left else "right", overflow="fold")
    return table


def check_destination(path: Path | None, option: str) -> None:
    """Refuse a destination that cannot be written, before long work begins.

    Parameters
    ----------
    path : Path or None
        The file to be; ``None`` where none was asked for.
    option : str
        The option it came from, for the message.

    Raises
    ------
    InputError
        If the folder does not exist or is not writable, or the path is a folder.
    """
    if path is None:
        return
    if path.is_dir():
        raise InputError(f"{option} {path}: is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InputError(f"{option} {path}: folder {path.parent} does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{option} {path}: folder {path.parent} cannot be written")
