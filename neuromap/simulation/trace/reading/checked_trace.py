"""Put a trace together from what a file holds, whatever that is."""

from __future__ import annotations

import math
from fractions import Fraction
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.times import Time
from neuromap.hardware.program.file_format import FRAMES_KEY, PART_KEY, period_of_file, tick_of_file
from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.trace.forms.file_layout import DTYPES, EVENTS, POTENTIAL_PLACES
from neuromap.simulation.trace.readout import Potentials, Readout
from neuromap.simulation.trace.trace import Trace

__all__ = ["checked_trace"]

_MOST = 2**53
"""Ticks and frames are below this, so that sums of them fit into 64 bits."""


def checked_trace(labels: Any, arrays: dict[str, NDArray[Any]]) -> Trace:
    """Make a trace of labels and arrays."""
    labels = {"potential_nodes": [], "tick_seconds": None, "nodes_are_whole": False, **labels}
    _check_labels(labels)
    labels["period"] = period_of_file(labels)
    labels.pop(FRAMES_KEY, None)
    nodes, potential_nodes = (_ports(labels.pop(key), labels["period"]) for key in ("nodes", "potential_nodes"))
    for name, array in arrays.items():
        if name in DTYPES and array.dtype.name != DTYPES[name]:
            raise ValueError(f"tensor {name} must be {DTYPES[name]}, is {array.dtype.name}")
    tick, node, index = (arrays[name] for name in EVENTS[:3])
    core, neuron = (arrays.get(name) for name in EVENTS[3:])
    if any(a.ndim != 1 or a.shape != tick.shape for a in (tick, node, index, core, neuron) if a is not None):
        raise ValueError("tick, node, index, core and neuron must be of the same length")
    _check_places(node, index, nodes)
    _check_ticks(tick, labels, nodes)
    counts = arrays.get("counts")
    if counts is not None and counts.ndim != 2:
        raise ValueError("counts must be a table of cores and neurons")
    return Trace(
        **labels, nodes=nodes, tick=tick, node=node, index=index, core=core, neuron=neuron, counts=counts,
        potential_table=_potentials(arrays, potential_nodes, labels["n_ticks"]),
    )  # fmt: skip


def _check_labels(labels: dict[str, Any]) -> None:
    numbers = [labels[key] for key in ("period", "n_frames", "n_ticks")]
    if not all(type(number) is int and 0 <= number < _MOST for number in numbers) or labels["period"] < 1:
        raise ValueError(f"period, n_frames and n_ticks must be integers from 0 to {_MOST - 1}, the period 1 or more")
    if not all(isinstance(labels[key], str) for key in ("name", "pattern", "execution")):
        raise ValueError("name, pattern and execution must be text")
    if type(labels["nodes_are_whole"]) is not bool:
        raise ValueError("nodes_are_whole must be true or false")
    seconds = labels["tick_seconds"]
    if type(seconds) not in (float, int, NoneType) or (seconds is not None and not 0 < seconds < math.inf):
        raise ValueError("tick_seconds must be a number above 0")


def _check_ticks(tick: NDArray[np.int64], labels: dict[str, Any], nodes: tuple[NodePort, ...]) -> None:
    if len(tick) and not (0 <= tick.min() <= tick.max() < labels["n_ticks"]):
        raise ValueError("a spike lies outside the ticks that were run")
    if len(tick) and (np.diff(tick) < 0).any():
        raise ValueError("spikes are not in the order of their ticks")
    for port in nodes:
        if port.kind == "output" and port.tick(labels["period"], labels["n_frames"] - 1) >= labels["n_ticks"]:
            raise ValueError(f"node {port.name} has frames after the ticks that were run")


def _potentials(arrays: dict[str, NDArray[Any]], nodes: tuple[NodePort, ...], n_ticks: int) -> Potentials | None:
    if "potentials" not in arrays:
        return None
    values = arrays["potentials"]
    core, neuron, node, index = (arrays[name] for name in POTENTIAL_PLACES)
    if (
        values.ndim != 2
        or len(values) != n_ticks
        or any(a.shape != values.shape[1:] for a in (core, neuron, node, index))
    ):
        raise ValueError("potentials must be a table of ticks and neurons")
    _check_places(node, index, nodes)
    return Potentials(Readout(nodes, core, neuron, node, index), values)


def _ports(ports: list[dict[str, Any]], period: Time) -> tuple[NodePort, ...]:
    plain = [{key: value for key, value in port.items() if key != PART_KEY} for port in ports]
    found = tuple(
        NodePort(**{**without, "sample_tick": tick_of_file(port, period)})
        for without, port in zip(plain, ports, strict=True)
    )
    for port in found:
        if not (isinstance(port.name, str) and type(port.size) is int and type(port.sample_tick) in (int, Fraction)):
            raise ValueError(f"node {port.name} has a size or sample tick that is no integer")
        if not (0 <= port.size < 2**31 and -_MOST < port.sample_tick < _MOST):
            raise ValueError(f"node {port.name} has a size or sample tick out of range")
    return found


def _check_places(node: NDArray[np.int32], index: NDArray[np.int32], nodes: tuple[NodePort, ...]) -> None:
    sizes = np.array([*(port.size for port in nodes), 0], dtype=np.int64)  # the last one for neurons without a label
    if len(node) and (node.min() < -1 or node.max() >= len(nodes)):
        raise ValueError("a spike or potential names a node that does not exist")
    wrong = np.where(node < 0, index != -1, (index < 0) | (index >= sizes[node]))
    if wrong.any():
        raise ValueError("a spike or potential names a neuron that does not exist")
