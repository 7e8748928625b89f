"""Figures of a run, taken from its row of the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.report.figures.row import ReportRow

__all__ = ["row_figures"]

_Part = Mapping[str, Callable[[Any], Any]]

_OF_ROW: _Part = ReadOnlyMapping(
    {
        "frame_period_ticks": lambda row: None if row.frame_period_ticks is None else float(row.frame_period_ticks),
        "largest_gap_ticks": lambda row: row.largest_gap_ticks,
        "sampling_frequency_hz": lambda row: row.sampling_frequency_hz,
        "predicted_first_response_ticks": lambda row: row.predicted.first_response_ticks,
        "measured_first_response_ticks": lambda row: row.measured.first_response_ticks,
        "measured_first_response_seconds": lambda row: row.measured.first_response_seconds,
        "predicted_full_response_ticks": lambda row: row.predicted.full_response_ticks,
        "measured_full_response_ticks": lambda row: row.measured.full_response_ticks,
        "measured_full_response_seconds": lambda row: row.measured.full_response_seconds,
        "worst_case_reaction_ticks": lambda row: row.worst_case_reaction_ticks,
        "core_bound": lambda row: None if row.core_bound is None else row.core_bound.total,
        "verified": lambda row: row.verified,
    }
)
_OF_USAGE: _Part = ReadOnlyMapping(
    {
        "cores": lambda usage: usage.cores,
        "neurons": lambda usage: usage.neurons,
        "copies": lambda usage: usage.copies,
        "relays": lambda usage: usage.relays,
        "mean_hops": lambda usage: usage.mean_hops,
        "longest_way_hops": lambda usage: usage.longest_way,
    }
)
_OF_FIGURES: _Part = ReadOnlyMapping(
    {
        "spikes_per_frame": lambda figures: figures.network_on_chip.spikes_per_frame,
        "hops_per_frame": lambda figures: figures.network_on_chip.hops_per_frame,
        "synaptic_events_per_frame": lambda figures: figures.work.synaptic_events_per_frame,
        "joules_per_frame": lambda figures: figures.energy.joules_per_frame,
        "watts": lambda figures: figures.energy.watts,
    }
)


def row_figures(row: ReportRow) -> dict[str, float | bool]:
    """Give the figures of a run that are known."""
    parts = ((_OF_ROW, row), (_OF_USAGE, row.usage), (_OF_FIGURES, row.figures))
    found = {key: take(part) for figures, part in parts if part is not None for key, take in figures.items()}
    return {key: value for key, value in found.items() if value is not None}
