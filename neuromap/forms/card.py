"""A value as a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

__all__ = ["Card"]


class Card:
    """A value that a notebook shows as a table of a few facts."""

    def _facts(self) -> Mapping[str, object]:
        """Give what tells this value from others of its class: name and value, with its unit, of each fact."""
        return {}

    def _repr_html_(self) -> str:
        left = 'style="text-align:left"'
        rows = "".join(
            f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(str(fact))}</td></tr>"
            for name, fact in self._facts().items()
        )
        return f"<table><caption {left}>{escape(type(self).__name__)}</caption><tbody>{rows}</tbody></table>"
