"""A trace as exports need it: one that knows times and places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.parts_of_ticks import ticks_of_frames
from neuromap.errors import NotSupportedError
from neuromap.exchange.imported import Note
from neuromap.files.given import needs
from neuromap.files.messages import counted
from neuromap.simulation.trace.load_trace import load_trace
from neuromap.simulation.trace.trace import Trace

__all__ = ["figures_of", "frame_ticks", "milliseconds", "note_of_loose_spikes", "times_of", "trace_given"]


def trace_given(where: str, trace: Trace | Path) -> Trace:
    """Take a trace that knows the length of a tick and where its spikes are on the chip."""
    found = load_trace(trace) if isinstance(trace, Path) else trace
    needs(where, found, Trace)
    if found.tick_seconds is None or found.core is None or found.neuron is None:
        raise NotSupportedError(
            f"{where}: the trace comes from a file of version 1, which says neither the length of a tick nor the "
            "places of its spikes; simulate again"
        )
    return found


def frame_ticks(trace: Trace, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the frames of a recorded node that lie in the ticks of the run, from 1 on, and their ticks."""
    frame = np.arange(1, trace.n_frames, dtype=np.int64)
    tick = ticks_of_frames(trace.clock.start[node], trace.period, frame)
    inside = (tick >= 0) & (tick < trace.n_ticks)
    return frame[inside], tick[inside]


def milliseconds(trace: Trace) -> float:
    """Length of a tick."""
    return 1000 * (trace.tick_seconds or 0)


def times_of(trace: Trace, tick: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the begins of ticks in milliseconds."""
    times: NDArray[np.float64] = tick * np.float64(milliseconds(trace))
    return times


def note_of_loose_spikes(trace: Trace) -> tuple[Note, ...]:
    """Say how many spikes belong to no recorded node, where there are any."""
    loose = int((trace.node < 0).sum())
    if not loose:
        return ()
    text = f"{counted(loose, 'spike')} that were recorded by their core have no place here"
    return (Note("neurons without a node", text, "record nodes (--record node:NAME), or keep the trace's own file"),)


def figures_of(trace: Trace) -> dict[str, int | str]:
    """Give what every export of a trace says in numbers."""
    return {
        "nodes": len(trace.nodes),
        "frames": trace.n_frames,
        "ticks": trace.n_ticks,
        "length of a tick (s)": f"{trace.tick_seconds:g}",
    }
