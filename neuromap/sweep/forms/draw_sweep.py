"""Figures of a sweep over the first figure of the chip, a line for every combination of the others."""

from __future__ import annotations

from neuromap.hardware.chip.chip_figures import figure_text
from neuromap.sweep.chip_sweep import ChipSweep
from neuromap.sweep.forms.draw_lines import LinePanel, LinePoint, draw_lines

__all__ = ["draw_sweep"]


def draw_sweep(sweep: ChipSweep) -> str | None:
    """Draw a panel for every figure that is to be drawn."""
    # gives one ``<svg>`` element, whose axes of figures start at 0; ``None`` where no row fits
    panels = [LinePanel(c.key, c.title, c.unit) for c in sweep.columns if c.is_drawn]
    return draw_lines(sweep.parameters[0], panels, _lines(sweep))


def _lines(sweep: ChipSweep) -> dict[str, list[LinePoint]]:
    """Share the rows out by all that tells them apart but the first figure."""
    found: dict[str, list[LinePoint]] = {}
    for row in sweep.rows:
        others = zip(sweep.parameters[1:], row.values[1:], strict=True)
        name = ", ".join([*(f"{name} = {figure_text(value)}" for name, value in others), *row.labels])
        found.setdefault(name, []).append(LinePoint(figure_text(row.values[0]), row.figures, row.reason))
    return found
