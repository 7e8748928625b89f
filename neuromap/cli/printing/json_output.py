"""JSON on stdout: one document, and nothing else; the one for an error too."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from neuromap.errors import NeuromapError
from neuromap.forms.numbers import json_count

__all__ = ["count_members", "error_object", "print_json"]


def count_members(name: str, number: int | None) -> dict[str, Any]:
    """Make the JSON members of a count."""
    # number: the count; ``None`` where it was not counted
    # gives ``{name: number, name_log2: float}``; the number is a decimal string from 2^53 on, because readers that use
    # doubles would round it. Both are ``None`` where it was not counted, and the logarithm of 0 is ``None``
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
    """Make the JSON document that ``--json`` prints where a command fails."""
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
