"""``Batch``: the outputs of many stimuli, and its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.times import Time
from neuromap.errors import InputError
from neuromap.files.sealed import sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.hardware.program.ports import NodePort
from neuromap.hardware.program.program_bytes import period_to_file, tick_to_file
from neuromap.render.value import form
from neuromap.simulation.trace.trace import RunLabels, Trace


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

    _forms = ("neuromap.simulation.trace.batch",)

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
