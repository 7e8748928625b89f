"""An export as text and as a JSON document."""

from __future__ import annotations

from typing import Any

from neuromap.exchange.imported import Exported, note_dicts, note_lines
from neuromap.files.messages import counted
from neuromap.forms.documents import json_text

_FILES_SHOWN = 12


def to_dict(found: Exported) -> dict[str, Any]:
    """Give what an export wrote as plain values, without the contents of its files."""
    # gives ``files`` with the bytes of each
    return {
        "format": "neuromap export 1",
        "to": found.format,
        "name": found.name,
        "files": [{"name": name, "bytes": _size(content)} for name, content in found.contents.items()],
        "figures": dict(found.figures),
        "kept": note_dicts(found.kept),
        "approximated": note_dicts(found.approximated),
        "refused": note_dicts(found.refused),
    }


def to_json(found: Exported) -> str:
    """Give the same as a JSON document."""
    return json_text(to_dict(found))


def render_text(found: Exported, width: int = 100) -> str:
    """Write the files, the figures, and what was kept, approximated and refused."""
    del width
    lines = [f"{found.name} for {found.format}: {counted(len(found.contents), 'file')}"]
    shown = list(found.contents.items())[:_FILES_SHOWN]
    lines += [f"  {name} ({_size(content):,} bytes)" for name, content in shown]
    if len(found.contents) > len(shown):
        lines.append(f"  and {len(found.contents) - len(shown)} more: --json lists all")
    lines.append("")
    for name, value in found.figures.items():
        lines.append(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
    said = [
        *note_lines("kept", found.kept),
        *note_lines("approximated", found.approximated),
        *note_lines("refused", found.refused),
    ]
    return "\n".join([*lines, *(["", *said] if said else [])]) + "\n"


def _size(content: str | bytes) -> int:
    return len(content.encode() if isinstance(content, str) else content)
