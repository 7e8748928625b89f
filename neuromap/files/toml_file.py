"""Read TOML; a refusal is one line, which the caller puts the file's name before."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.foreign import refuse_foreign
from neuromap.files.regular_file import read_bytes
from neuromap.files.toml_depth import MAX_KEY_PARTS, line_of_deep_key
from neuromap.files.toml_empty_tables import parse_with_empty_tables

__all__ = ["parse_toml", "read_toml"]


def read_toml(path: Path, kind: str, largest: int, error: type[InputError], *, long_table: str = "") -> dict[str, Any]:
    """Read a TOML file."""
    refuse_foreign(path, f"{kind} (TOML)", error)
    return parse_toml(read_bytes(path, f"{kind} (TOML)", largest, error), error, long_table=long_table)


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
