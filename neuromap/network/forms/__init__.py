"""Forms of a network: its file, and its head in the JSON of what is about it."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping(
    {"Network": {"file": "network_file.save_network", "head": "network_head.network_head"}}
)
