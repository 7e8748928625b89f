"""Plain values as TOML writes them; Python's library reads TOML only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write_text(text: str) -> str:
    """Write a text in quotes: TOML takes the escapes of JSON, and wants one for the delete character too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_table(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Write a table and those in it, line by line; arrays are left out, they have a file of their own."""
    yield f"\n[{name}]"
    for key, value in table.items():
        if not isinstance(value, Mapping) and not hasattr(value, "dtype"):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from write_table(f"{name}.{_key(key)}", value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else write_text(key)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return write_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)  # TOML writes numbers as Python does, inf and nan too
