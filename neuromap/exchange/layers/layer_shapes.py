"""The shape of every node of a structure."""

from __future__ import annotations

from neuromap.exchange.layers.node_shapes import node_shape
from neuromap.exchange.layers.structure import Layer, Structure
from neuromap.formats.layers.operator import Operator
from neuromap.formats.layers.operator_graph import OperatorGraph
from neuromap.network.transforms.kinds import Shape

__all__ = ["features_first", "layer_shapes"]

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
