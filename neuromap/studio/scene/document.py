"""Reading plain values out of JSON that somebody else wrote: every value with its kind and bounds, one line if not."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import show

__all__ = ["Document", "parse_json"]

_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}

_MOST_VALUES = 4_000_000
"""Of a document, counted by what stands between them: each takes up to 100 bytes of memory, in a file it takes 2."""
_MOST_DIGITS = 20
"""Of a whole number, its sign included: what 64 bits hold."""


def parse_json(data: bytes, what: str, largest: int) -> Any:
    """Parse JSON within bounds."""
    if len(data) > largest:
        raise InputError(f"{what}: has {len(data)} bytes; at most {largest} are read")
    if (n_values := sum(map(data.count, (b",", b"[", b"{")))) > _MOST_VALUES:
        raise InputError(f"{what}: has {n_values} values; at most {_MOST_VALUES} are read")
    try:
        found = json.loads(data.decode("utf-8"), parse_constant=_no_constant, parse_int=_short_number)
        if b"\\u" in data:  # only so can a text hold half of a pair, which no file and no message can hold
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError:
        raise InputError(f"{what}: a text in it holds half a character (\\ud800 to \\udfff); write it whole") from None
    except (ValueError, RecursionError) as error:
        text = str(error).splitlines()[0] if str(error) else "nested too deep"
        raise InputError(f"{what}: is no JSON ({text[:120]}); give a file that the studio saved") from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _short_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


class Document:
    """An object of JSON, and where it stands."""

    def __init__(self, values: Any, path: str) -> None:
        if not isinstance(values, Mapping):
            raise InputError(f"{path}: is {show(values)}; must be an object")
        self._values, self.path = values, path

    def allow(self, names: Sequence[str]) -> None:
        """Refuse names that are none of these."""
        for name in self._values:
            if name not in names:
                raise InputError(f"{self.path}: {show(name)} is not known; known are {', '.join(names)}")

    def __contains__(self, name: str) -> bool:
        return self._values.get(name) is not None

    def of(self, name: str, kind: type[Any]) -> Any:
        """Give a value of a kind."""
        value = self._values.get(name)
        fits = isinstance(value, kind) or (kind is float and isinstance(value, int))
        if not fits or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{self.path}.{name}: is {show(value)}; must be {_KINDS[kind]}")
        return value

    def text(self, name: str, longest: int) -> str:
        """Give a text of a length."""
        text: str = self.of(name, str)
        if len(text) > longest:
            raise InputError(f"{self.path}.{name}: has {len(text)} characters; at most {longest}")
        return text

    def inner(self, name: str) -> Document:
        """Give an object inside."""
        return Document(self.of(name, dict), f"{self.path}.{name}")

    def each(self, name: str, most: int) -> list[Document]:
        """Give the objects of a list."""
        found = self.of(name, list)
        if len(found) > most:
            raise InputError(f"{self.path}.{name}: has {len(found)} entries; at most {most}")
        return [Document(value, f"{self.path}.{name}[{k}]") for k, value in enumerate(found)]

    def items(self, most: int) -> list[tuple[str, Document]]:
        """Give the objects inside by their names."""
        if len(self._values) > most:
            raise InputError(f"{self.path}: has {len(self._values)} entries; at most {most}")
        return [(name, Document(value, f"{self.path}.{name}")) for name, value in self._values.items()]

    def raw(self, name: str, most: int) -> bytes:
        """Give bytes that are written in base 64."""
        text = self.text(name, most * 4 // 3 + 8)
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise InputError(f"{self.path}.{name}: is no base 64; give a file that the studio saved") from None
