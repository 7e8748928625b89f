"""What files say of a run beside its arrays, as JSON has it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from neuromap.arrays.times import Time
from neuromap.hardware.program.file_format import period_to_file, tick_to_file
from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.trace.run_labels import RunLabels
from neuromap.simulation.trace.trace import Trace

__all__ = ["run_labels", "trace_text"]


def run_labels(run: RunLabels) -> dict[str, Any]:
    """Give the labels of a run."""
    return {
        "name": run.name,
        "pattern": run.pattern,
        "execution": run.execution,
        "nodes": [_port(port, run.period) for port in run.nodes],
        **period_to_file(run.period),
        "n_frames": run.n_frames,
        "n_ticks": run.n_ticks,
    }


def trace_text(trace: Trace, potential_nodes: Sequence[NodePort]) -> str:
    """Write what a trace says beside its arrays as JSON: the same in every form of file."""
    labels = {
        **run_labels(trace),
        "tick_seconds": trace.tick_seconds,
        "nodes_are_whole": trace.nodes_are_whole,
        "potential_nodes": [_port(port, trace.period) for port in potential_nodes],
    }
    return json.dumps(labels)


def _port(port: NodePort, period: Time) -> dict[str, Any]:
    return {**asdict(port), **tick_to_file(port.sample_tick, period)}
