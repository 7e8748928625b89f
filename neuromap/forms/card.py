"""A value as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.forms.html_table import html_table
from neuromap.forms.tables import Column

__all__ = ["Card"]

_COLUMNS = (Column("", left=True), Column("", left=True))


class Card:
    """A value that a notebook shows as a table of a few facts."""

    def _facts(self) -> Mapping[str, object]:
        """Give what tells this value from others of its class: name and value, with its unit, of each fact."""
        return {}

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, _COLUMNS, list(self._facts().items()), names=1)
