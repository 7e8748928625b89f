"""Forms of an export: text, JSON."""

from __future__ import annotations

from neuromap.exchange.imported import Exported
from neuromap.exchange.of_imports import NOTES, note_lines
from neuromap.files.messages import counted
from neuromap.render.document import COUNT, TEXT, by_name, const, document, each, kind, record

_FILES_SHOWN = 12


def _files(found: Exported) -> list[dict[str, object]]:
    return [{"name": name, "bytes": _size(content)} for name, content in found.contents.items()]


DOCUMENT = document(
    "export",
    format=const("neuromap export 1"),
    to=TEXT(at="format"),
    name=TEXT,
    files=each(record(name=TEXT, bytes=COUNT))(at=_files),
    figures=by_name(kind("integer", "string")),
    kept=NOTES,
    approximated=NOTES,
    refused=NOTES,
    written_to=TEXT.elsewhere,
)
# Plain values, without the contents of its files.
to_dict = DOCUMENT.of


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
    said = note_lines(found)
    return "\n".join([*lines, *(["", *said] if said else [])]) + "\n"


def _size(content: str | bytes) -> int:
    return len(content.encode() if isinstance(content, str) else content)
