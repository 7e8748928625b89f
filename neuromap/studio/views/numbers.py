"""Figures of runs as text, each with its unit and its time axis."""

from __future__ import annotations

from neuromap.arrays.times import Time
from neuromap.forms.numbers import plain, seconds
from neuromap.studio.stage.figures import ChipFigures, ScheduleFigures

__all__ = ["ROWS", "figure_texts"]

ROWS = (
    ("factor", "inference factor F [update steps]"),
    ("period", "frame period [update steps]"),
    ("period_ticks", "frame period [ticks]"),
    ("first", "first response [update steps]"),
    ("first_ticks", "first response [ticks]"),
    ("full", "full response [update steps]"),
    ("full_ticks", "full response [ticks]"),
    ("sampling", "sampling frequency [frames/s]"),
    ("cores", "cores in use"),
)
"""Figures of a run: key and what it is."""


def figure_texts(schedule: ScheduleFigures, chip: ChipFigures | None, waiting: str) -> dict[str, str]:
    """Write the figures of one execution."""
    bound = "" if schedule.is_exact else "at most "
    texts = {
        "name": schedule.execution,
        "factor": _number(schedule.inference_factor),
        "period": _number(schedule.frame_period),
        "first": _number(schedule.first_response),
        "full": bound + _number(schedule.full_response) if schedule.full_response is not None else "–",
    }
    if chip is None:
        return {**{key: waiting for key, _ in ROWS}, **texts}
    second = chip.tick_seconds
    return {
        **texts,
        "period_ticks": f"{_number(chip.frame_period)} ({seconds(float(chip.frame_period) * second)})",
        "first_ticks": f"{chip.first_response} ({seconds(chip.first_response * second)})",
        "full_ticks": f"{bound}{chip.full_response} ({seconds(chip.full_response * second)})",
        "sampling": f"{chip.sampling_hz:.4g}",
        "cores": str(chip.cores),
    }


def _number(value: Time | None) -> str:
    return "–" if value is None else plain(value)
