"""The table of a node's neuron in a network file: numbers, or the word that they lie in the weights file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NetworkError
from neuromap.files.toml_table import TomlTable
from neuromap.network.network import Node
from neuromap.network.neurons.current_neuron import PARAMETERS, WIDTHS, CurrentNeuron

__all__ = ["MODELS", "MORE", "TENSOR", "neuron_tensor", "read_neuron", "stored_values", "with_stored_values"]

MODELS = ("current",)
"""Models that a neuron's table may name."""

MORE = "more_current_decays"
"""Key of the decays of further currents: a list."""

TENSOR = "tensor"
"""Word for values that lie in the weights file, one per neuron."""


def read_neuron(table: TomlTable) -> CurrentNeuron:
    """Read a neuron; values that lie in the weights file are 0 for now.

    Parameters
    ----------
    table : TomlTable
        The node's table ``neuron``.

    Raises
    ------
    NetworkError
        On an unknown key, or a value that is no integer or out of range.
    """
    table.allow(("model", *PARAMETERS, *WIDTHS, MORE))
    table.text("model", MODELS)
    if "threshold" not in table:
        raise table.wrong("threshold", "is an integer; a neuron needs it")
    widths = {name: table.integer(name, *bounds) for name, bounds in WIDTHS.items() if name in table}
    values = {
        name: np.array(0 if table.values[name] == TENSOR else table.integer(name, *bounds))
        for name, bounds in PARAMETERS.items()
        if name in table
    }
    more = table.values.get(MORE, [])
    if not isinstance(more, list) or not all(n == TENSOR or type(n) is int for n in more):
        raise table.wrong(MORE, f'is a list of integers, or of "{TENSOR}"')
    decays = tuple(np.array(0 if n == TENSOR else n) for n in more)
    try:
        return CurrentNeuron(**values, **widths, more_current_decays=decays)  # type: ignore[arg-type] # by their names
    except NetworkError as error:
        raise NetworkError(f"{table.path}: {error}") from None


def neuron_tensor(node: str, name: str) -> str:
    """Name the tensor of the weights file that holds values of a node's neuron."""
    return f"{node}.neuron.{name}"


def stored_values(table: TomlTable) -> tuple[tuple[str, str], ...]:
    """List node and name of all values that lie in the weights file.

    Parameters
    ----------
    table : TomlTable
        The table ``nodes``.
    """
    found = []
    for node, part in table.tables():
        neuron = part.values.get("neuron")
        if isinstance(neuron, Mapping):
            found += [(node, name) for name in neuron if name in PARAMETERS and neuron[name] == TENSOR]
            more = neuron.get(MORE, [])
            found += [(node, f"{MORE}.{k}") for k, value in enumerate(more, start=1) if value == TENSOR]
    return tuple(found)


def with_stored_values(node: Node, tensors: Mapping[str, NDArray[np.int64]]) -> Node:
    """Put values from the weights file into a node's neuron.

    Parameters
    ----------
    node : Node
    tensors : mapping of str to ndarray of int64
        By :func:`neuron_tensor`.

    Raises
    ------
    NetworkError
        If a value is out of range.
    """
    if node.neuron is None:
        return node
    kept = {field.name: getattr(node.neuron, field.name) for field in fields(node.neuron)}
    for name in PARAMETERS:
        if (found := tensors.get(neuron_tensor(node.name, name))) is not None:
            kept[name] = found
    kept[MORE] = tuple(
        tensors.get(neuron_tensor(node.name, f"{MORE}.{k}"), decay) for k, decay in enumerate(kept[MORE], start=1)
    )
    try:
        return replace(node, neuron=CurrentNeuron(**kept))
    except NetworkError as error:
        raise NetworkError(f"node {node.name}: {error}") from None
