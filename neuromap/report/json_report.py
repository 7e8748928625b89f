"""The latency report as JSON, with its published schema (``report.schema.json``)."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from neuromap.arrays.times import Time
from neuromap.forms.documents import json_text
from neuromap.forms.formed import form
from neuromap.forms.numbers import as_number, intervals, json_count
from neuromap.forms.schemas import load_schema
from neuromap.mapping.bounds.lower_bounds import CoreBound
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.figures.run_figures import EnergyFigures, NodeTimeFigures, RunFigures
from neuromap.report.figures.usage import Usage
from neuromap.rollout.schedule.execution import time_axes

SCHEMA_ID = "neuromap-latency-report-7"
"""What the member ``format`` of a report says."""
SCHEMA_ID_WITH_FAULTS = "neuromap-latency-report-8"
"""What it says with a study of faults, which is the member ``faults``; all others are the same."""
RUN_KEYS = tuple(f.name for f in fields(RunFigures))
"""Members of a row that hold the figures of its run."""
# what the chip is like stands in the head of the report
_USAGE = tuple(f.name for f in fields(Usage) if f.name not in ("cores_of_chip", "usable_cores"))


def report_schema() -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) that every report follows.

    Returns
    -------
    dict
        The schema.
    """
    return load_schema("report")


def to_dict(report: LatencyReport) -> dict[str, Any]:
    """Make the JSON-ready form of a report.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    dict
        Plain values only; every key is explained in ``docs/report.md`` and in the schema.
    """
    return {
        "format": SCHEMA_ID if report.faults is None else SCHEMA_ID_WITH_FAULTS,
        "neuromap_version": report.version,
        "network": form(report.network, "head"),
        "chip": form(report.chip, "head"),
        "stimulus": dict(report.stimulus),
        "time_axis": time_axes(row.execution for row in report.rows),
        "most_sequential_patterns": json_count(report.most_sequential),
        "most_sequential_proven": report.most_sequential_proven,
        "class_numbers_are_of_network": report.classes_are_of_network,
        "verified": report.verified,
        "rows": [_row(row) for row in report.rows],
        **({} if report.faults is None else {"faults": form(report.faults, "dict")}),
    }


def _number(time: Time | None) -> float | None:
    return None if time is None else as_number(time)


def _row(row: ReportRow) -> dict[str, Any]:
    used = row.usage
    verification = row.verification
    return {
        "pattern": row.pattern,
        "execution": row.execution,
        "status": row.status,
        "message": row.message or None,
        "cycle": list(row.cycle) or None,
        "infeasibility": row.infeasibility.to_dict() if hasattr(row.infeasibility, "to_dict") else None,
        "streaming_edges": [list(key) for key in row.streaming_edges],
        **({"bridging_edges": _bridging(row)} if row.bridging_edges else {}),
        "behaviour_class": row.behaviour_class,
        "inference_factor": row.inference_factor,
        "schedule": row.schedule,
        "frame_period_steps": _number(row.frame_period_steps),
        "frame_period_ticks": _number(row.frame_period_ticks),
        **intervals(row.frame_period_ticks),
        "ticks_per_step": row.ticks_per_step,
        "sampling_frequency_hz": row.sampling_frequency_hz,
        "predicted": asdict(row.predicted),
        "measured": asdict(row.measured),
        "observed_first_difference_ticks": row.observed_first_difference_ticks,
        "worst_case_reaction_ticks": row.worst_case_reaction_ticks,
        "worst_case_reaction_seconds": row.worst_case_reaction_seconds,
        "full_response_exact": row.full_response_exact,
        "outputs": {name: asdict(responses) for name, responses in row.outputs.items()},
        "nodes_on_chip": [asdict(node) for node in row.copies],
        "left_out": dict(row.left_out) if used else None,
        "core_bound": bound_object(row.core_bound),
        **{name: getattr(used, name, None) for name in _USAGE},
        **_run(row.figures),
        "accuracy": _accuracy(row),
        "verified": row.verified,
        "verification": {
            **asdict(verification),
            "frame_period_ticks": as_number(verification.frame_period_ticks),
            "rollout_period_ticks": _number(verification.rollout_period_ticks),
            "outputs": list(verification.outputs),
            "message": verification.message,
        }
        if verification
        else None,
    }


def _accuracy(row: ReportRow) -> dict[str, Any] | None:
    found = row.accuracy
    if found is None:
        return None
    return {
        "data": found.data,
        "part": found.part,
        "images": found.n_images,
        "ticks": [frame.tick for frame in found.frames],
        "fraction": [frame.accuracy for frame in found.frames],
    }


def _run(figures: RunFigures | None) -> dict[str, Any]:
    if figures is None:
        return dict.fromkeys(RUN_KEYS)
    return {
        "network_on_chip": asdict(figures.network_on_chip),
        "work": asdict(figures.work),
        "energy": _energy(figures.energy),
        "node_times": _node_times(figures.node_times),
    }


def _energy(energy: EnergyFigures) -> dict[str, Any]:
    plain = {f.name: getattr(energy, f.name) for f in fields(energy)}
    terms = {key: asdict(term) for key, term in energy.terms.items()}
    spread = None if energy.joules_per_frame_spread is None else asdict(energy.joules_per_frame_spread)
    return {**plain, "joules_per_frame_spread": spread, "terms": terms, "absent": list(energy.absent)}


def _node_times(times: NodeTimeFigures) -> dict[str, Any]:
    plain = {f.name: getattr(times, f.name) for f in fields(times)}
    nodes = {
        name: {"synaptic_events": time.events, "arrival_cycles": time.arrival_cycles, "seconds": time.seconds}
        for name, time in times.nodes.items()
    }
    return {**plain, "nodes": nodes}


def to_json(report: LatencyReport) -> str:
    """Write a report as JSON text.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    str
        Indented, with a line feed at the end.
    """
    return json_text(to_dict(report))


def _bridging(row: ReportRow) -> list[dict[str, Any]]:
    return [{"edge": list(key), "frames": r} for key, r in row.bridging_edges]


# A lower bound on cores as JSON says it; commands print it without the rest of a report.


def bound_object(bound: CoreBound | None) -> dict[str, Any] | None:
    """Make the JSON-ready form of a lower bound on cores."""
    # bound: ``None`` where nothing was mapped
    return None if bound is None else {**asdict(bound), "populations": [asdict(p) for p in bound.populations]}
