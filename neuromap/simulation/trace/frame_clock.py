"""The clock that tells the frame of a spike by its tick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.parts_of_ticks import frames_until, in_parts, ticks_of_frames
from neuromap.arrays.times import Time
from neuromap.forms.card import Card
from neuromap.hardware.program.ports import NodePort

__all__ = ["FrameClock", "SpikeFrames"]


class SpikeFrames(NamedTuple):
    """Frames of n spikes."""

    frame: NDArray[np.int64]  # (n,): the frame whose tick it is, or the last one before it
    is_inside: NDArray[np.bool_]  # (n,): whether the spike is part of a frame from 1 on that the stimulus has
    # (n,): whether it belongs to no frame: it fell between the ticks of the node's frames, or before frame 1. A spike
    # of a frame after the last one of the stimulus is neither stray nor inside
    is_stray: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FrameClock(Card):
    """Ticks at which nodes show their frames: frame i of a node at ``sample_tick + i * period``, rounded down."""

    # (number of nodes,): exact time of every node's frame 0 in parts of a tick (``arrays/times.py``), which are ticks
    # at equal intervals; may be negative
    start: NDArray[np.int64]
    period: Time  # frame period in ticks
    n_frames: int  # frames of the stimulus, including frame 0

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, nodes: Sequence[NodePort], period: Time, n_frames: int) -> Self:
        """Make the clock of some nodes of a program."""
        return cls(in_parts((port.sample_tick for port in nodes), period), period, n_frames)

    def frames_of(self, tick: NDArray[np.int64], node: NDArray[np.integer] | int) -> SpikeFrames:
        """Tell the frames of spikes."""
        # shapes: tick (n,); node (n,)
        start = self.start[node]
        frame = frames_until(start, self.period, tick)
        is_stray = (ticks_of_frames(start, self.period, frame) != tick) | (frame < 1)
        return SpikeFrames(frame, ~is_stray & (frame < self.n_frames), is_stray)
