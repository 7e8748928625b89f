"""All mapped rows of an exploration as a chart with zoom and filters."""

from __future__ import annotations

from collections.abc import Iterable

from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import Limits
from neuromap.explorer.answer.listing import front_words
from neuromap.explorer.answer.objectives import ENERGY
from neuromap.explorer.answer.row_figures import value_of
from neuromap.explorer.answer.rows import ExploredRow
from neuromap.forms.chart import Axis, Cell, Chart

__all__ = ["front_chart"]

_FIGURES = (
    Axis("cores", "cores"),
    Axis("first", "first response [ms from stimulus onset]"),
    Axis("full", "full response [ms from stimulus onset]"),
    Axis("reaction", "worst-case reaction [ms]"),
    Axis("frequency", "sampling frequency [Hz]"),
    Axis("energy", "energy [µJ per frame]"),
)


def front_chart(exploration: Exploration, limits: Limits) -> Chart | None:
    """Make the chart of the rows that were mapped."""
    # gives ``None`` where fewer than two rows were mapped
    mapped = [row for row in exploration.rows if row.cores is not None]
    if len(mapped) < 2:
        return None
    rows = [_point(row, limits) for row in mapped]
    axes = [axis for axis in _FIGURES if _is_known(rows, axis.key)]
    filters = {
        "front": "front",
        "execution": "execution",
        "class": "behaviour class",
        "chip": "chip",
        "limits": "limits",
    }
    told = [Axis("pattern", "pattern"), Axis("execution", "execution"), Axis("class", "behaviour class"), *axes]
    return Chart(rows, axes, filters, colour="front", shape="execution", told=told)


def _is_known(rows: Iterable[dict[str, Cell]], key: str) -> bool:
    return any(row[key] is not None for row in rows)


def _point(row: ExploredRow, limits: Limits) -> dict[str, Cell]:
    energy = value_of(row, ENERGY).number
    tick = 1e3 * row.tick_seconds
    return {
        "pattern": row.pattern,
        "execution": row.candidate.execution,
        "chip": row.candidate.chip,
        "class": str(row.behaviour_class),
        "front": "no" if front_words(row) == "-" else front_words(row),
        "limits": "within" if limits.allows(row) else "outside",
        "cores": row.cores,
        "first": _short(tick * row.first_response_ticks),
        "full": _short(tick * row.full_response_ticks),
        "reaction": _short(tick * row.worst_case_reaction_ticks),
        "frequency": _short(row.sampling_frequency_hz),
        "energy": None if energy is None else _short(1e6 * energy),
    }


def _short(value: float) -> float:
    return float(f"{value:.7g}")
