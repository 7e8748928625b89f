"""``Trace`` and ``Batch``: what runs of one and of many stimuli record, and the file of a batch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import run_heads
from neuromap.arrays.parts_of_ticks import frames_until, in_parts, ticks_of_frames
from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.files.messages import counted
from neuromap.files.sealed import sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import NodePort
from neuromap.hardware.program.program_bytes import period_to_file, tick_to_file
from neuromap.render.value import Card, form
from neuromap.simulation.trace.recording import Potentials


@dataclass(frozen=True, eq=False)
class FrameCounts(ReadOnly, Card):
    """Spikes of recorded nodes, counted by frame.

    Attributes
    ----------
    nodes : tuple of NodePort
        The recorded nodes.
    n_frames, n_ticks : int
        Frames of the stimulus, including frame 0, and ticks run.
    n_events : int
        Total number of recorded spikes, including copies and neurons without a node.
    spikes : ndarray of int64, shape (number of nodes, n_frames)
        Number of neurons of each node that spiked in each frame.
    strays : ndarray of int64, shape (number of nodes,)
        Number of spikes that belong to no frame; see :meth:`neuromap.simulation.trace.trace.Trace.strays`.
    """

    nodes: tuple[NodePort, ...]
    n_frames: int
    n_ticks: int
    n_events: int
    spikes: NDArray[np.int64]
    strays: NDArray[np.int64]


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
        # tick, node, index: events in the order of a :class:`Trace`, where copies are adjacent
        # shapes: tick, node, index (n,)
        self._n_events += len(tick)
        mine = run_heads(tick, node, index) & (node >= 0)
        tick, node = tick[mine], node[mine]
        frame, is_inside, is_stray = self._clock.frames_of(tick, node)
        np.add.at(self._spikes, (node[is_inside], frame[is_inside]), 1)
        np.add.at(self._strays, node[is_stray], 1)

    def result(self) -> FrameCounts:
        """Return the counts so far."""
        labels = self._labels
        return FrameCounts(labels.nodes, labels.n_frames, labels.n_ticks, self._n_events, self._spikes, self._strays)


def frame_counts(trace: Trace) -> FrameCounts:
    """Count the spikes of a trace by frame."""
    counter = FrameCounter(trace)
    counter.add(trace.tick, trace.node, trace.index)
    return counter.result()


# Trace: recording of a run, with the clock that maps ticks to frames.


def labels_of(program: ChipProgram, nodes: tuple[NodePort, ...], n_frames: int, n_ticks: int) -> dict[str, Any]:
    """Labels of a program's run, for :class:`Trace` and :class:`Batch`."""
    return vars(RunLabels(program.name, program.pattern, program.execution, nodes, program.period, n_frames, n_ticks))


# Labels of a run: the same for one stimulus and for many.
@dataclass(frozen=True, eq=False)
class RunLabels(Card):
    """Labels of a run: its program, recorded nodes and length.

    Attributes
    ----------
    name, pattern, execution : str
        Labels of the program.
    nodes : tuple of NodePort
        The recorded nodes, by default the output nodes.
    period : int or Fraction
        Frame period in ticks; a fraction is a mean.
    n_frames : int
        Number of frames of a stimulus, including frame 0.
    n_ticks : int
        Number of ticks run for it, from tick 0.
    """

    name: str
    pattern: str
    execution: str
    nodes: tuple[NodePort, ...]
    period: Time
    n_frames: int
    n_ticks: int

    @property
    def clock(self) -> FrameClock:
        """Clock that maps spikes of the recorded nodes to frames."""
        return FrameClock.of(self.nodes, self.period, self.n_frames)

    def require_frames(self, name: str) -> int:
        """Find a recorded node and require that all its frames were run: an unsimulated frame is not a silent one.

        Parameters
        ----------
        name : str
            The node.

        Returns
        -------
        int
            Its position in ``nodes``.

        Raises
        ------
        InputError
            If the node was not recorded, or one of its frames from 1 on lies before or after the ticks of the run.
        """
        position = self._position(name)
        port = self.nodes[position]
        late = max(1, ceil((self.n_ticks - port.sample_tick) / Fraction(self.period)))  # the first after the run
        at = {i: port.tick(self.period, i) for i in (1, late) if i < self.n_frames}
        missing = [tick for tick in at.items() if not 0 <= tick[1] < self.n_ticks]
        if missing:
            frame, tick = missing[0]
            raise InputError(
                f"{type(self).__name__.lower()}: frame {frame} of node {name} was not run: it is at tick "
                f"{tick}, and {counted(self.n_ticks, 'tick')} were run from tick "
                "0; simulate again "
                f"with node:{name} recorded, or take single spikes"
            )
        return position

    def _position(self, name: str) -> int:
        """Position of a recorded node in ``nodes``; refuse other names."""
        names = [port.name for port in self.nodes]
        if name not in names:
            what = type(self).__name__.lower()
            raise InputError(f"{what}: node {name} was not recorded; recorded nodes are {', '.join(names) or 'none'}")
        return names.index(name)

    def _facts(self) -> dict[str, object]:
        return {"network": self.name, "pattern": self.pattern, "execution": self.execution}


# The clock that maps the tick of a spike to its frame.
class SpikeFrames(NamedTuple):
    """Frames of n spikes."""

    frame: NDArray[np.int64]  # (n,): the frame at the spike's tick, or the last one before
    is_inside: NDArray[np.bool_]  # (n,): whether the spike belongs to a frame of the stimulus, from 1 on
    # (n,): whether it belongs to no frame: it fell between the ticks of the node's frames, or before frame 1. A spike
    # of a frame after the stimulus's last one is neither stray nor inside
    is_stray: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FrameClock(ReadOnly, Card):
    """Ticks at which nodes show their frames: frame i of a node at ``sample_tick + i * period``, rounded down."""

    # (number of nodes,): exact time of every node's frame 0 in parts of a tick (``arrays/times.py``), which are ticks
    # at equal intervals; may be negative
    start: NDArray[np.int64]
    period: Time  # frame period in ticks
    n_frames: int  # frames of the stimulus, including frame 0

    @classmethod
    def of(cls, nodes: Sequence[NodePort], period: Time, n_frames: int) -> Self:
        """Make the clock of some nodes of a program."""
        return cls(in_parts((port.sample_tick for port in nodes), period), period, n_frames)

    def frames_of(self, tick: NDArray[np.int64], node: NDArray[np.integer] | int) -> SpikeFrames:
        """Map spikes to frames."""
        # shapes: tick (n,); node (n,)
        start = self.start[node]
        frame = frames_until(start, self.period, tick)
        is_stray = (ticks_of_frames(start, self.period, frame) != tick) | (frame < 1)
        return SpikeFrames(frame, ~is_stray & (frame < self.n_frames), is_stray)


# Most memory for the frames of a node.
_MAX_BYTES = 2**32


@dataclass(frozen=True, eq=False)
class Trace(ReadOnly, RunLabels):
    """M recorded spikes of a simulation; also potentials and counts if recorded.

    It also has the labels of its run: ``name``, ``pattern``, ``execution``, ``nodes``, ``period``,
    ``n_frames`` and ``n_ticks``, see :class:`~neuromap.simulation.trace.trace.RunLabels`.

    Attributes
    ----------
    tick : ndarray of int64, shape (M,)
        Tick in which the neuron fired; events are sorted by tick, node, index, core, neuron.
    node : ndarray of int32, shape (M,)
        Position in ``nodes``; -1 for neurons recorded by core that belong to none of them.
    index : ndarray of int32, shape (M,)
        Neuron within the node; -1 if ``node`` is -1.
    core, neuron : ndarray of int32, shape (M,), or None
        Place on the chip; copies of a neuron are separate events. None in traces read from files of version 1.
    counts : ndarray of int64, shape (C, N), or None
        Spikes of every neuron of the program, over all ticks.
    potential_table : Potentials or None
        Potentials of chosen neurons after every tick.
    tick_seconds : float or None
        Length of a tick. None in traces read from files of version 1.
    nodes_are_whole : bool
        Whether the program is known to contain all neurons of the recorded hidden nodes; False in traces read from
        files of version 1 and 2.
    value : ndarray of int32, shape (M,), or None
        Value of each message, never 0, if neurons send values; None for spikes.
    is_timed : bool
        Whether ticks last as long as their work, which a trace does not record: ``tick_seconds`` is then that of the
        chip file.
    """

    _forms = ("neuromap.simulation.trace.trace_file",)

    tick: NDArray[np.int64]
    node: NDArray[np.int32]
    index: NDArray[np.int32]
    core: NDArray[np.int32] | None = None
    neuron: NDArray[np.int32] | None = None
    counts: NDArray[np.int64] | None = None
    potential_table: Potentials | None = None
    tick_seconds: float | None = None
    nodes_are_whole: bool = True
    value: NDArray[np.int32] | None = None
    is_timed: bool = False

    def spikes(self, name: str) -> NDArray[np.int64]:
        """All spikes, or messages, of a recorded node; copies of a neuron count as one.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of int64, shape (n, 2)
            Tick and neuron within the node, in order.

        Raises
        ------
        InputError
            If the node was not recorded.
        """
        return self._events(name)[0]

    def _events(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int32] | None]:
        """Ticks and neurons of a node's events, one per neuron and its copies, and their values."""
        mine = np.flatnonzero(self.node == self._position(name))
        events = np.stack([self.tick[mine], self.index[mine].astype(np.int64)], axis=1)
        first = run_heads(events)
        return events[first], None if self.value is None else self.value[mine[first]]

    def frames(self, name: str) -> NDArray[Any]:
        """Spikes of a recorded node by frame: frame i holds the spikes at tick ``sample_tick + i * period``.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of bool, shape (n_frames, size)
            Aligned with :func:`neuromap.simulation.reference_frames.reference`; row 0 is zero, as no chip computes
            frame 0. int32 if nodes send values: the values, 0 if nothing is sent.

        Raises
        ------
        InputError
            If the node was not recorded, not all of its frames were run, the trace's file does not tell whether the
            program contained the whole node, or its frames take more than 4 GiB.
        """
        position = self.require_frames(name)
        size, dtype = self.nodes[position].size, np.dtype(np.bool_ if self.value is None else np.int32)
        if (n_bytes := self.n_frames * size * dtype.itemsize) > _MAX_BYTES:
            raise InputError(
                f"trace: {self.n_frames} frames of node {name} take {n_bytes >> 30} GiB; at most "
                f"{_MAX_BYTES >> 30} are made at once, take its spikes"
            )
        frames = np.zeros((self.n_frames, size), dtype)
        events, values = self._events(name)
        tick, index = events.T
        frame, is_inside, _ = self.clock.frames_of(tick, position)
        frames[frame[is_inside], index[is_inside]] = True if values is None else values[is_inside]
        return frames

    def require_frames(self, name: str) -> int:
        """Find a recorded node; require that all its frames were run and the program contained all of it.

        Parameters
        ----------
        name : str
            The node.

        Returns
        -------
        int
            Its position in ``nodes``.

        Raises
        ------
        InputError
            If that is not the case, or not known.
        """
        position = super().require_frames(name)
        self._require_whole(self.nodes[position])
        return position

    def _require_whole(self, port: NodePort) -> None:
        if port.kind == "hidden" and not self.nodes_are_whole:
            raise InputError(
                f"trace: comes from a file before version 3, which does not say whether the program held all of node "
                f"{port.name}; simulate again, or take its spikes"
            )

    def strays(self, name: str) -> NDArray[np.int64]:
        """Spikes of a node that belong to no frame; outputs of a correct program have none.

        These are spikes between the ticks of the node's frames, and spikes before frame 1. Spikes of frames
        after the stimulus's last one are not strays: the node still runs while slower outputs finish.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of int64, shape (n, 2)
            Tick and neuron of every stray spike, in order of ticks.

        Raises
        ------
        InputError
            If the node was not recorded.
        """
        spikes = self.spikes(name)
        return spikes[self.clock.frames_of(spikes[:, 0], self._position(name)).is_stray]

    def potentials(self, name: str) -> NDArray[np.int32]:
        """Potentials of a node after every tick.

        Parameters
        ----------
        name : str
            A node whose potentials were recorded.

        Returns
        -------
        ndarray of int32, shape (n_ticks, size)
            Potentials of every neuron's first copy, by core and neuron; 0 for neurons of an output that are not read
            out. ``potential_table`` holds the other copies.

        Raises
        ------
        InputError
            If the node's potentials were not recorded, or the trace's file does not tell whether the program contained
            the whole node.
        """
        table = self.potential_table
        names = [] if table is None else [port.name for port in table.neurons.nodes]
        if table is None or name not in names:
            raise InputError(
                f"trace: potentials of node {name} were not recorded; recorded are {', '.join(names) or 'none'}, "
                f"ask for node:{name}"
            )
        position = names.index(name)
        self._require_whole(table.neurons.nodes[position])
        mine = np.flatnonzero(table.neurons.node == position)
        index, first = np.unique(table.neurons.index[mine], return_index=True)
        potentials = np.zeros((len(table.values), table.neurons.nodes[position].size), dtype=np.int32)
        potentials[:, index] = table.values[:, mine[first]]
        return potentials

    def save(self, path: str | Path) -> None:
        """Write the trace atomically: as HDF5 if the name ends in .h5 or .hdf5, else as safetensors.

        ``docs/simulation.md`` describes both formats.

        Raises
        ------
        InputError
            If the file cannot be written.
        NotSupportedError
            If HDF5 is requested and h5py is not installed, or the trace lacks the places of its spikes on the chip.
        """
        form(self, "file", path)

    def _facts(self) -> dict[str, object]:
        sent = "spikes" if self.value is None else "messages"
        return {
            **super()._facts(),
            "frames": self.n_frames,
            "ticks": self.n_ticks,
            **{f"{sent} of {port.name}": len(self.spikes(port.name)) for port in self.nodes},
        }


def to_file(batch: Batch, path: str | Path) -> None:
    """Write frames or counts of a batch; see :meth:`Batch.save`."""
    tensors: dict[str, NDArray[Any]] = {}
    for port in batch.nodes:
        kept = batch.counts(port.name) if batch.spikes_by_frame is None else batch.frames(port.name)
        if kept.dtype == np.bool_:
            kept = kept.astype(np.uint8)
        tensors[port.name] = np.ascontiguousarray(kept)
    strays = {port.name: batch.strays(port.name).tolist() for port in batch.nodes}
    labels = {**run_labels(batch), "strays": strays}
    metadata = {"format": "neuromap batch", "version": "1", "batch": json.dumps(labels)}
    write_whole(path, sealed_bytes("batch", tensors, metadata))


# Batch: recording of many stimuli through one program.
@dataclass(frozen=True, eq=False)
class Batch(ReadOnly, RunLabels):
    """Recording of S stimuli through one program.

    It also has the labels of its run: ``name``, ``pattern``, ``execution``, ``nodes``, ``period``,
    ``n_frames`` and ``n_ticks``, see :class:`~neuromap.simulation.trace.trace.RunLabels`.

    Attributes
    ----------
    spikes_by_frame : ndarray of bool, shape (S, n_frames, K), or None
        Frames of the recorded nodes side by side, int32 if nodes send values; None if only counts are kept.
    spike_counts : ndarray of int64, shape (S, K)
        Number of frames in which each neuron spiked, or sent a value.
    stray_counts : ndarray of int64, shape (S, number of nodes)
        Number of spikes that belong to no frame.
    """

    _forms = ("neuromap.simulation.trace.trace",)

    spikes_by_frame: NDArray[Any] | None
    spike_counts: NDArray[np.int64]
    stray_counts: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of stimuli."""
        return len(self.spike_counts)

    def frames(self, name: str) -> NDArray[Any]:
        """Spikes of a node by frame, as in :meth:`neuromap.simulation.trace.trace.Trace.frames`.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of bool, shape (S, n_frames, size)
            Read-only; int32 if nodes send values.

        Raises
        ------
        InputError
            If the node was not recorded, not all of its frames were run, or only counts are kept.
        """
        self.require_frames(name)
        columns = self._columns(name)
        if self.spikes_by_frame is None:
            raise InputError(f'batch: frames of {name} were not kept, only counts; simulate with keep="frames"')
        return self.spikes_by_frame[:, :, columns]

    def counts(self, name: str) -> NDArray[np.int64]:
        """Count the spikes, or messages, of every neuron of a node in a stimulus's frames, from frame 1 on.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of int64, shape (S, size)
            Read-only.

        Raises
        ------
        InputError
            If the node was not recorded, or not all of its frames were run.
        """
        self.require_frames(name)
        return self.spike_counts[:, self._columns(name)]

    def strays(self, name: str) -> NDArray[np.int64]:
        """Count the spikes of a node that belong to no frame; outputs of a correct program have none.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of int64, shape (S,)
            Read-only.

        Raises
        ------
        InputError
            If the node was not recorded.
        """
        return self.stray_counts[:, self._position(name)]

    def save(self, path: str | Path) -> None:
        """Write frames or counts as safetensors, atomically.

        Parameters
        ----------
        path : str or Path
            The file. Every node becomes a tensor with its name: uint8 of shape (S, n_frames, size), int32 if nodes
            send values, or int64 of shape (S, size) if only counts were kept. ``docs/simulation.md`` describes the
            rest of the file.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        form(self, "file", path)

    def _columns(self, name: str) -> slice:
        """Columns of a node in the recorded nodes side by side."""
        position = self._position(name)
        start = sum(port.size for port in self.nodes[:position])
        return slice(start, start + self.nodes[position].size)

    def _facts(self) -> dict[str, object]:
        return {
            **super()._facts(),
            "stimuli": len(self),
            "frames of each": self.n_frames,
            "ticks of each": self.n_ticks,
            **{f"spikes of {port.name}": int(self.counts(port.name).sum()) for port in self.nodes},
        }


# Labels of a run in files, as JSON.


def run_labels(run: RunLabels) -> dict[str, Any]:
    """Labels of a run as a JSON object."""
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
    """Labels of a trace as JSON text, the same in every file format."""
    labels = {
        **run_labels(trace),
        "tick_seconds": trace.tick_seconds,
        "nodes_are_whole": trace.nodes_are_whole,
        **({"is_timed": True} if trace.is_timed else {}),
        "potential_nodes": [_port(port, trace.period) for port in potential_nodes],
    }
    return json.dumps(labels)


def _port(port: NodePort, period: Time) -> dict[str, Any]:
    return {**asdict(port), **tick_to_file(port.sample_tick, period)}
