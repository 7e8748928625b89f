"""A training result as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.forms.documents import json_text
from neuromap.training.training_result import TrainingResult

__all__ = ["to_dict", "to_json"]


def to_dict(result: TrainingResult) -> dict[str, Any]:
    """Give a training result as plain values.

    Parameters
    ----------
    result : TrainingResult
        The result.

    Returns
    -------
    dict
        ``frames`` has one entry for every frame of the output, from its first response on.
    """
    times = zip(result.times.windowed, result.times.deep_window, result.accuracy, strict=True)
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
        "frames": [
            {"windowed_step": windowed, "deep_window_step": deep, "accuracy": accuracy}
            for windowed, deep, accuracy in times
        ],
        "history": [asdict(epoch) for epoch in result.history],
    }


def to_json(result: TrainingResult) -> str:
    """Write a training result as a JSON document."""
    return json_text(to_dict(result))
