"""Blocks of Neo, and the file that its own ``NeoMatlabIO`` writes of one.

Of the files that Neo writes this one needs nothing more than SciPy, keeps trains, groups, epochs, signals and their
annotations, and takes a third of a millisecond and 1 kB for a train; NIX takes tens of milliseconds and 20 kB (nixio
1.5.4).
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.registry import require_package

if TYPE_CHECKING:
    import neo


def neo_block(recorded: Recorded) -> neo.Block:
    """Make a block.

    Parameters
    ----------
    recorded : Recorded

    Returns
    -------
    neo.Block
        One segment with a spike train of every neuron, an epoch of every node's frames, and signals; a group of trains
        for every node.

    Raises
    ------
    NotSupportedError
        If ``neo`` is not installed.
    """
    neo = _import_neo()
    block = neo.Block(name=recorded.name, **recorded.annotations)
    segment = neo.Segment(name=recorded.name, index=0)
    block.segments.append(segment)
    every: list[Any] = []
    for group in recorded.groups:
        trains = [
            neo.SpikeTrain(times, units="ms", t_start=0.0, t_stop=recorded.stop, name=name, **annotations)
            for name, annotations, times in zip(group.trains, group.annotations, group.times, strict=True)
        ]
        block.groups.append(neo.Group(objects=trains, name=group.name))
        every += trains
    segment.spiketrains.extend(every)
    for frames in recorded.frames:
        labels = np.array([f"frame {i}" for i in frames.frame], dtype="U")
        lengths = np.full(len(labels), recorded.tick)
        segment.epochs.append(
            neo.Epoch(times=frames.times, durations=lengths, labels=labels, units="ms", name=frames.name)
        )
    for signal in recorded.signals:
        segment.analogsignals.append(
            neo.AnalogSignal(
                signal.values.astype(np.float64),
                units="dimensionless",
                sampling_period=_milliseconds(recorded.tick),
                name=signal.name,
                channels=list(signal.channels),
            )
        )
    block.check_relationships()
    return block


def mat_bytes(block: neo.Block) -> bytes:
    """Give the content of the file that ``NeoMatlabIO`` writes of a block."""
    from neo.io import NeoMatlabIO

    buffer = io.BytesIO()
    NeoMatlabIO(filename=buffer).write_block(block)
    return buffer.getvalue()


def _import_neo() -> Any:
    require_package("Neo", "neo", "neo")
    import neo

    return neo


def _milliseconds(number: float) -> Any:
    import quantities

    return quantities.Quantity(number, "ms")


# What a block of Neo is made of, as plain values; times are in milliseconds from tick 0 on.


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
