"""Long lists of empty tables in TOML, such as a million edges of structure: read by one expression, not key by key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

from neuromap.errors import InputError

__all__ = ["parse_with_empty_tables"]

_PLAIN = r"[^\x00-\x08\x0a-\x1f\x7f]"
_KEY = r'"([^"\\\x00-\x1f\x7f]*+)"'
_COMMENT = rf"(?:#{_PLAIN}*+)?+"
_END = rf"[ \t]*+{_COMMENT}(?:\n|\Z)"
_LINE = rf"[ \t]*+{_KEY}[ \t]*+=[ \t]*+\{{[ \t]*+\}}{_END}"
_LINES = re.compile(rf"(?:{_LINE}|[ \t]*+{_COMMENT}\n)*+")
_KEYS = re.compile(rf"^[ \t]*+{_KEY}", re.MULTILINE)


def parse_with_empty_tables(
    text: str, name: str, parse: Callable[[str], dict[str, Any]] = tomllib.loads
) -> dict[str, Any]:
    r"""Parse TOML of which one table holds a long list of ``"key" = {}``."""
    # The lines that follow ``[name]`` are taken out and read in bulk, the rest is parsed as ever. Whatever is not as
    # simple as that (a key given twice, the table opened twice, texts of many lines, any error) is parsed as a whole,
    # so that what is read, and what is refused, is what ``parse`` makes of it.
    found = _cut(text, name)
    if found is None:
        return parse(text)
    rest, keys = found
    try:
        values = parse(rest)
    except (ValueError, RecursionError, InputError):  # said anew, with the lines of the whole text
        return parse(text)
    table = values[name]
    empty: dict[str, Any] = {key: {} for key in keys}
    if len(empty) < len(keys) or not empty.keys().isdisjoint(table):
        return parse(text)
    values[name] = empty | table
    return values


def _cut(text: str, name: str) -> tuple[str, list[str]] | None:
    """Give the text without the lines after the table's header, and their keys; ``None`` where that may be wrong."""
    header = re.search(rf"^\[{name}\]{_END}", text, re.MULTILINE)
    if header is None or '"""' in text or "'''" in text:
        return None
    before, lines = text[: header.start()], _LINES.match(text, header.end())
    # opened before, perhaps under a name in quotes or escapes: its order would be another
    if lines is None or "\\" in before or re.search(rf"^[ \t]*\[[ \t]*[\"']?{name}", before, re.MULTILINE):
        return None
    return text[: lines.start()] + text[lines.end() :], _KEYS.findall(text, lines.start(), lines.end())
