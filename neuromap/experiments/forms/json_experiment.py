"""An experiment's result as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.experiments.experiment_result import CurvePoints, ExperimentResult
from neuromap.forms.documents import json_text

__all__ = ["to_dict", "to_json"]


def to_dict(result: ExperimentResult) -> dict[str, Any]:
    """Give an experiment's result as plain values; accuracies are fractions of test images, by frame."""
    return {
        "format": "neuromap experiment 1",
        "name": result.name,
        "title": result.title,
        "source": result.source,
        "data": result.data,
        "mean_deviation": result.mean_deviation(),
        "curves": [_curve(curve) for curve in result.curves],
    }


def to_json(result: ExperimentResult) -> str:
    """Write an experiment's result as a JSON document."""
    return json_text(to_dict(result))


def _curve(curve: CurvePoints) -> dict[str, Any]:
    return {
        "name": curve.name,
        "pattern": curve.pattern,
        "streaming": list(curve.streaming),
        "repetitions": curve.repetitions,
        "epochs": curve.epochs,
        "images": curve.images,
        "windowed_steps": list(curve.times.windowed),
        "deep_window_steps": list(curve.times.deep_window),
        "accuracy": list(curve.accuracy),
        "standard_error": None if curve.standard_error is None else list(curve.standard_error),
        "published": None if curve.published is None else asdict(curve.published),
    }
