"""An accuracy as a JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.accuracy.accuracy import Accuracy
from neuromap.forms.documents import json_text


def to_dict(found: Accuracy) -> dict[str, Any]:
    """Give an accuracy as plain values; times are since the onset of the stimulus, costs per frame."""
    # gives ``None`` for what is not known
    return {
        "format": "neuromap accuracy 1",
        "network": found.network,
        "pattern": found.pattern,
        "execution": found.execution,
        "chip": found.chip,
        "data": found.data,
        "part": found.part,
        "output": found.output,
        "images": found.n_images,
        "classes": found.classes,
        "seed": found.seed,
        "cores": found.cores,
        "first_response_ticks": found.first_response,
        "sampling_frequency_hz": found.sampling_frequency,
        "synaptic_events_per_frame": found.synaptic_events,
        "spikes_per_frame": found.spikes,
        "energy_per_frame_joules": found.joules,
        "images_of_costs": found.n_costed,
        "frames": [asdict(frame) for frame in found.frames],
    }


def to_json(found: Accuracy) -> str:
    """Write an accuracy as a JSON document."""
    return json_text(to_dict(found))
