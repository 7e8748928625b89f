"""Forms of patterns: what a notebook shows."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

__all__ = ["FORMS"]

FORMS: Mapping[str, Mapping[str, str]] = ReadOnlyMapping({"RolloutPattern": {"notebook": "notebook.to_notebook"}})
