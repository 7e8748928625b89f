"""Trace: what was recorded of a run, with the clock that tells the frames."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import run_heads
from neuromap.errors import InputError
from neuromap.forms.formed import form
from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.trace.readout import Potentials
from neuromap.simulation.trace.run_labels import RunLabels

__all__ = ["Trace"]

_MAX_BYTES = 2**32
"""Memory that the frames of a node may take."""


@dataclass(frozen=True, eq=False)
class Trace(RunLabels):
    """Recorded spikes of a simulation, M of them; potentials and counts where they were asked for.

    Beside what follows it has the labels of its run: ``name``, ``pattern``, ``execution``, ``nodes``, ``period``,
    ``n_frames`` and ``n_ticks``, see :class:`~neuromap.simulation.trace.run_labels.RunLabels`.

    Attributes
    ----------
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
    nodes_are_whole : bool
        Whether it is known that the program held all neurons of the recorded hidden nodes; False in traces read from
        files of version 1 and 2.
    """

    tick: NDArray[np.int64]
    node: NDArray[np.int32]
    index: NDArray[np.int32]
    core: NDArray[np.int32] | None = None
    neuron: NDArray[np.int32] | None = None
    counts: NDArray[np.int64] | None = None
    potential_table: Potentials | None = None
    tick_seconds: float | None = None
    nodes_are_whole: bool = True

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
        mine = self.node == self._position(name)
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
            If the node was not recorded, not all of its frames were run, the file that the trace was read from does
            not say whether the program held all of it, or its frames take more than 4 GiB.
        """
        position = self.require_frames(name)
        size = self.nodes[position].size
        if self.n_frames * size > _MAX_BYTES:
            raise InputError(
                f"trace: {self.n_frames} frames of node {name} take {self.n_frames * size >> 30} GiB; at most "
                f"{_MAX_BYTES >> 30} are made at once, take its spikes"
            )
        frames = np.zeros((self.n_frames, size), dtype=np.bool_)
        tick, index = self.spikes(name).T
        frame, is_inside, _ = self.clock.frames_of(tick, position)
        frames[frame[is_inside], index[is_inside]] = True
        return frames

    def require_frames(self, name: str) -> int:
        """Find a recorded node all of whose frames were run, of a program that held all of it.

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
            Where that is not so, or not known.
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
        spikes = self.spikes(name)
        strays: NDArray[np.int64] = spikes[self.clock.frames_of(spikes[:, 0], self._position(name)).is_stray]
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
            Of every neuron's first copy, by core and neuron; 0 for neurons of an output that no row reads out.
            ``potential_table`` holds the other copies.

        Raises
        ------
        InputError
            If the node's potentials were not recorded, or the file that the trace was read from does not say whether
            the program held all of it.
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
        form(self, "file", path)

    def _facts(self) -> dict[str, object]:
        return {
            **super()._facts(),
            "frames": self.n_frames,
            "ticks": self.n_ticks,
            **{f"spikes of {port.name}": len(self.spikes(port.name)) for port in self.nodes},
        }
