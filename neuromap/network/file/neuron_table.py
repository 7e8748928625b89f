"""The table of a node's neuron in a network file: numbers, or the word that they lie in the weights file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.files.toml_table import TomlTable
from neuromap.network.neurons.current_neuron import MORE, CurrentNeuron
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.network.neurons.spiking_neuron import SpikingNeuron
from neuromap.network.node import Node

__all__ = ["MODELS", "TENSOR", "neuron_tensor", "read_neuron", "stored_values", "with_stored_values"]

MODELS: Mapping[str, type[SpikingNeuron]] = ReadOnlyMapping({kind.model: kind for kind in (CurrentNeuron, LeakNeuron)})
"""Neurons by the names that a neuron's table may give."""

TENSOR = "tensor"
"""Word for values that lie in the weights file, one per neuron."""


def read_neuron(table: TomlTable) -> SpikingNeuron:
    """Read a neuron; values that lie in the weights file are those of a neuron at rest for now."""
    kind = MODELS[table.text("model", tuple(MODELS))]
    has_more = kind is CurrentNeuron
    table.allow(("model", *kind.parameters, *kind.settings, *([MORE] if has_more else [])))
    if "threshold" not in table:
        raise table.wrong("threshold", "is an integer; a neuron needs it")
    values: dict[str, Any] = {
        name: table.integer(name, *bounds) for name, bounds in kind.settings.items() if name in table
    }
    for name, bounds in kind.parameters.items():
        if name in table:
            values[name] = max(0, bounds[0]) if table.values[name] == TENSOR else table.integer(name, *bounds)
    if has_more:
        values[MORE] = _more_decays(table)
    try:
        return kind(**values)
    except NetworkError as error:
        raise NetworkError(f"{table.path}: {error}") from None


def _more_decays(table: TomlTable) -> tuple[int, ...]:
    more = table.values.get(MORE, [])
    if not isinstance(more, list) or not all(n == TENSOR or type(n) is int for n in more):
        raise table.wrong(MORE, f'is a list of integers, or of "{TENSOR}"')
    return tuple(0 if n == TENSOR else n for n in more)


def neuron_tensor(node: str, name: str) -> str:
    """Name the tensor of the weights file that holds values of a node's neuron."""
    return f"{node}.neuron.{name}"


def stored_values(table: TomlTable) -> tuple[tuple[str, str], ...]:
    """List node and name of all values that lie in the weights file."""
    found = []
    for node, part in table.tables():
        neuron = part.values.get("neuron")
        if isinstance(neuron, Mapping):
            found += [(node, name) for name, value in neuron.items() if value == TENSOR]
            more = neuron.get(MORE, [])
            found += [(node, f"{MORE}.{k}") for k, value in enumerate(more, start=1) if value == TENSOR]
    return tuple(found)


def with_stored_values(node: Node, tensors: Mapping[str, NDArray[np.int64]]) -> Node:
    """Put values from the weights file into a node's neuron."""
    if node.neuron is None:
        return node
    stored = {name: tensors.get(neuron_tensor(node.name, name)) for name in node.neuron.arrays}
    try:
        neuron = node.neuron.with_arrays({name: array for name, array in stored.items() if array is not None})
    except NetworkError as error:
        raise NetworkError(f"node {node.name}: {error}") from None
    return replace(node, neuron=neuron)
