"""The text of a model file: JSON with comments, in which every core has the same key; and its runs of numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from neuromap.errors import ProgramError
from neuromap.files.messages import show, show_name
from neuromap.files.regular_file import read_bytes

__all__ = ["MOST_BYTES", "integer", "model_members", "runs"]

MOST_BYTES = 1 << 28
"""Of a file; a whole chip takes about 150 MB."""

# a string, ended or not, so that no place is looked at twice; or where a comment begins
_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|/\*', re.DOTALL)
_WORD = re.compile(r"(-?\d{1,9})(?:x(\d{1,9})|:(-?\d{1,9})(?::(-?\d{1,9}))?)?")


def model_members(path: Path) -> list[tuple[str, Any]]:
    """Read the members of a model file in order; ``core`` stands there once for every core."""
    name = show_name(str(path))
    try:
        text = read_bytes(path, "TrueNorth model file", MOST_BYTES, ProgramError).decode("utf-8")
        pairs = json.loads(_without_comments(text), object_pairs_hook=_Pairs, parse_constant=_no_number)
        if isinstance(pairs, _Pairs):
            return [(key, _plain(value, show_name(key))) for key, value in pairs]
    except ProgramError as error:
        raise ProgramError(f"{name}: {error}") from None
    except (ValueError, RecursionError):
        raise ProgramError(f"{name}: is not valid JSON with comments") from None
    raise ProgramError(f"{name}: found {show(pairs)}; needs an object with model, crossbarTypes, neuronTypes, core")


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON whose keys may stand several times."""


def _plain(value: Any, where: str) -> Any:
    """Make objects of pairs, below the outermost, whose keys stand once."""
    if isinstance(value, _Pairs):
        found = {key: _plain(part, f"{where}: {show_name(key)}") for key, part in value}
        if len(found) < len(value):
            raise ProgramError(f"{where}: a key stands twice in one object; each must stand once")
        return found
    return [_plain(part, where) for part in value] if isinstance(value, list) else value


def _no_number(word: str) -> None:
    raise ValueError(word)


def _without_comments(text: str) -> str:
    kept, at, looked = [], 0, 0
    while match := _STRING_OR_COMMENT.search(text, looked):
        looked = match.end()
        if match[0] != "/*":
            continue
        end = text.find("*/", looked)
        if end < 0:
            raise ValueError("a comment has no end")
        kept.append(text[at : match.start()])
        at = looked = end + 2
    return " ".join([*kept, text[at:]])


def integer(value: Any, where: str, least: int, greatest: int) -> int:
    """Take a whole number within bounds, true and false for 1 and 0."""
    if not isinstance(value, int) or not least <= value <= greatest:
        raise ProgramError(f"{where}: found {show(value)}; needs an integer {least} to {greatest}")
    return int(value)


def runs(value: Any, where: str, length: int, least: int, greatest: int) -> list[int]:
    """Write out numbers and runs of them: ``5``, ``"1x256"``, ``"0:255"``, ``"3:4:255"`` (the step between)."""
    if not isinstance(value, list):
        raise ProgramError(f"{where}: found {show(value)}; needs an array")
    found: list[int] = []
    for word in value:
        match = _WORD.fullmatch(word) if isinstance(word, str) else None
        if match is None:
            found.append(integer(word, where, least, greatest))
        else:
            found += _written_out(match, where, length)
        if len(found) > length:
            break
    if len(found) != length:
        raise ProgramError(f"{where}: found {'more' if len(found) > length else len(found)}; needs {length} numbers")
    return [integer(number, where, least, greatest) for number in found]


def _written_out(match: re.Match[str], where: str, length: int) -> list[int]:
    first = int(match[1])
    if match[3] is None:
        return [first] * min(int(match[2] or 1), length + 1)
    step, last = (1, int(match[3])) if match[4] is None else (int(match[3]), int(match[4]))
    if step == 0:
        raise ProgramError(f"{where}: found {match[0]!r}; needs a step other than 0")
    return list(range(first, last + (1 if step > 0 else -1), step)[: length + 1])
