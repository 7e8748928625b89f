"""Trace files: safetensors for what fits into memory; HDF5 is read and written by ``trace_hdf5.py``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as save_tensors

from neuromap.errors import InputError
from neuromap.files.whole_file import write_whole
from neuromap.hardware.program.program import NodePort
from neuromap.simulation.trace.recording import Potentials, Readout
from neuromap.simulation.trace.trace import Trace, trace_labels
from neuromap.simulation.trace.trace_hdf5 import HDF5_SUFFIXES, is_hdf5, load_hdf5, save_hdf5

__all__ = ["load_trace", "save_trace"]

_FORMAT = "neuromap trace"
_VERSIONS = ("1", "2")
_DTYPES = {
    "tick": "int64", "node": "int32", "index": "int32", "core": "int32", "neuron": "int32", "counts": "int64",
    "potentials": "int32", "potential_core": "int32", "potential_neuron": "int32", "potential_node": "int32",
    "potential_index": "int32",
}  # fmt: skip
_MOST = 2**53
"""Ticks and frames are below this, so that sums of them fit into 64 bits."""
_EVENTS = ("tick", "node", "index", "core", "neuron")
_PLACES = ("potential_core", "potential_neuron", "potential_node", "potential_index")


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace; see :meth:`Trace.save`.

    Raises
    ------
    InputError
        If the file cannot be written.
    NotSupportedError
        If HDF5 is asked for and h5py is not installed, or the trace lacks places on the chip.
    """
    if Path(path).suffix.lower() in HDF5_SUFFIXES:
        save_hdf5(trace, path)
        return
    tensors: dict[str, NDArray[Any]] = {name: getattr(trace, name) for name in (*_EVENTS, "counts")}
    if (table := trace.potential_table) is not None:
        tensors["potentials"] = table.values
        tensors |= {name: getattr(table.neurons, name.removeprefix("potential_")) for name in _PLACES}
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items() if array is not None}
    metadata = {"format": _FORMAT, "version": _VERSIONS[-1], "trace": json.dumps(trace_labels(trace))}
    write_whole(path, save_tensors(tensors, metadata=metadata))


def load_trace(path: str | Path) -> Trace:
    """Read a trace that :meth:`Trace.save` or :func:`~neuromap.simulation.run.simulate.simulate_to_file` wrote.

    Parameters
    ----------
    path : str or Path
        The file, HDF5 or safetensors; its content tells which.

    Returns
    -------
    Trace
        The trace.

    Raises
    ------
    InputError
        If the file cannot be read, or is no trace, or is truncated, or holds more than the memory is meant to (4 GiB):
        ``docs/simulation.md`` shows how to read a part of it.
    NotSupportedError
        If it is an HDF5 file and h5py is not installed.
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            head = stream.read(8)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    try:
        return _trace(*(load_hdf5(path) if is_hdf5(head) else _load_safetensors(path)))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: a damaged trace ({error})") from None
    except MemoryError:
        raise InputError(f"{path}: takes more memory than there is; read parts of it (docs/simulation.md)") from None


def _load_safetensors(path: Path) -> tuple[Any, dict[str, NDArray[Any]]]:
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        raise InputError(f"{path}: not a readable safetensors file; a trace is one, or an HDF5 file") from None
    if metadata.get("format") != _FORMAT or metadata.get("version") not in _VERSIONS:
        raise InputError(f"{path}: not a trace of version {' or '.join(_VERSIONS)}; save one with simulate")
    try:
        return json.loads(metadata["trace"]), tensors
    except (KeyError, RecursionError, ValueError) as error:
        raise InputError(f"{path}: a damaged trace ({error})") from None


def _trace(labels: Any, tensors: dict[str, NDArray[Any]]) -> Trace:
    """Put a trace together from what a file holds; whatever is wrong with it is a ValueError or the like."""
    labels = {"potential_nodes": [], **labels}
    nodes, potential_nodes = (_ports(labels.pop(key)) for key in ("nodes", "potential_nodes"))
    labels.setdefault("tick_seconds", None)
    numbers = [labels[key] for key in ("period", "n_frames", "n_ticks")]
    if not all(type(number) is int and 0 <= number < _MOST for number in numbers) or labels["period"] < 1:
        raise ValueError(f"period, n_frames and n_ticks must be integers from 0 to {_MOST - 1}, the period 1 or more")
    if not all(isinstance(labels[key], str) for key in ("name", "pattern", "execution")):
        raise ValueError("name, pattern and execution must be text")
    seconds = labels["tick_seconds"]
    if type(seconds) not in (float, int, NoneType) or (seconds is not None and not 0 < seconds < math.inf):
        raise ValueError("tick_seconds must be a number above 0")
    for name, array in tensors.items():
        if name in _DTYPES and array.dtype.name != _DTYPES[name]:
            raise ValueError(f"tensor {name} must be {_DTYPES[name]}, is {array.dtype.name}")
    tick, node, index = (tensors[name] for name in _EVENTS[:3])
    core, neuron = (tensors.get(name) for name in _EVENTS[3:])
    if any(a.ndim != 1 or a.shape != tick.shape for a in (tick, node, index, core, neuron) if a is not None):
        raise ValueError("tick, node, index, core and neuron must be of the same length")
    _check_labels(node, index, nodes)
    if len(tick) and not (0 <= tick.min() <= tick.max() < labels["n_ticks"]):
        raise ValueError("a spike lies outside the ticks that were run")
    if len(tick) and (np.diff(tick) < 0).any():
        raise ValueError("spikes are not in the order of their ticks")
    last = (labels["n_frames"] - 1) * labels["period"]
    for port in nodes:
        if port.kind == "output" and port.sample_tick + last >= labels["n_ticks"]:
            raise ValueError(f"node {port.name} has frames after the ticks that were run")
    counts = tensors.get("counts")
    if counts is not None and counts.ndim != 2:
        raise ValueError("counts must be a table of cores and neurons")
    table = None
    if "potentials" in tensors:
        values = tensors["potentials"]
        places = [tensors[name] for name in _PLACES]
        if values.ndim != 2 or len(values) != labels["n_ticks"] or any(a.shape != values.shape[1:] for a in places):
            raise ValueError("potentials must be a table of ticks and neurons")
        _check_labels(places[2], places[3], potential_nodes)
        table = Potentials(Readout(potential_nodes, *places), values)
    return Trace(
        **labels, nodes=nodes, tick=tick, node=node, index=index, core=core, neuron=neuron, counts=counts,
        potential_table=table,
    )  # fmt: skip


def _ports(ports: list[dict[str, Any]]) -> tuple[NodePort, ...]:
    found = tuple(NodePort(**port) for port in ports)
    for port in found:
        if not (isinstance(port.name, str) and type(port.size) is int and type(port.sample_tick) is int):
            raise ValueError(f"node {port.name} has a size or sample tick that is no integer")
        if not (0 <= port.size < 2**31 and abs(port.sample_tick) < _MOST):
            raise ValueError(f"node {port.name} has a size or sample tick out of range")
    return found


def _check_labels(node: NDArray[np.int32], index: NDArray[np.int32], nodes: tuple[NodePort, ...]) -> None:
    sizes = np.array([*(port.size for port in nodes), 0], dtype=np.int64)  # the last one for neurons without a label
    if len(node) and (node.min() < -1 or node.max() >= len(nodes)):
        raise ValueError("a spike or potential names a node that does not exist")
    wrong = np.where(node < 0, index != -1, (index < 0) | (index >= sizes[node]))
    if wrong.any():
        raise ValueError("a spike or potential names a neuron that does not exist")
