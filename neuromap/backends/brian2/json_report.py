"""What a run of Brian2 took on the chip, as a JSON document."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from neuromap.backends.brian2.chip_report import ChipReport
from neuromap.forms.documents import json_text


def to_dict(found: ChipReport) -> dict[str, Any]:
    """Give a report as plain values: times in seconds and ticks, energy in joules."""
    plain = {field.name: getattr(found, field.name) for field in fields(found)}
    plain |= {
        "energy_absent": list(found.energy_absent),
        "latencies": [asdict(latency) for latency in found.latencies],
        "quantisation": found.quantisation.to_dict(),
    }
    return {"format": "neuromap brian2 report 1", **plain}


def to_json(found: ChipReport) -> str:
    """Write a report as a JSON document."""
    return json_text(to_dict(found))
