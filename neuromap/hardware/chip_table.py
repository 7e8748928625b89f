"""One table of a chip file, read value by value; refusals name the key, what was found and what is right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from neuromap.errors import ChipError

__all__ = ["Table", "did_you_mean", "show", "show_name"]


class Table:
    """One table of a document.

    Parameters
    ----------
    values : Any
        What the document holds at ``path``; refused unless a mapping.
    origin : str
        The file, for messages.
    path : str
        Key path of the table; empty for the document itself.

    Raises
    ------
    ChipError
        From every method: one line with the key path, what was found and what is allowed.
    """

    def __init__(self, values: Any, origin: str, path: str) -> None:
        self._origin, self._path = origin, path
        if not isinstance(values, Mapping):
            raise self._wrong("", values, f"a table [{path}]" if path else "a table of keys")
        self._values = values

    def __contains__(self, key: str) -> bool:
        return key in self._values

    @property
    def keys(self) -> list[str]:
        """Keys that the table holds."""
        return [str(key) for key in self._values]

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value unchecked."""
        return self._values.get(key, default)

    def only(self, allowed: Iterable[str]) -> None:
        """Refuse keys that are not in the format: a misspelt optional key must not be lost in silence.

        Raises
        ------
        ChipError
            Naming the first such key and the nearest one that is allowed.
        """
        allowed = tuple(allowed)
        for key in self.keys:
            if key not in allowed:
                raise ChipError(
                    f"{self._origin}: {self._key(show_name(key))}: unknown key"
                    f"{did_you_mean(key, allowed)}; allowed are {', '.join(allowed)}"
                )

    def text(self, key: str, longest: int) -> str:
        """Return a string; a name must fit on one line."""
        value = self._required(key, "a string")
        if not isinstance(value, str) or not value or len(value) > longest:
            raise self._wrong(key, value, f"a string of 1 to {longest} characters")
        plain = value if key == "name" else value.replace("\n", " ").replace("\t", " ")
        if not plain.isprintable():
            raise self._wrong(key, value, "printable characters" + (" on one line" if key == "name" else ""))
        return value

    def integer(self, key: str, least: int, greatest: int) -> int:
        """Return an integer (true and false are none)."""
        value = self._required(key, f"an integer {least} to {greatest}")
        if not _is_integer(value, least, greatest):
            raise self._wrong(key, value, f"an integer {least} to {greatest}")
        return int(value)

    def pair(self, key: str, least: int, greatest: int) -> tuple[int, int]:
        """Return a list of two integers."""
        allowed = f"two integers {least} to {greatest}, as in [{max(least, 1)}, {min(greatest, 15)}]"
        value = self._required(key, allowed)
        if not isinstance(value, list) or len(value) != 2:
            raise self._wrong(key, value, allowed)
        if not all(_is_integer(v, least, greatest) for v in value):
            raise self._wrong(key, value, allowed)
        return (int(value[0]), int(value[1]))

    def number(self, key: str, least: float, greatest: float) -> float:
        """Return a number, given as an integer or a float."""
        allowed = f"a number {least:g} to {greatest:g}"
        value = self._required(key, allowed)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, value, allowed)
        if not least <= value <= greatest:  # false for NaN too
            raise self._wrong(key, value, allowed)
        return float(value)

    def boolean(self, key: str) -> bool:
        """Return true or false."""
        value = self._required(key, "true or false")
        if not isinstance(value, bool):
            raise self._wrong(key, value, "true or false")
        return value

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """Return one of the allowed words."""
        value = self._required(key, " or ".join(f'"{a}"' for a in allowed))
        if not isinstance(value, str) or value not in allowed:
            near = did_you_mean(value, allowed) if isinstance(value, str) else ""
            raise self._wrong(key, value, " or ".join(f'"{a}"' for a in allowed) + near)
        return value

    def _required(self, key: str, allowed: str) -> Any:
        if key not in self._values:
            raise ChipError(f"{self._origin}: {self._key(key)}: missing; needs {allowed}")
        return self._values[key]

    def _key(self, key: str) -> str:
        return ".".join(part for part in (self._path, key) if part) or "file"

    def _wrong(self, key: str, value: Any, allowed: str) -> ChipError:
        return ChipError(f"{self._origin}: {self._key(key)}: found {show(value)}; needs {allowed}")


def _is_integer(value: Any, least: int, greatest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= greatest


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """Return " (did you mean X?)" for the nearest allowed word, or nothing."""
    near = difflib.get_close_matches(found[:100].lower(), list(allowed), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def show_name(name: str) -> str:
    """Return a name or path as it is where it is printable, so that a message stays one line."""
    return name if name.isprintable() and len(name) <= 300 else show(name)


def show(value: Any) -> str:
    """Return a short repr of a value from a file; Python refuses to print integers of thousands of digits."""
    if value is None:
        return "nothing"
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
