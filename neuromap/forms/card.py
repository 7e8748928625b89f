"""A value as people meet it: one line in an interpreter, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuromap.arrays.value import Value
from neuromap.forms.html_table import html_table
from neuromap.forms.one_line import as_call, field_facts, one_line
from neuromap.forms.tables import Column

__all__ = ["Card"]

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
