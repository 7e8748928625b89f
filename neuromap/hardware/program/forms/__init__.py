"""Forms of a program: its file."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {
        "Program": {"file": "program_bytes.program_bytes"},
        "ListProgram": {"file": "program_bytes.program_bytes"},
    }
)
