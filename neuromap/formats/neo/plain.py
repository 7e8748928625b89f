"""What a block of Neo is made of, as plain values; times are in milliseconds from tick 0 on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["FrameTimes", "Recorded", "SpikeTimes", "Values"]


class SpikeTimes(NamedTuple):
    """Spike trains of a group of neurons, K of them.

    Attributes
    ----------
    name : str
        Of the group.
    trains : sequence of str
        Name of every train, K of them.
    annotations : sequence of mapping
        Of every train, K of them.
    times : sequence of ndarray of float64, shape (n,)
        Of every train, ascending.
    """

    name: str
    trains: Sequence[str]
    annotations: Sequence[Mapping[str, str | int]]
    times: Sequence[NDArray[np.float64]]


class FrameTimes(NamedTuple):
    """Frames of a node.

    Attributes
    ----------
    name : str
        Of the epoch.
    frame : ndarray of int64, shape (n,)
        Frames, ascending.
    times : ndarray of float64, shape (n,)
        When the node shows them.
    """

    name: str
    frame: NDArray[np.int64]
    times: NDArray[np.float64]


class Values(NamedTuple):
    """Potentials after every tick.

    Attributes
    ----------
    name : str
        Of the signal.
    channels : sequence of str
        Names of the K columns.
    values : ndarray of int32, shape (T, K)
        One row a tick.
    """

    name: str
    channels: Sequence[str]
    values: NDArray[np.int32]


class Recorded(NamedTuple):
    """A run as Neo has it: one block of one segment.

    Attributes
    ----------
    name : str
        Of the network.
    tick : float
        Length of a tick.
    stop : float
        End of the last tick.
    groups : sequence of SpikeTimes
        Spikes, by node.
    frames : sequence of FrameTimes
        Frames, by node.
    signals : sequence of Values
        Potentials, where they were recorded.
    annotations : mapping
        Of the block.
    """

    name: str
    tick: float
    stop: float
    groups: Sequence[SpikeTimes]
    frames: Sequence[FrameTimes]
    signals: Sequence[Values]
    annotations: Mapping[str, str | int | float]
