"""A value as people meet it: one line in an interpreter, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from html import escape
from typing import Any

from neuromap.arrays.value import Value
from neuromap.forms.tables import Column

_COLUMNS = (Column("", left=True), Column("", left=True))


class Card(Value):
    """A value that an interpreter shows as one line of a few facts, and a notebook as a table of them."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign] # else the dataclass puts all its fields there

    def _facts(self) -> Mapping[str, object]:
        """Give what tells this value from others of its class: name and value, with its unit, of each fact."""
        return field_facts(self)

    def __repr__(self) -> str:
        has_facts = type(self)._facts is not Card._facts
        return one_line(type(self).__name__, self._facts()) if has_facts else as_call(self)

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, _COLUMNS, list(self._facts().items()), names=1)


# A value in one line, as an interpreter shows it.
LONGEST = 200
"""Characters that a value takes at most."""
_LONGEST_FACT = 72


def one_line(name: str, facts: Mapping[str, object]) -> str:
    """Say what a value is and how large, by facts about it."""
    # gives one line of at most ``LONGEST`` characters
    return _cut(f"<{name}: {'; '.join(f'{key} {_cut(str(fact), _LONGEST_FACT)}' for key, fact in facts.items())}>")


def as_call(value: Any) -> str:
    """Say what a value is, as the call that makes one like it."""
    # gives one line of at most ``LONGEST`` characters
    return _cut(f"{type(value).__name__}({', '.join(f'{key}={part}' for key, part in field_facts(value).items())})")


def field_facts(value: Any) -> dict[str, str]:
    """Give the fields of a dataclass that are not as by default."""
    shown = [field for field in fields(value) if field.repr and not field.name.startswith("_")]
    return {field.name: brief(part) for field in shown if not _is_default(field, part := getattr(value, field.name))}


def brief(part: Any) -> str:
    """Say what a part of a value is: small ones in full, large ones by their size."""
    if _is_array(part):
        return f"{part.dtype}{list(part.shape)}"
    if isinstance(part, Collection) and not isinstance(part, str | bytes) and len(part) > 4:
        return f"<{len(part)} entries>"
    return _cut(repr(part), _LONGEST_FACT)


def _is_default(field: Field[Any], part: object) -> bool:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return part is default or (not _is_array(part) and bool(part == default))


def _is_array(part: object) -> bool:
    return hasattr(part, "dtype") and hasattr(part, "shape")  # of NumPy or SciPy, which need not be imported to know


def _cut(text: str, longest: int = LONGEST) -> str:
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


# A table as HTML, for notebooks: no style sheet, everything escaped.


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
