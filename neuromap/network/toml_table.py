"""A TOML table under inspection: every value is taken with its key path, unknown keys are refused."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from neuromap.errors import NetworkError
from neuromap.network.limits import show

__all__ = ["MAX_FILE_BYTES", "TomlTable", "did_you_mean", "read_toml"]

MAX_FILE_BYTES = 2**24
"""Largest network file (16 MiB; 100,000 edges of structure take about 3)."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    NetworkError
        If it is missing, a folder, larger than 16 MiB, not UTF-8, or not TOML (then with the line).
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        raise NetworkError("does not exist") from None
    except IsADirectoryError:
        raise NetworkError("is a folder; expected a network file (TOML)") from None
    except OSError as error:
        raise NetworkError(f"cannot be read ({error.strerror or error})") from None
    except ValueError:  # a path with a null byte
        raise NetworkError("is no path") from None
    if len(data) > MAX_FILE_BYTES:
        raise NetworkError(f"is larger than {MAX_FILE_BYTES // 2**20} MiB; put numbers into a weights file")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NetworkError(f"line {line}: byte 0x{data[error.start]:02x} is not UTF-8; expected a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise NetworkError(_with_line_first(str(error))) from None
    except (ValueError, RecursionError):
        raise NetworkError("holds a number of too many digits, or tables nested too deep") from None


def _with_line_first(message: str) -> str:
    message = " ".join(message.split())
    place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if place is None:
        return f"is not TOML: {message[:200]}"
    return f"line {place[1]}, column {place[2]}: is not TOML: {message[: place.start()][:200]}"


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """Give ``; did you mean X?`` for the allowed word closest to ``found``, or nothing."""
    by_lower = {word.lower(): word for word in allowed}
    near = get_close_matches(found.lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean {by_lower[near[0]]!r}?" if near else ""


class TomlTable:
    """One table of a TOML file, with the path of its keys for messages.

    Parameters
    ----------
    value : Any
        What the file holds there.
    path : str
        Key path, such as ``edges."I -> H1"``; empty for the file itself.
    allowed : sequence of str or None
        Keys that the table may have; ``None`` where the user chooses the keys.

    Raises
    ------
    NetworkError
        If ``value`` is no table, or has a key that is not allowed.
    """

    def __init__(self, value: Any, path: str, allowed: Sequence[str] | None = None) -> None:
        if not isinstance(value, dict):
            raise NetworkError(f"{path}: found {show(value)}; allowed is a table")
        self.values: dict[str, Any] = value
        self.path = path
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
        """Refuse keys other than these.

        Raises
        ------
        NetworkError
            If there are any.
        """
        for key in self.values:
            if key not in allowed:
                raise NetworkError(
                    f"{self.key_path(key)}: unknown key{because}; allowed are {', '.join(allowed)}"
                    + did_you_mean(key, allowed)
                )

    def wrong(self, key: str, allowed: str) -> NetworkError:
        """Make the error for a key whose value is not allowed."""
        found = f"found {show(self.values[key])}" if key in self.values else "missing"
        return NetworkError(f"{self.key_path(key)}: {found}; allowed {allowed}")

    def integer(self, key: str, low: int, high: int) -> int:
        """Take an integer between two bounds.

        Raises
        ------
        NetworkError
            If it is missing, no integer, or outside.
        """
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.wrong(key, f"are integers from {low} to {high}")
        return value

    def integers(self, key: str, allowed: str) -> list[int]:
        """Take a list of integers; ``allowed`` completes the message.

        Raises
        ------
        NetworkError
            If it is missing or anything else.
        """
        value = self.values.get(key)
        if not isinstance(value, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in value):
            raise self.wrong(key, allowed)
        return value

    def text(self, key: str, allowed: Sequence[str] = ()) -> str:
        """Take a text that is not empty; one of ``allowed``, if any are given.

        Raises
        ------
        NetworkError
            If it is missing or anything else.
        """
        value = self.values.get(key)
        if not isinstance(value, str) or not value or not value.isprintable() or (allowed and value not in allowed):
            words = ", ".join(f'"{word}"' for word in allowed)
            hint = did_you_mean(value, allowed) if isinstance(value, str) else ""
            raise self.wrong(key, f"are {words}{hint}" if allowed else "is a text of one line, not empty")
        return value

    def texts(self, key: str) -> list[str]:
        """Take a list of texts.

        Raises
        ------
        NetworkError
            If it is missing or anything else.
        """
        value = self.values.get(key)
        if not isinstance(value, list) or any(not isinstance(text, str) for text in value):
            raise self.wrong(key, "is a list of texts")
        return value

    def table(self, key: str, allowed: Sequence[str] | None = None) -> TomlTable:
        """Take a table; an absent one is empty.

        Raises
        ------
        NetworkError
            If it is no table, or has a key that is not allowed.
        """
        return TomlTable(self.values.get(key, {}), self.key_path(key), allowed)

    def tables(self) -> Iterable[tuple[str, TomlTable]]:
        """Go through the tables in this one, in file order."""
        return ((key, self.table(key)) for key in self.values)
