"""Which differences of energy count on the fronts: those beyond what another draw of stimuli would make."""

from __future__ import annotations

import math

from neuromap.errors import InputError
from neuromap.explorer.search.best_first import Effort, Progress
from neuromap.explorer.search.measurements import Measurements
from neuromap.explorer.search.search_rows import SearchRows
from neuromap.files.given import real_number
from neuromap.forms.numbers import ALIKE

__all__ = ["UNMEASURED", "check_tolerance", "measured_tolerance"]

UNMEASURED = ALIKE
"""Tolerance where no spread is known: of a single stimulus, or where nothing may be mapped."""
_LEAST, _MOST = 1e-6, 0.5


def check_tolerance(tolerance: float | None, name: str = "energy_tolerance") -> float | None:
    """Check a tolerance that was asked for."""
    if tolerance is None:
        return None
    real_number(name, tolerance)
    if not 0 <= tolerance < 1:
        raise InputError(f"{name} = {tolerance!r}: must be a part from 0 to below 1, such as 0.02")
    return float(tolerance)


def measured_tolerance(
    all_rows: SearchRows, measurements: Measurements, effort: Effort, n_stimuli: int, progress: Progress | None
) -> float:
    """Measure how well energies are known: the interval of the given pattern's row, over its mean."""
    if n_stimuli < 2 or effort.is_spent(0):
        return UNMEASURED
    for place in all_rows.seeds:
        if effort.is_late():
            break
        if not all_rows.groups[place.group].choice.chip.energy:
            continue
        if progress is not None:
            row = all_rows.describe(place)
            progress(f"{row.pattern}, {row.candidate.execution}", 0, sum(len(group.rows) for group in all_rows.groups))
        measured = measurements.get(all_rows.fingerprint(place), all_rows.candidate(place))
        if measured.energy_joules and measured.energy_half_width_joules is not None:
            return _rounded_up(measured.energy_half_width_joules / measured.energy_joules)
    return UNMEASURED


def _rounded_up(part: float) -> float:
    """Find the least of 1, 2, 5 times a power of ten that is not below a part."""
    part = min(max(part, _LEAST), _MOST)
    power = math.floor(math.log10(part) + 1e-9)
    return next(t for m in (1, 2, 5, 10) if (t := float(f"{m}e{power}")) >= part * (1 - 1e-9))
