"""A study of faults as a JSON document; ``faults.schema.json`` beside this file is its schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.faults.confidence import LEVEL
from neuromap.faults.fault_study import FaultPoint, FaultRun, FaultStudy
from neuromap.forms.documents import json_text
from neuromap.forms.schemas import load_schema

FORMAT = "neuromap-faults-1"


def schema() -> dict[str, Any]:
    """Load the JSON Schema (draft 2020-12) of the document."""
    return load_schema("faults")


def to_dict(study: FaultStudy) -> dict[str, Any]:
    """Give a study as plain values; rates, errors and accuracies are parts of one, times in ticks."""
    return {
        "format": FORMAT,
        "neuromap": study.version,
        "network": study.network,
        "chip": study.chip,
        "stimuli": study.stimuli,
        "kinds": list(study.kinds),
        "rates": list(study.rates),
        "seeds": study.seeds,
        "images": study.images,
        "confidence": LEVEL,
        "curves": [{"name": name, "cores": n} for name, n in zip(study.curves, study.cores, strict=True)],
        "points": [_point(point) for point in study.points],
        "runs": [_run(run) for run in study.runs],
    }


def to_json(study: FaultStudy) -> str:
    """Write a study as JSON text."""
    return json_text(to_dict(study))


def _point(point: FaultPoint) -> dict[str, Any]:
    return asdict(point)


def _run(run: FaultRun) -> dict[str, Any]:
    return {**asdict(run), "error": run.error, "accuracy": run.accuracy}
