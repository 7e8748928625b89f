"""Trace: what was recorded of a run, with the clock that tells the frames."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import run_heads
from neuromap.errors import InputError
from neuromap.hardware.program.program import NodePort
from neuromap.simulation.trace.recording import Potentials

__all__ = ["Trace", "trace_labels"]

_MAX_BYTES = 2**32
"""Memory that the frames of a node may take."""


@dataclass(frozen=True, eq=False)
class Trace:
    """Recorded spikes of a simulation, M of them; potentials and counts where they were asked for.

    Attributes
    ----------
    name, pattern, execution : str
        Labels of the program.
    nodes : tuple of NodePort
        The recorded nodes, by default the output nodes.
    period : int
        Frame period in ticks.
    n_frames : int
        Frames of the stimulus, including frame 0.
    n_ticks : int
        Ticks that were run, from tick 0.
    tick : ndarray of int64, shape (M,)
        When the neuron fired; events are sorted by tick, node, index, core, neuron.
    node : ndarray of int32, shape (M,)
        Position in ``nodes``; -1 for neurons that were recorded by their core and belong to none of them.
    index : ndarray of int32, shape (M,)
        Neuron within the node; -1 where ``node`` is.
    core, neuron : ndarray of int32, shape (M,), or None
        Where on the chip; copies of a neuron are events of their own. None in traces read from files of version 1.
    counts : ndarray of int64, shape (C, N), or None
        Spikes of every neuron of the program, over all ticks.
    potential_table : Potentials or None
        Potentials of chosen neurons after every tick.
    tick_seconds : float or None
        Length of a tick. None in traces read from files of version 1.
    """

    name: str
    pattern: str
    execution: str
    nodes: tuple[NodePort, ...]
    period: int
    n_frames: int
    n_ticks: int
    tick: NDArray[np.int64]
    node: NDArray[np.int32]
    index: NDArray[np.int32]
    core: NDArray[np.int32] | None = None
    neuron: NDArray[np.int32] | None = None
    counts: NDArray[np.int64] | None = None
    potential_table: Potentials | None = None
    tick_seconds: float | None = None

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def spikes(self, name: str) -> NDArray[np.int64]:
        """All spikes of a recorded node; copies of a neuron spike as one.

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
        mine = self.node == self.nodes.index(self._port(name))
        events = np.stack([self.tick[mine], self.index[mine].astype(np.int64)], axis=1)
        return events[run_heads(events)]

    def frames(self, name: str) -> NDArray[np.bool_]:
        """Spikes of a recorded node by frame: frame i is what fires at tick ``sample_tick + i * period``.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of bool, shape (n_frames, size)
            Aligned with :func:`neuromap.simulation.reference_frames.reference`; row 0 is zero, as no chip computes
            frame 0.

        Raises
        ------
        InputError
            If the node was not recorded, or its frames take more than 4 GiB.
        """
        size = self._port(name).size
        if self.n_frames * size > _MAX_BYTES:
            raise InputError(
                f"trace: {self.n_frames} frames of node {name} take {self.n_frames * size >> 30} GiB; at most "
                f"{_MAX_BYTES >> 30} are made at once, take its spikes"
            )
        frames = np.zeros((self.n_frames, size), dtype=np.bool_)
        frame, between, index = self._clocked(name)
        mine = (between == 0) & (frame >= 1) & (frame < self.n_frames)
        frames[frame[mine], index[mine]] = True
        return frames

    def strays(self, name: str) -> NDArray[np.int64]:
        """Spikes of a node that belong to no frame; outputs of a correct program have none.

        These are spikes between the ticks of the node's frames, and spikes before frame 1. Spikes of frames
        after the last one of the stimulus are none: the node still runs while slower outputs finish.

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
        frame, between, _ = self._clocked(name)
        strays: NDArray[np.int64] = self.spikes(name)[(between != 0) | (frame < 1)]
        return strays

    def potentials(self, name: str) -> NDArray[np.int32]:
        """Potentials of a node after every tick.

        Parameters
        ----------
        name : str
            A node whose potentials were recorded.

        Returns
        -------
        ndarray of int32, shape (n_ticks, size)
            Of every neuron's first copy, by core and neuron; 0 for neurons that the program does not hold, because
            nothing reaches them or nothing reads them. ``potential_table`` holds the other copies.

        Raises
        ------
        InputError
            If the node's potentials were not recorded.
        """
        table = self.potential_table
        names = [] if table is None else [port.name for port in table.neurons.nodes]
        if table is None or name not in names:
            raise InputError(
                f"trace: potentials of node {name} were not recorded; recorded are {', '.join(names) or 'none'}, "
                f"ask for node:{name}"
            )
        position = names.index(name)
        mine = np.flatnonzero(table.neurons.node == position)
        index, first = np.unique(table.neurons.index[mine], return_index=True)
        potentials = np.zeros((len(table.values), table.neurons.nodes[position].size), dtype=np.int32)
        potentials[:, index] = table.values[:, mine[first]]
        return potentials

    def save(self, path: str | Path) -> None:
        """Write the trace whole or not at all: as HDF5 where the name ends in .h5 or .hdf5, else as safetensors.

        ``docs/simulation.md`` describes both files.

        Raises
        ------
        InputError
            If the file cannot be written.
        NotSupportedError
            If HDF5 is asked for and h5py is not installed, or the trace does not know where its spikes are on the
            chip.
        """
        from neuromap.simulation.trace.trace_file import save_trace

        save_trace(self, path)

    def _port(self, name: str) -> NodePort:
        for port in self.nodes:
            if port.name == name:
                return port
        recorded = ", ".join(port.name for port in self.nodes)
        raise InputError(f"trace: node {name} was not recorded; recorded nodes are {recorded or 'none'}")

    def _clocked(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Frame, ticks past the tick of that frame, and neuron, of all spikes of a node."""
        tick, index = self.spikes(name).T
        frame, between = np.divmod(tick - self._port(name).sample_tick, self.period)
        return frame, between, index


def trace_labels(trace: Trace) -> dict[str, Any]:
    """Give what a trace says beside its arrays, as JSON has it: the same in every form of file."""
    table = trace.potential_table
    return {
        "name": trace.name,
        "pattern": trace.pattern,
        "execution": trace.execution,
        "nodes": [asdict(port) for port in trace.nodes],
        "period": trace.period,
        "n_frames": trace.n_frames,
        "n_ticks": trace.n_ticks,
        "tick_seconds": trace.tick_seconds,
        "potential_nodes": [] if table is None else [asdict(port) for port in table.neurons.nodes],
    }
