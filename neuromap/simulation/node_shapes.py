"""Input arrays by neuron or in the shape of their node: brought into the order of neurons, row, column, feature."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.network import Network

__all__ = ["by_neuron", "input_shapes", "no_bits", "no_mapping", "shapes_allowed"]

NodeShape = tuple[int, int, int]


def input_shapes(source: ChipProgram | Network | Mapping[str, int]) -> dict[str, NodeShape]:
    """Give the shapes of the input nodes, where they are known: a program knows sizes only."""
    nodes = [source.nodes[name] for name in source.inputs] if isinstance(source, Network) else []
    return {node.name: node.shape for node in nodes if node.shape is not None}


def by_neuron(array: NDArray[Any], axes: int, size: int, shape: NodeShape | None) -> NDArray[Any]:
    """Flatten the last three axes of an array where they are rows, columns and features of a node."""
    # shape: rows, columns, features of the node; ``None`` where only its size is known, which they must then give
    if array.ndim != axes + 3:
        return array
    rows, columns, features = array.shape[axes:]
    fits = rows * columns * features == size if shape is None else (rows, columns, features) == shape
    return array.reshape(*array.shape[:axes], size) if fits else array


def shapes_allowed(axes: str, size: int, shape: NodeShape | None) -> str:
    """Say what shapes an input array may have."""
    if shape is None:
        return f"({axes}, {size}) or ({axes}, rows, columns, features) with {size} neurons"
    return f"({axes}, {size}) or ({axes}, {', '.join(map(str, shape))})"


def no_mapping(found: object, sizes: Mapping[str, int], what: str) -> str:
    """Say what was found in place of a mapping of arrays, and what to give."""
    first = next(iter(sizes), "I")
    if isinstance(found, str | Path):
        return f"found a path; read the file first: neuromap.simulation.load_frames({str(found)[:40]!r})"
    if hasattr(found, "shape"):
        return f'found an array; name its input node: {{"{first}": array}}'
    return f'found {type(found).__name__}; give a mapping of input node to array: {{"{first}": {what}}}'


def no_bits(array: NDArray[Any]) -> str:
    """Say how an array of another dtype becomes one of bits."""
    text = f"dtype {array.dtype}; must be bool, or integer with values 0 and 1"
    if array.dtype.kind != "f":
        return text
    whole = bool(((array == 0) | (array == 1)).all())
    return f"{text}; give {'array.astype(bool)' if whole else 'spikes, such as array > 0.5'}"
