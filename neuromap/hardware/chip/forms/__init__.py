"""Forms of a chip: its head in the JSON of what is about it."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping({"ChipSpec": {"head": "chip_head.chip_head"}})
