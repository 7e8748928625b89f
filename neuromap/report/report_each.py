"""A latency report for every chip of several, as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuromap.files.given import needs
from neuromap.forms.numbers import as_number
from neuromap.hardware.chip.chip_figures import ChipPoint
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network import Network
from neuromap.report.figures.row import ReportRow
from neuromap.report.latency import latency_report
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import time_axis
from neuromap.simulation.choose_frames import describe_frames
from neuromap.sweep.chip_sweep import ChipSweep, SweepColumn, SweepRow
from neuromap.sweep.each_chip import (
    CORE_BOUND,
    CORES,
    FRAME_PERIOD,
    SweepProgress,
    bound_notes,
    each_chip,
    reason_of,
)

__all__ = ["sweep_reports"]

_COLUMNS = (
    CORES,
    CORE_BOUND,
    FRAME_PERIOD,
    SweepColumn("first_response_ticks", "first response", "ticks", is_drawn=True),
    SweepColumn("energy_joules", "energy per frame", "J"),
    SweepColumn("verified", "verified", "yes"),
)


def sweep_reports(
    network: Network,
    chip: str | Path | ChipSpec,
    figures: Mapping[str, Sequence[Any]],
    patterns: Sequence[str | RolloutPattern] | None = None,
    executions: Sequence[str] | None = None,
    *,
    progress: SweepProgress | None = None,
    **arguments: Any,
) -> ChipSweep:
    """Report on a network on a chip with each of several values of its figures, and on every combination of these.

    Parameters
    ----------
    network : Network
        With shapes and weights.
    chip : str, path or ChipSpec
        The chip whose figures are changed.
    figures : mapping of str to sequence
        Values of each figure, such as ``{"core.axons": [256, 512]}``; at most 256 chips in all.
    patterns, executions
        As for :func:`neuromap.report.latency.latency_report`.
    progress : callable, optional
        Called as ``progress(what, chips done, chips in all)``.
    **arguments
        Stimuli, engine and options, as there.

    Returns
    -------
    ChipSweep
        A row for every chip, pattern and execution: cores, frame period and first response (in ticks), energy per frame
        (in joules), and whether chip and reference agree.

    Raises
    ------
    ChipError
        If the chip is unknown, a figure is unknown or out of range, or there are too many chips; then none is mapped.
    PatternError, InputError, NetworkError, StimulusError
        As :func:`neuromap.report.latency.latency_report`.
    """
    needs("sweep_reports", network, Network)
    spec = load_chip(chip)
    rows: list[SweepRow] = []
    told: dict[str, None] = {}
    for point in each_chip(spec, figures, progress):
        report = latency_report(network, point.chip, patterns, executions, **arguments)
        rows += (_row(row, point, spec) for row in report.rows)
        told |= dict.fromkeys(f"{row.execution}: {time_axis(row.execution)}" for row in report.rows)
        stimulus = report.stimulus
    return ChipSweep(
        network=network.name,
        what="",
        chip=spec,
        parameters=tuple(figures),
        label_titles=("pattern", "execution"),
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(
            *told,
            "first response: from stimulus onset, measured on the program, the least over all outputs",
            "energy per frame: in steady operation, where the chip has figures of it",
            *bound_notes(arguments.get("options")),
            f"verified with {describe_frames(stimulus)}",
        ),
    )


def _row(row: ReportRow, point: ChipPoint, chip: ChipSpec) -> SweepRow:
    labels = (row.pattern, row.execution)
    if row.usage is None:
        reason = reason_of(row.message, row.infeasibility, point, chip)
        is_refused = row.status == "does not fit"
        return SweepRow(*point, labels, reason=reason, message=row.message, is_refused=is_refused)
    figures: dict[str, Any] = {
        "cores": row.usage.cores,
        "core_bound": None if row.core_bound is None else row.core_bound.total,
        "frame_period_ticks": None if row.frame_period_ticks is None else as_number(row.frame_period_ticks),
        "first_response_ticks": row.measured.first_response_ticks,
        "energy_joules": None if row.figures is None else row.figures.energy.joules_per_frame,
        "verified": row.verified,
    }
    return SweepRow(*point, labels, figures)
