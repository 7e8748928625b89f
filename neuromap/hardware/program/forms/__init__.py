"""Forms of a program, whatever its cores: its file."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

_FILE: Mapping[str, str] = ReadOnlyMapping({"file": "program_bytes.program_bytes"})

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    dict.fromkeys(("ChipProgram", "Program", "ListProgram"), _FILE)
)
