"""A training result as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.forms.documents import json_text
from neuromap.training.training_result import PatternAccuracy, TrainingResult


def to_dict(result: TrainingResult) -> dict[str, Any]:
    """Give a training result as plain values."""
    return {
        "format": "neuromap training result 1",
        "network": result.network,
        "pattern": result.pattern,
        "data": result.data,
        "output": result.output,
        "parameters": result.parameters,
        "options": asdict(result.options),
        "part": result.part,
        "images": result.n_images,
        "frames": _frames(result.by_pattern[0]),
        "other_patterns": [{"pattern": found.pattern, "frames": _frames(found)} for found in result.others],
        "history": [asdict(epoch) for epoch in result.history],
    }


def _frames(found: PatternAccuracy) -> list[dict[str, Any]]:
    times = zip(found.times.windowed, found.times.deep_window, found.accuracy, strict=True)
    return [
        {"windowed_step": windowed, "deep_window_step": deep, "accuracy": accuracy}
        for windowed, deep, accuracy in times
    ]


def to_json(result: TrainingResult) -> str:
    """Write a training result as a JSON document."""
    return json_text(to_dict(result))
