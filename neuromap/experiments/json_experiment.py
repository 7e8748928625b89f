"""An experiment's result as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.experiments.experiment_result import CurvePoints, ExperimentResult, first_answers, is_over_networks
from neuromap.forms.documents import json_text


def to_dict(result: ExperimentResult) -> dict[str, Any]:
    """Give an experiment's result as plain values; accuracies are fractions of test images, by frame."""
    # Where several networks were run under both patterns, they are compared at the first sequential response of each.
    answers = first_answers(result)
    compared = {"first_sequential_response": [asdict(a) for a in answers]} if is_over_networks(answers) else {}
    return {
        "format": "neuromap experiment 1",
        "name": result.name,
        "title": result.title,
        "source": result.source,
        "data": result.data,
        "mean_deviation": result.mean_deviation(),
        "curves": [_curve(curve) for curve in result.curves],
        **compared,
    }


def to_json(result: ExperimentResult) -> str:
    """Write an experiment's result as a JSON document."""
    return json_text(to_dict(result))


def _curve(curve: CurvePoints) -> dict[str, Any]:
    return {
        "name": curve.name,
        "network": curve.network,
        "start": curve.start,
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
