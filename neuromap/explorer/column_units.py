"""Units of the tables' columns: one of time and one of energy, so that headers say what the cells are in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuromap.explorer.answer.advice import has_given_weights
from neuromap.explorer.answer.objectives import ENERGY
from neuromap.explorer.answer.quantities import figure, scale_for
from neuromap.explorer.answer.row_figures import value_of
from neuromap.explorer.answer.rows import ExploredRow

__all__ = ["GIVEN_WEIGHTS", "GIVEN_WEIGHTS_NOTE", "ColumnUnits", "column_units"]

GIVEN_WEIGHTS = "*"
"""Stands behind an energy that is one of the given weights, in a row that needs others."""

GIVEN_WEIGHTS_NOTE = "with the given weights; the row needs retraining, after which its energy is another."
"""What the sign means."""


@dataclass(frozen=True)
class ColumnUnits:
    """Units of times and energies."""

    # time, energy: such as ``"ms"`` and ``"µJ"``
    time: str
    # time_scale, energy_scale: what they are worth, in s and J
    time_scale: float
    energy: str
    energy_scale: float

    def time_cell(self, ticks: int, row: ExploredRow) -> str:
        """Write a time in ticks and in the column's unit: ``"2 = 2"``."""
        return f"{ticks} = {_figure(ticks * row.tick_seconds / self.time_scale)}"

    def energy_cell(self, row: ExploredRow) -> str:
        """Write a row's energy in the column's unit; a bound has its sign, what is not known a dash."""
        number, is_exact = value_of(row, ENERGY)
        if number is None:
            return "-"
        sign = GIVEN_WEIGHTS if has_given_weights(row, ENERGY) else ""
        return f"{'' if is_exact else '≥ '}{_figure(number / self.energy_scale)}{sign}"


def column_units(rows: Sequence[ExploredRow]) -> ColumnUnits:
    """Choose the units in which the least time and the least energy have one to three digits before the point."""
    times = [row.first_response_seconds for row in rows]
    energies = [number for row in rows if (number := value_of(row, ENERGY).number)]
    (time_scale, time), (energy_scale, energy) = (
        scale_for(min(values, default=1.0), unit) for values, unit in ((times, "s"), (energies, "J"))
    )
    return ColumnUnits(time, time_scale, energy, energy_scale)


def _figure(value: float) -> str:
    return figure(float(f"{value:.12g}"))
