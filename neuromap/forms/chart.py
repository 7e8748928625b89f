"""Charts with zoom and filters, through the extra ``pages``: Vega-Lite, inlined, for pages of many points.

A page has a drawing of the same beside it, which needs neither scripts nor the extra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

__all__ = ["Axis", "Chart", "chart_library"]

Cell = float | int | str | None


class Axis(NamedTuple):
    """A figure that can be put on an axis."""

    key: str  # of the rows
    title: str  # with unit, and time axis where it has one


class Chart(NamedTuple):
    """Points in a plane whose axes are chosen by the reader; the script ``charts`` draws it."""

    rows: Sequence[Mapping[str, Cell]]  # points; a row without a number on a chosen axis is left out
    axes: Sequence[Axis]  # of which two are chosen; the first two at first
    filters: Mapping[str, str]  # keys whose values can be switched off, and what they are called
    # colour, shape: keys that are told by colours and shapes
    colour: str
    shape: str
    told: Sequence[Axis]  # keys of the tooltip

    def document(self) -> dict[str, object]:
        """Give the chart as plain values, as the script reads it."""
        return {
            "rows": [dict(row) for row in self.rows],
            "axes": [axis._asdict() for axis in self.axes],
            "filters": dict(self.filters),
            "colour": self.colour,
            "shape": self.shape,
            "told": [axis._asdict() for axis in self.told],
        }


@cache
def chart_library() -> str | None:
    """Give the charting library as one script that defines ``vegaEmbed``; ``None`` where the extra is missing."""
    try:
        from vl_convert import javascript_bundle
    except ImportError:
        return None
    return str(javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace("</script", "<\\/script")
