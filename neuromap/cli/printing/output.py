"""What commands print: JSON or text to stdout, never both; and files, never half of one."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuromap.errors import InputError, NetworkError, NeuromapError
from neuromap.files.whole_file import check_target
from neuromap.forms.numbers import json_count

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "check_destinations",
    "count_members",
    "error_object",
    "one_line",
    "print_error",
    "print_json",
    "text_console",
    "text_width",
]

_LONGEST_LINE = 1000


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


def one_line(text: str) -> str:
    """Make text of any origin fit for one line of a terminal: blanks joined, control characters escaped, middle cut."""
    text = " ".join(text.split())
    if len(text) > _LONGEST_LINE:
        text = f"{text[: _LONGEST_LINE - 300]} ... {text[-295:]}"  # what would help stands at the end
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_error(line: str) -> None:
    """Write a line of :func:`one_line` to stderr; a stderr that takes nothing is no further error."""
    with suppress(OSError):
        sys.stderr.write(f"neuromap: {line}\n")
        sys.stderr.flush()


def text_width() -> int:
    """Columns for text on stdout: those of the terminal, else of ``COLUMNS``, else 160; from 40 to 1000 there."""
    if sys.stdout.isatty():
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80  # some terminals say 0
    width = int(os.environ.get("COLUMNS", 0))  # a number: see boundary.py
    return min(width, 1000) if width >= 40 else 160


def text_console() -> Console:
    """Make the console for tables on stdout."""
    from rich.console import Console

    return Console(file=sys.stdout, width=text_width(), highlight=False)


def check_destinations(outputs: Mapping[str, str | None], inputs: Mapping[str, str | Path | None]) -> None:
    """Refuse files that cannot be written, or must not be, before long work begins.

    Parameters
    ----------
    outputs : mapping of str to str or None
        Option and the file to be; ``None`` where none was asked for.
    inputs : mapping of str to str, Path or None
        What the command reads: a name for messages and the file. The weights file of the ``network file`` is
        found here.

    Raises
    ------
    InputError
        If a file cannot be written, is one that the command reads, or is named twice.
    """
    wanted = {option: path for option, path in outputs.items() if path is not None}
    taken: dict[Path, str] = {}
    for option, path in wanted.items():
        if path.startswith("-"):  # stdout, or another option, is meant
            raise InputError(f"{option} {path}: is no file; give a name (./{path} for this one), or /dev/stdout")
        try:
            target = check_target(path)
        except InputError as error:
            raise InputError(f"{option} {error}") from None
        read = {**inputs, "weights file": _weights_file(inputs.get("network file"))} if Path(path).exists() else {}
        for name, source in read.items():
            if source is not None and _is_same(path, source):
                raise InputError(f"{option} {path}: is the {name} itself; give another file")
        if target is None:
            continue  # a device or pipe, which is not replaced
        if target in taken:
            raise InputError(f"{option} {path}: is named twice, by {taken[target]} too; give each a file of its own")
        taken[target] = option


def _is_same(path: str, source: str | Path) -> bool:
    try:
        return Path(path).samefile(source)
    except (OSError, ValueError):  # no such file; whoever reads it says so
        return False


def _weights_file(network: str | Path | None) -> Path | None:
    from neuromap.files.toml_file import read_toml
    from neuromap.network.file.network_file import MAX_FILE_BYTES

    if network is None:
        return None
    try:
        named = read_toml(Path(network), "network file", MAX_FILE_BYTES, NetworkError)["weights"]["file"]
        return Path(network).parent.joinpath(named)
    except (NetworkError, KeyError, TypeError):  # whoever loads it says so
        return None
