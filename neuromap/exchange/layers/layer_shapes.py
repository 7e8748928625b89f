"""The shape of every node of a structure."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.exchange.layers.structure import Layer, Structure
from neuromap.formats.layers.operator import Operator, TensorShape
from neuromap.formats.layers.operator_graph import OperatorGraph
from neuromap.network.transforms import Shape

_OVER_SEQUENCES = ("conv", "conv_transpose", "max_pool")


def layer_shapes(graph: OperatorGraph, structure: Structure) -> dict[str, Shape | None]:
    """Find the shapes of nodes."""
    # gives rows, columns, features of inputs and layers; ``None`` where they are not known
    found = {
        name: node_shape(graph.inputs[tensor], features_first=input_features_first(structure, name))
        for name, tensor in structure.inputs.items()
    }
    for layer in structure.layers:
        shape = layer.operators[-1].shape
        found[layer.name] = node_shape(shape, features_first=features_first(layer))
    return found


def features_first(layer: Layer) -> bool:
    """Tell whether a layer is a convolution over sequences, whose features come before its rows."""
    return any(_is_over_sequences(one) for one in layer.operators)


def input_features_first(structure: Structure, name: str) -> bool:
    """Tell whether a convolution over sequences reads an input as it is."""
    ways = [way for layer in structure.layers for way in layer.ways.get(name, ())]
    return any(_is_over_sequences(way.into) and all(one.kind == "function" for one in way.folds) for way in ways)


def _is_over_sequences(one: Operator) -> bool:
    return one.kind in _OVER_SEQUENCES and len(one.setting("kernel", ())) == 1


# Shapes of nodes: rows, columns and features, whatever the order in which a source stores them.


def node_shape(shape: TensorShape | None, *, features_first: bool = False) -> tuple[int, int, int] | None:
    """Give the rows, columns and features of a tensor."""
    # gives ``None`` where it is not known
    if shape is None:
        return None
    axes = _inner(shape)
    if len(axes) <= 1:
        return (1, 1, axes[0] if axes else 1)
    if len(axes) == 2:
        return (axes[1], 1, axes[0]) if features_first else (axes[0], 1, axes[1])
    return (math.prod(axes[1:-1]), axes[-1], axes[0])


def element_order(shape: TensorShape, *, features_first: bool = False) -> NDArray[np.int64]:
    """Give, neuron by neuron of the node, the element of the tensor that it stands for."""
    # shapes: returns (n_neurons,)
    axes = _inner(shape)
    elements = np.arange(math.prod(axes), dtype=np.int64)
    if len(axes) < 2 or (len(axes) == 2 and not features_first):
        return elements
    return np.moveaxis(elements.reshape(axes), 0, -1).ravel()


def _inner(shape: Sequence[int]) -> tuple[int, ...]:
    if len(shape) == 3 and shape[0] != 1 and shape[1] == 1:
        return (shape[0], shape[2])  # a sequence whose batch is its second axis
    return tuple(shape[1:]) if len(shape) > 1 and shape[0] == 1 else tuple(shape)
