"""The latency report as JSON, with its published schema (``report.schema.json``)."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from neuromap.report.latency import TIME_AXIS, LatencyReport
from neuromap.report.numbers import json_count
from neuromap.report.row import ReportRow

__all__ = ["SCHEMA_ID", "report_schema", "to_dict", "to_json"]

SCHEMA_ID = "neuromap-latency-report-1"
"""What the member ``format`` of a report says."""


def report_schema() -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) that every report follows.

    Returns
    -------
    dict
        The schema.
    """
    text = files("neuromap.report").joinpath("report.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


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
    network, chip = report.network, report.chip
    return {
        "format": SCHEMA_ID,
        "neuromap_version": report.version,
        "network": {
            "name": network.name,
            "nodes": len(network.nodes),
            "edges": len(network.edges),
            "inputs": list(network.inputs),
            "outputs": list(network.outputs),
        },
        "chip": {"name": chip.name, "cores": chip.n_cores, "tick_seconds": chip.tick_seconds},
        "stimulus": dict(report.stimulus),
        "time_axis": dict(TIME_AXIS),
        "most_sequential_patterns": json_count(report.most_sequential),
        "most_sequential_proven": report.most_sequential_proven,
        "verified": report.verified,
        "rows": [_row(row) for row in report.rows],
    }


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
        "inference_factor": row.inference_factor,
        "frame_period_steps": row.frame_period_steps,
        "frame_period_ticks": row.frame_period_ticks,
        "ticks_per_step": row.ticks_per_step,
        "sampling_frequency_hz": row.sampling_frequency_hz,
        "predicted": asdict(row.predicted),
        "measured": asdict(row.measured),
        "observed_first_difference_ticks": row.observed_first_difference_ticks,
        "worst_case_reaction_ticks": row.worst_case_reaction_ticks,
        "worst_case_reaction_seconds": row.worst_case_reaction_seconds,
        "full_response_exact": row.full_response_exact,
        "outputs": {name: asdict(responses) for name, responses in row.outputs.items()},
        "cores": used.cores if used else None,
        "neurons": used.neurons if used else None,
        "copies": used.copies if used else None,
        "relays": used.relays if used else None,
        "axons": used.axons if used else None,
        "bias_axons": used.bias_axons if used else None,
        "synapses": used.synapses if used else None,
        "neuron_utilisation": used.neuron_utilisation if used else None,
        "axon_utilisation": used.axon_utilisation if used else None,
        "verified": row.verified,
        "verification": {
            **asdict(verification),
            "outputs": list(verification.outputs),
            "message": verification.message,
        }
        if verification
        else None,
    }


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
    return json.dumps(to_dict(report), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
