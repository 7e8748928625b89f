"""Explorations as small JSON documents: figures and rows in columns, as they are committed under ``results``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuromap.explorer.answer.advice import streaming_edges
from neuromap.explorer.answer.exploration import Exploration
from neuromap.explorer.answer.limits import ExploredRow
from neuromap.files.whole_file import write_whole

__all__ = ["RESULTS", "document", "load", "mapped_rows", "save"]

RESULTS = Path(__file__).parent / "results"
COLUMNS = (
    "pattern", "execution", "class", "patterns", "status", "period_ticks", "first_ticks", "full_ticks",
    "reaction_ticks", "cores", "core_bound", "energy_joules", "verified", "on_front", "on_class_front",
)  # fmt: skip
_MOST_OTHERS = 100


def document(found: Exploration) -> dict[str, Any]:
    """Make the document of an exploration.

    Parameters
    ----------
    found : Exploration
        The exploration; of the rows that were not mapped, the first hundred are kept.

    Returns
    -------
    dict
        Plain values. Times are in ticks; ``given`` names the pattern whose class needs no retraining.
    """
    others = [row for row in found.rows if row.status not in ("mapped", "does not fit")]
    kept = [row for row in found.rows if row.status in ("mapped", "does not fit")] + others[:_MOST_OTHERS]
    gap = found.gap
    return {
        "network": found.network.name,
        "chip": found.chips[0].name,
        "tick_seconds": found.chips[0].tick_seconds,
        "given": found.given.name,
        "valid_patterns": found.n_valid_patterns,
        "behaviour_classes": found.n_classes,
        "candidates": found.n_candidates,
        "distinct_rows": found.n_rows,
        "mapped": found.n_mapped,
        "stimuli": found.stimulus["n_stimuli"],
        "energy_tolerance": found.energy_tolerance,
        "gap": {
            "is_exact": gap.is_exact,
            "open_rows": gap.open_rows,
            "cores_factor": None if gap.cores_factor == float("inf") else round(gap.cores_factor, 6),
            "least_cores": gap.least_cores,
            "core_bound": gap.core_bound,
            "statement": gap.statement,
        },
        "columns": list(COLUMNS),
        "rows": [_row(found, row) for row in kept],
    }


def _row(found: Exploration, row: ExploredRow) -> list[Any]:
    streams = set(streaming_edges(found, row.candidate.values))
    bits = "".join("1" if edge in streams else "0" for edge in found.network.edges)
    name = row.pattern if "->" not in row.pattern else bits
    energy = None if row.energy_joules is None else float(f"{row.energy_joules:.9g}")
    return [
        name, row.candidate.execution, row.behaviour_class, row.n_patterns, row.status, row.frame_period_ticks,
        row.first_response_ticks, row.full_response_ticks, row.worst_case_reaction_ticks, row.cores, row.core_bound,
        energy, row.verified, row.on_front, row.on_class_front,
    ]  # fmt: skip


def mapped_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the mapped rows of a document, each as a mapping of column to value."""
    rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
    return [row for row in rows if row["status"] == "mapped"]


def save(name: str, found: Mapping[str, Any]) -> None:
    """Write a document, a line per row: equal documents are equal bytes."""
    lines = []
    for key, value in found.items():
        if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
            inner = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in value)
            lines.append(f" {json.dumps(key)}: [\n  {inner}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    RESULTS.mkdir(exist_ok=True)
    write_whole(RESULTS / f"{name}.json", ("{\n" + ",\n".join(lines) + "\n}\n").encode())


def load(name: str) -> dict[str, Any]:
    """Read a document."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found
