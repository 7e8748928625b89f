"""Notes of imports and exports as lines and as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuromap.exchange.imported import Note
from neuromap.forms.numbers import plain

__all__ = ["note_dicts", "note_lines"]


def note_dicts(notes: Sequence[Note]) -> list[dict[str, Any]]:
    """Give notes as plain values."""
    return [
        {"about": note.about, "text": note.text, "remedy": note.remedy, "error": note.error, "unit": note.unit}
        for note in notes
    ]


def note_lines(word: str, notes: Sequence[Note]) -> list[str]:
    """Write a line for every note, with a word on what became of its part."""
    return [f"{word}: {_line(note)}" for note in notes]


def _line(note: Note) -> str:
    error = "" if note.error is None else f", by {plain(note.error)} {note.unit}".rstrip()
    return f"{note.about}: {note.text}{error}" + (f"; {note.remedy}" if note.remedy else "")
