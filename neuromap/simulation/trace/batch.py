"""Batch: what was recorded of many stimuli through one program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import InputError
from neuromap.forms.formed import form
from neuromap.simulation.trace.run_labels import RunLabels

__all__ = ["Batch"]


@dataclass(frozen=True, eq=False)
class Batch(RunLabels):
    """What was recorded of S stimuli through one program.

    Beside what follows it has the labels of its run: ``name``, ``pattern``, ``execution``, ``nodes``, ``period``,
    ``n_frames`` and ``n_ticks``, see :class:`~neuromap.simulation.trace.run_labels.RunLabels`.

    Attributes
    ----------
    spikes_by_frame : ndarray of bool, shape (S, n_frames, K), or None
        The recorded nodes' frames side by side; None where only counts are kept.
    spike_counts : ndarray of int64, shape (S, K)
        Frames in which each neuron spiked.
    stray_counts : ndarray of int64, shape (S, number of nodes)
        Spikes that belong to no frame.
    """

    spikes_by_frame: NDArray[np.bool_] | None
    spike_counts: NDArray[np.int64]
    stray_counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        """Stimuli."""
        return len(self.spike_counts)

    def frames(self, name: str) -> NDArray[np.bool_]:
        """Spikes of a node by frame, as :meth:`neuromap.simulation.trace.trace.Trace.frames` gives them.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of bool, shape (S, n_frames, size)
            Read-only.

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
        """Spikes of every neuron of a node in all frames of a stimulus, from frame 1 on.

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
        """Write frames or counts as safetensors, whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file. Every node gives a tensor of its name, uint8 of shape (S, n_frames, size), or where only counts
            were kept int64 of shape (S, size). ``docs/simulation.md`` says what stands beside them.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        form(self, "file", path)

    def _columns(self, name: str) -> slice:
        """Columns of a node among the nodes' neurons side by side."""
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
