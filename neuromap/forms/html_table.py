"""A table as HTML, for notebooks: no style sheet, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from neuromap.forms.tables import Column

__all__ = ["html_table"]


def html_table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[object]], *, names: int) -> str:
    """Make a table."""
    sides = [f'style="text-align:{"left" if column.left else "right"}"' for column in columns]

    def line(tags: Sequence[str], cells: Sequence[object]) -> str:
        texts = (escape(str(content)).replace("\n", "<br>") for content in cells)
        inner = (f"<{tag} {side}>{text}</{tag}>" for tag, side, text in zip(tags, sides, texts, strict=True))
        return f"<tr>{''.join(inner)}</tr>"

    tags = ["th" if k < names else "td" for k in range(len(columns))]
    body = "".join(line(tags, row) for row in rows)
    headers = [column.header for column in columns]
    head = f"<thead>{line(['th'] * len(columns), headers)}</thead>" if any(headers) else ""
    return f'<table><caption style="text-align:left">{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>'
