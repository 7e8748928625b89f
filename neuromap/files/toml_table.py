"""Checked access to tables of TOML (or JSON): values of the wrong type and unknown keys are refused.

An error is one line with the key path, what was found and what is allowed; the caller prepends the file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.foreign import read_bytes, refuse_foreign
from neuromap.files.messages import did_you_mean, show

# Kinds of files, each with a key that only it has, to detect a file given in place of another kind.
_KINDS = {"network file": "nodes", "chip file": "core", "sweep file": "networks", "experiment file": "curves"}


def read_toml(path: Path, kind: str, largest: int, error: type[InputError], *, long_table: str = "") -> dict[str, Any]:
    """Read a TOML file."""
    refuse_foreign(path, f"{kind} (TOML)", error)
    found = parse_toml(read_bytes(path, f"{kind} (TOML)", largest, error), error, long_table=long_table)
    others = [other for other, key in _KINDS.items() if key in found]
    if others and kind in _KINDS and kind not in others:
        raise error(f"is {_an(others[0])}; expected {_an(kind)} (TOML)")
    return found


def _an(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def parse_toml(data: bytes, error: type[InputError], *, long_table: str = "") -> dict[str, Any]:
    """Read the bytes of a TOML file."""

    def parse(text: str) -> dict[str, Any]:
        deep = line_of_deep_key(text)
        if deep is not None:
            raise error(
                f"line {deep}: has a key of more than {MAX_KEY_PARTS} parts; no file needs more than 4, shorten it"
            )
        return tomllib.loads(text)

    try:
        text = data.decode().replace("\r\n", "\n")
        return parse_with_empty_tables(text, long_table, parse) if long_table else parse(text)
    except UnicodeDecodeError as reason:
        line = data.count(b"\n", 0, reason.start) + 1
        raise error(f"line {line}: byte 0x{data[reason.start]:02x} is not UTF-8; expected a TOML file") from None
    except tomllib.TOMLDecodeError as reason:
        raise error(_with_line_first(str(reason))) from None
    except (ValueError, RecursionError):
        raise error(
            "holds a number of too many digits, or tables nested too deep; expected a TOML file of short ones"
        ) from None


def _with_line_first(message: str) -> str:
    message = " ".join(message.split())
    place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if place is None:
        return f"is not TOML: {message[:200]}"
    return f"line {place[1]}, column {place[2]}: is not TOML: {message[: place.start()][:200]}"


# TOML keys with too many parts: found before parsing, whose time is quadratic in their number.
# Most parts that a key may have; no file of ours needs more than four.
MAX_KEY_PARTS = 16
# a cheap test first: hardly any file has so many dots in a line, even in texts and comments
_MANY_DOTS = re.compile(rf"^(?:[^.\n]*+\.){{{MAX_KEY_PARTS}}}", re.MULTILINE)
_TEXT_OR_COMMENT = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:[^"\\\n]|\\.)*+"?|\'[^\'\n]*+\'?|#[^\n]*+', re.DOTALL
)
_PART = r"[ \t]*+[A-Za-z0-9_-]++[ \t]*+"
_DEEP = re.compile(rf"(?:\.{_PART}){{{MAX_KEY_PARTS}}}")


def line_of_deep_key(text: str) -> int | None:
    """Find the first key of more than :data:`MAX_KEY_PARTS` parts."""
    # returns its line, from 1, or ``None``
    if _MANY_DOTS.search(text) is None:
        return None
    bare = _TEXT_OR_COMMENT.sub(lambda found: "_" + "\n" * found[0].count("\n"), text)
    deep = _DEEP.search(bare)
    return None if deep is None else bare.count("\n", 0, deep.start()) + 1


# Long lists of empty tables in TOML, such as a million edges of structure: read by one regular expression.


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
    r"""Parse TOML in which one table holds a long list of ``"key" = {}``."""
    # The lines that follow ``[name]`` are cut out and read in bulk, the rest is parsed as usual. Anything less simple
    # (a key given twice, the table opened twice, texts of many lines, any error) is parsed as a whole, so that results
    # and errors are those of ``parse``.
    found = _cut(text, name)
    if found is None:
        return parse(text)
    rest, keys = found
    try:
        values = parse(rest)
    except (ValueError, RecursionError, InputError):  # raised again, with line numbers of the whole text
        return parse(text)
    table = values[name]
    empty: dict[str, Any] = {key: {} for key in keys}
    if len(empty) < len(keys) or not empty.keys().isdisjoint(table):
        return parse(text)
    values[name] = empty | table
    return values


def _cut(text: str, name: str) -> tuple[str, list[str]] | None:
    """Cut the lines after the table's header; return the rest and their keys, or ``None`` if that may be wrong."""
    header = re.search(rf"^\[{name}\]{_END}", text, re.MULTILINE)
    if header is None or '"""' in text or "'''" in text:
        return None
    before, lines = text[: header.start()], _LINES.match(text, header.end())
    # opened before, perhaps under a quoted or escaped name: the order would differ
    if lines is None or "\\" in before or re.search(rf"^[ \t]*\[[ \t]*[\"']?{name}", before, re.MULTILINE):
        return None
    return text[: lines.start()] + text[lines.end() :], _KEYS.findall(text, lines.start(), lines.end())


_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlTable:
    """A table of a file, with the path of its keys for messages."""

    # allowed: keys that the table may have; ``None`` if the user chooses them

    def __init__(self, value: Any, path: str, error: type[InputError], allowed: Sequence[str] | None = None) -> None:
        if not isinstance(value, Mapping):
            raise error(f"{path + ': ' if path else ''}found {show(value)}; allowed is a table")
        self.values: Mapping[str, Any] = value
        self.path = path
        self._error = error
        if allowed is not None:
            self.allow(allowed)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def key_path(self, key: str) -> str:
        """Return the full path of a key of this table."""
        written = key if _BARE.fullmatch(key) else f'"{key}"' if key.isprintable() else repr(key)
        written = written if len(written) <= 120 else written[:117] + "..."
        return f"{self.path}.{written}" if self.path else written

    def allow(self, allowed: Sequence[str], because: str = "") -> None:
        """Refuse keys other than these: a misspelt optional key must not be silently ignored."""
        for key in self.values:
            if key not in allowed:
                raise self._error(
                    f"{self.key_path(key)}: unknown key{because}; allowed are {', '.join(allowed)}"
                    + did_you_mean(key, allowed)
                )

    def check_format(self, version: int, kind: str) -> None:
        """Refuse another version of the format; checked first, as its keys may differ."""
        found = self.values.get("format")
        if isinstance(found, bool) or not isinstance(found, int) or found != version:
            raise self.wrong("format", f"is {version}; a {kind} starts with format = {version}")

    def wrong(self, key: str, allowed: str) -> InputError:
        """Make the error for a key whose value is not allowed."""
        found = f"found {show(self.values[key])}" if key in self.values else "missing"
        return self._error(f"{self.key_path(key)}: {found}; allowed {allowed}")

    def integer(self, key: str, low: int, high: int) -> int:
        """Return an integer within bounds."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(key, f"are integers from {low} to {high}")
        return value

    def integers(self, key: str, allowed: str) -> list[int]:
        """Return a list of integers; ``allowed`` completes the error message."""
        value = self.values.get(key)
        if not isinstance(value, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in value):
            raise self.wrong(key, allowed)
        return value

    def pair(self, key: str, low: int, high: int, names: str = "[x, y]") -> tuple[int, int]:
        """Return a pair of integers within bounds."""
        allowed = f"are two integers {names}, each from {low} to {high}"
        value = self.integers(key, allowed)
        if len(value) != 2 or not all(low <= n <= high for n in value):
            raise self.wrong(key, allowed)
        return value[0], value[1]

    def number(self, key: str, low: float, high: float) -> float:
        """Return a number within bounds, given as an integer or a float."""
        value = self.values.get(key)
        # a comparison with NaN is false
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.wrong(key, f"are numbers from {low:g} to {high:g}")
        return float(value)

    def boolean(self, key: str) -> bool:
        """Return true or false."""
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "are true or false")
        return value

    def text(self, key: str, allowed: Sequence[str] = (), *, longest: int = 4096, lines: bool = False) -> str:
        """Return a non-empty text; one of ``allowed``, if any are given."""
        value = self.values.get(key)
        if allowed:
            if not isinstance(value, str) or value not in allowed:
                words = ", ".join(f'"{word}"' for word in allowed)
                raise self.wrong(key, f"are {words}{did_you_mean(value, allowed) if isinstance(value, str) else ''}")
            return value
        plain = value.replace("\n", " ").replace("\t", " ") if isinstance(value, str) and lines else value
        if not isinstance(plain, str) or not 1 <= len(plain) <= longest or not plain.isprintable():
            raise self.wrong(key, f"is a text of {'' if lines else 'one line, '}1 to {longest} characters")
        return str(value)

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        value = self.values.get(key)
        if not isinstance(value, list) or any(not isinstance(text, str) for text in value):
            raise self.wrong(key, "is a list of texts")
        return value

    def table(self, key: str, allowed: Sequence[str] | None = None) -> TomlTable:
        """Return a table; an absent one is empty."""
        return TomlTable(self.values.get(key, {}), self.key_path(key), self._error, allowed)

    def tables(self) -> Iterable[tuple[str, TomlTable]]:
        """Iterate over the tables in this one, in file order."""
        return ((key, self.table(key)) for key in self.values)

    def tables_in(self, key: str) -> tuple[TomlTable, ...]:
        """Return a list of tables; their paths are numbered from 1."""
        value = self.values.get(key)
        if not isinstance(value, list) or not all(isinstance(part, Mapping) for part in value):
            raise self.wrong(key, f"is a list of tables, [[{self.key_path(key)}]]")
        path = self.key_path(key)
        return tuple(TomlTable(part, f"{path}({k})", self._error) for k, part in enumerate(value, start=1))
