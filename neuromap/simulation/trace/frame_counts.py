"""Spikes per frame: the short account of a run that also fits where its trace is too long for the memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import run_heads
from neuromap.forms.card import Card
from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.trace.run_labels import RunLabels
from neuromap.simulation.trace.trace import Trace

__all__ = ["FrameCounter", "FrameCounts", "frame_counts"]


@dataclass(frozen=True, eq=False)
class FrameCounts(Card):
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


class FrameCounter:
    """Counts the spikes of a run, some ticks at a time."""

    def __init__(self, labels: RunLabels) -> None:
        for port in labels.nodes:
            labels.require_frames(port.name)
        self._labels = labels
        self._clock = labels.clock
        self._n_events = 0
        self._spikes = np.zeros((len(labels.nodes), labels.n_frames), dtype=np.int64)
        self._strays = np.zeros(len(labels.nodes), dtype=np.int64)

    def add(self, tick: NDArray[np.int64], node: NDArray[np.int32], index: NDArray[np.int32]) -> None:
        """Count the spikes of some whole ticks; copies of a neuron count once."""
        # tick, node, index: events in the order of a :class:`Trace`, where copies stand beside each other
        # shapes: tick, node, index (n,)
        self._n_events += len(tick)
        mine = run_heads(tick, node, index) & (node >= 0)
        tick, node = tick[mine], node[mine]
        frame, is_inside, is_stray = self._clock.frames_of(tick, node)
        np.add.at(self._spikes, (node[is_inside], frame[is_inside]), 1)
        np.add.at(self._strays, node[is_stray], 1)

    def result(self) -> FrameCounts:
        """Give what was counted so far."""
        labels = self._labels
        return FrameCounts(labels.nodes, labels.n_frames, labels.n_ticks, self._n_events, self._spikes, self._strays)


def frame_counts(trace: Trace) -> FrameCounts:
    """Count the spikes of a trace."""
    counter = FrameCounter(trace)
    counter.add(trace.tick, trace.node, trace.index)
    return counter.result()
