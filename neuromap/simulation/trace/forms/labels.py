"""What files say of a run beside its arrays, as JSON has it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from neuromap.simulation.trace.run_labels import RunLabels
from neuromap.simulation.trace.trace import Trace

__all__ = ["run_labels", "trace_labels"]


def run_labels(run: RunLabels) -> dict[str, Any]:
    """Give the labels of a run."""
    return {
        "name": run.name,
        "pattern": run.pattern,
        "execution": run.execution,
        "nodes": [asdict(port) for port in run.nodes],
        "period": run.period,
        "n_frames": run.n_frames,
        "n_ticks": run.n_ticks,
    }


def trace_labels(trace: Trace) -> dict[str, Any]:
    """Give what a trace says beside its arrays: the same in every form of file."""
    table = trace.potential_table
    return {
        **run_labels(trace),
        "tick_seconds": trace.tick_seconds,
        "potential_nodes": [] if table is None else [asdict(port) for port in table.neurons.nodes],
    }
