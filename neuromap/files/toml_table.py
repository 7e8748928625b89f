"""Tables of TOML (or JSON) under inspection: values are taken with their key path, unknown keys are refused.

A refusal is one line that names the key path, what was found and what is allowed. The file that it is about is
put before it by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean, show

_BARE = re.compile(r"[A-Za-z0-9_-]+")


class TomlTable:
    """One table of a file, with the path of its keys for messages."""

    # allowed: keys that the table may have; ``None`` where the user chooses the keys

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
        """Give the whole path of a key of this table."""
        written = key if _BARE.fullmatch(key) else f'"{key}"' if key.isprintable() else repr(key)
        written = written if len(written) <= 120 else written[:117] + "..."
        return f"{self.path}.{written}" if self.path else written

    def allow(self, allowed: Sequence[str], because: str = "") -> None:
        """Refuse keys other than these: a misspelt optional key must not be lost in silence."""
        for key in self.values:
            if key not in allowed:
                raise self._error(
                    f"{self.key_path(key)}: unknown key{because}; allowed are {', '.join(allowed)}"
                    + did_you_mean(key, allowed)
                )

    def check_format(self, version: int, kind: str) -> None:
        """Refuse another version of the format; asked first, as its keys may differ."""
        found = self.values.get("format")
        if isinstance(found, bool) or not isinstance(found, int) or found != version:
            raise self.wrong("format", f"is {version}; a {kind} starts with format = {version}")

    def wrong(self, key: str, allowed: str) -> InputError:
        """Make the error for a key whose value is not allowed."""
        found = f"found {show(self.values[key])}" if key in self.values else "missing"
        return self._error(f"{self.key_path(key)}: {found}; allowed {allowed}")

    def integer(self, key: str, low: int, high: int) -> int:
        """Take an integer between two bounds."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.wrong(key, f"are integers from {low} to {high}")
        return value

    def integers(self, key: str, allowed: str) -> list[int]:
        """Take a list of integers; ``allowed`` completes the message."""
        value = self.values.get(key)
        if not isinstance(value, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in value):
            raise self.wrong(key, allowed)
        return value

    def pair(self, key: str, low: int, high: int, names: str = "[x, y]") -> tuple[int, int]:
        """Take a list of two integers between two bounds."""
        allowed = f"are two integers {names}, each from {low} to {high}"
        value = self.integers(key, allowed)
        if len(value) != 2 or not all(low <= n <= high for n in value):
            raise self.wrong(key, allowed)
        return value[0], value[1]

    def number(self, key: str, low: float, high: float) -> float:
        """Take a number between two bounds, given as an integer or a float."""
        value = self.values.get(key)
        # a comparison with NaN is false
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise self.wrong(key, f"are numbers from {low:g} to {high:g}")
        return float(value)

    def boolean(self, key: str) -> bool:
        """Take true or false."""
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, "are true or false")
        return value

    def text(self, key: str, allowed: Sequence[str] = (), *, longest: int = 4096, lines: bool = False) -> str:
        """Take a text that is not empty; one of ``allowed``, if any are given."""
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
        """Take a list of texts."""
        value = self.values.get(key)
        if not isinstance(value, list) or any(not isinstance(text, str) for text in value):
            raise self.wrong(key, "is a list of texts")
        return value

    def table(self, key: str, allowed: Sequence[str] | None = None) -> TomlTable:
        """Take a table; an absent one is empty."""
        return TomlTable(self.values.get(key, {}), self.key_path(key), self._error, allowed)

    def tables(self) -> Iterable[tuple[str, TomlTable]]:
        """Go through the tables in this one, in file order."""
        return ((key, self.table(key)) for key in self.values)

    def tables_in(self, key: str) -> tuple[TomlTable, ...]:
        """Take a list of tables; their paths are numbered from 1."""
        value = self.values.get(key)
        if not isinstance(value, list) or not all(isinstance(part, Mapping) for part in value):
            raise self.wrong(key, f"is a list of tables, [[{self.key_path(key)}]]")
        path = self.key_path(key)
        return tuple(TomlTable(part, f"{path}({k})", self._error) for k, part in enumerate(value, start=1))
