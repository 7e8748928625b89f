"""Trace: the spikes that left the chip, with the clock that tells their frames."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_tensors

from neuromap.errors import InputError
from neuromap.frozen import freeze_arrays
from neuromap.hardware.program import NodePort
from neuromap.whole_file import write_whole

__all__ = ["Trace", "load_trace"]

_FORMAT = {"format": "neuromap trace", "version": "1"}


@dataclass(frozen=True, eq=False)
class Trace:
    """Output spikes of a simulation, M of them.

    Attributes
    ----------
    name, pattern, execution : str
        Labels of the program.
    nodes : tuple of NodePort
        The output nodes.
    period : int
        Frame period in ticks.
    n_frames : int
        Frames of the stimulus, including frame 0.
    n_ticks : int
        Ticks that were run, from tick 0.
    tick : ndarray of int64, shape (M,)
        When the neuron fired; events are sorted by tick, node, index.
    node : ndarray of int32, shape (M,)
        Position in ``nodes``.
    index : ndarray of int32, shape (M,)
        Neuron within the node.
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

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def frames(self, name: str) -> NDArray[np.bool_]:
        """Spikes of an output node by frame: frame i is what fires at tick ``sample_tick + i * period``.

        Parameters
        ----------
        name : str
            An output node.

        Returns
        -------
        ndarray of bool, shape (n_frames, size)
            Aligned with :func:`neuromap.simulation.reference.reference`; row 0 is zero, as no chip computes
            frame 0.

        Raises
        ------
        InputError
            If the node is not an output.
        """
        port = self._port(name)
        frames = np.zeros((self.n_frames, port.size), dtype=np.bool_)
        frame, between, index = self._clocked(name)
        mine = (between == 0) & (frame >= 1) & (frame < self.n_frames)
        frames[frame[mine], index[mine]] = True
        return frames

    def strays(self, name: str) -> NDArray[np.int64]:
        """Spikes of an output node that belong to no frame; a correct program has none.

        These are spikes between the ticks of the node's frames, and spikes before frame 1. Spikes of frames
        after the last one of the stimulus are none: the node still runs while slower outputs finish.

        Parameters
        ----------
        name : str
            An output node.

        Returns
        -------
        ndarray of int64, shape (n, 2)
            Tick and neuron of every stray spike, in order of ticks.

        Raises
        ------
        InputError
            If the node is not an output.
        """
        frame, between, index = self._clocked(name)
        stray = (between != 0) | (frame < 1)
        ticks = self._port(name).sample_tick + frame * self.period + between
        return np.stack([ticks[stray], index[stray]], axis=1)

    def save(self, path: str | Path) -> None:
        """Write the trace as safetensors, whole or not at all; ``docs/simulation.md`` describes the file.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        labels = {
            "name": self.name,
            "pattern": self.pattern,
            "execution": self.execution,
            "nodes": [asdict(port) for port in self.nodes],
            "period": self.period,
            "n_frames": self.n_frames,
            "n_ticks": self.n_ticks,
        }
        tensors: dict[str, NDArray[Any]] = {"tick": self.tick, "node": self.node, "index": self.index}
        write_whole(path, save_tensors(tensors, metadata={**_FORMAT, "trace": json.dumps(labels)}))

    def _port(self, name: str) -> NodePort:
        for port in self.nodes:
            if port.name == name:
                return port
        outputs = ", ".join(port.name for port in self.nodes)
        raise InputError(f"trace: node {name} is not an output node; outputs are {outputs}")

    def _clocked(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Frame, ticks past the tick of that frame, and neuron, of all spikes of a node."""
        port = self._port(name)
        mine = self.node == self.nodes.index(port)
        frame, between = np.divmod(self.tick[mine] - port.sample_tick, self.period)
        return frame, between, self.index[mine]


def load_trace(path: str | Path) -> Trace:
    """Read a trace that :meth:`Trace.save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Trace
        The trace.

    Raises
    ------
    InputError
        If the file cannot be read, or is no trace, or is truncated.
    """
    path = Path(path)
    try:
        path.open("rb").close()  # safe_open's own errors do not say why
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except (SafetensorError, KeyError, TypeError, ValueError):
        raise InputError(f"{path}: not a readable safetensors file; a trace is one") from None
    if {key: metadata.get(key) for key in _FORMAT} != _FORMAT:
        raise InputError(f"{path}: not a trace of version {_FORMAT['version']}; save one with simulate")
    try:
        return _trace(json.loads(metadata["trace"]), tensors)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: a damaged trace ({error})") from None


def _trace(labels: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> Trace:
    nodes = tuple(NodePort(**port) for port in labels["nodes"])
    numbers = [labels[key] for key in ("period", "n_frames", "n_ticks")]
    if not all(isinstance(number, int) for number in numbers) or labels["period"] < 1:
        raise ValueError("period, n_frames and n_ticks must be integers, the period 1 or more")
    tick, node, index = (tensors[name] for name in ("tick", "node", "index"))
    if [a.dtype.name for a in (tick, node, index)] != ["int64", "int32", "int32"]:
        raise ValueError("tensors must be int64, int32 and int32")
    if not (tick.ndim == 1 and tick.shape == node.shape == index.shape):
        raise ValueError("tick, node and index must be of the same length")
    sizes = np.array([port.size for port in nodes], dtype=np.int64)
    if len(tick) and (node.min() < 0 or node.max() >= len(nodes) or index.min() < 0 or (index >= sizes[node]).any()):
        raise ValueError("a spike names a neuron that does not exist")
    if len(tick) and not (0 <= tick.min() <= tick.max() < labels["n_ticks"]):
        raise ValueError("a spike lies outside the ticks that were run")
    return Trace(**{**labels, "nodes": nodes}, tick=tick, node=node, index=index)
