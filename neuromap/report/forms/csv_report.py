"""The latency report as CSV, or as a table of pandas: one line per pattern and execution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuromap.forms.documents import csv_text, data_frame
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.forms.json_report import RUN_KEYS, to_dict

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["to_csv", "to_pandas"]

_LEFT_OUT = frozenset({"infeasibility", "verification", "outputs", "core_bound", "nodes_on_chip"})
_OBJECTS = frozenset(
    {*RUN_KEYS, "accuracy", "left_out", "busiest_link", "busiest_core_link", "late", "joules_per_frame_spread"}
)
"""Members that are objects or null: without one, its columns are empty, and there is none of its own name."""


def to_csv(report: LatencyReport) -> str:
    """Write a report as CSV text (RFC 4180, UTF-8).

    Columns are named as in the JSON form, levels joined with dots (``predicted.first_response_ticks``), and come
    in the same order; the figures of single outputs follow as ``outputs.NAME.…``. Lists are joined with
    semicolons, edges written ``H1 -> O``; what is not defined is empty.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    str
        Header and rows.
    """
    return csv_text(_lines(report))


def to_pandas(report: LatencyReport) -> DataFrame:
    """Make a table of pandas of a report: rows, columns and their names as in :func:`to_csv`."""
    return data_frame(_lines(report))


def _lines(report: LatencyReport) -> list[dict[str, Any]]:
    document = to_dict(report)
    head = {
        "network": document["network"]["name"],
        "chip": document["chip"]["name"],
        "tick_seconds": document["chip"]["tick_seconds"],
        "neuromap_version": document["neuromap_version"],
    }
    lines = []
    for row in document["rows"]:
        line = dict(head)
        for key, value in row.items():
            if key not in _LEFT_OUT:
                line.update(_flat(key, value))
            elif key == "core_bound" and value is not None:  # population by population it is in the JSON form
                line.update(_flat(key, {name: part for name, part in value.items() if name != "populations"}))
        for name, responses in row["outputs"].items():
            line.update(_flat(f"outputs.{name}", responses))
        lines.append(line)
    return lines


def _flat(key: str, value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return {k: v for name, part in value.items() for k, v in _flat(f"{key}.{name}", part).items()}
    if value is None and key.rpartition(".")[2] in _OBJECTS:
        return {}
    if isinstance(value, list):
        return {key: "; ".join(" -> ".join(v) if isinstance(v, list) else str(v) for v in value)}
    return {key: value}
