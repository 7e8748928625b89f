"""Spikes per frame: the short account of a run that also fits where its trace is too long for the memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import run_heads
from neuromap.hardware.program.program import NodePort
from neuromap.simulation.trace.recording import Chunk, Readout
from neuromap.simulation.trace.trace import Trace

__all__ = ["FrameCounts", "counted", "frame_counts"]


@dataclass(frozen=True, eq=False)
class FrameCounts:
    """Spikes of recorded nodes, counted by frame.

    Attributes
    ----------
    nodes : tuple of NodePort
        The recorded nodes.
    n_frames, n_ticks : int
        Frames of the stimulus, including frame 0, and ticks that were run.
    n_events : int
        Recorded spikes in all, copies and neurons without a node included.
    spikes : ndarray of int64, shape (number of nodes, n_frames)
        Neurons of each node that spiked in each frame.
    strays : ndarray of int64, shape (number of nodes,)
        Spikes that belong to no frame; see :meth:`neuromap.simulation.trace.trace.Trace.strays`.
    """

    nodes: tuple[NodePort, ...]
    n_frames: int
    n_ticks: int
    n_events: int
    spikes: NDArray[np.int64]
    strays: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def frame_counts(trace: Trace) -> FrameCounts:
    """Count the spikes of a trace.

    Parameters
    ----------
    trace : Trace
        The trace.

    Returns
    -------
    FrameCounts
        Of its nodes.
    """
    spikes, strays = _zeros(trace)
    _add(spikes, strays, trace, trace.tick, trace.node, trace.index)
    return FrameCounts(trace.nodes, trace.n_frames, trace.n_ticks, len(trace.tick), spikes, strays)


def counted(header: Trace, neurons: Readout, chunks: Iterable[Chunk], found: list[FrameCounts]) -> Iterator[Chunk]:
    """Hand chunks on and count their spikes on the way.

    Parameters
    ----------
    header : Trace
        The trace without its spikes.
    neurons : Readout
        Whose spikes the chunks hold.
    chunks : iterable of Chunk
        Taken one by one.
    found : list
        Gets the counts when the last chunk was taken.

    Yields
    ------
    Chunk
        As it came.
    """
    spikes, strays = _zeros(header)
    n_events = 0
    for chunk in chunks:
        _add(spikes, strays, header, chunk.tick, neurons.node[chunk.row], neurons.index[chunk.row])
        n_events += len(chunk.tick)
        yield chunk
    found.append(FrameCounts(header.nodes, header.n_frames, header.n_ticks, n_events, spikes, strays))


def _zeros(header: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n_nodes = len(header.nodes)
    return np.zeros((n_nodes, header.n_frames), dtype=np.int64), np.zeros(n_nodes, dtype=np.int64)


def _add(
    spikes: NDArray[np.int64],
    strays: NDArray[np.int64],
    header: Trace,
    tick: NDArray[np.int64],
    node: NDArray[np.int32],
    index: NDArray[np.int32],
) -> None:
    """Add sorted events; copies of a neuron, which stand beside each other, count once."""
    mine = run_heads(tick, node, index) & (node >= 0)
    tick, node = tick[mine], node[mine]
    sample_tick = np.array([port.sample_tick for port in header.nodes], dtype=np.int64)
    frame, between = np.divmod(tick - sample_tick[node], header.period)
    inside = (between == 0) & (frame >= 1) & (frame < header.n_frames)
    np.add.at(spikes, (node[inside], frame[inside]), 1)
    np.add.at(strays, node[(between != 0) | (frame < 1)], 1)
