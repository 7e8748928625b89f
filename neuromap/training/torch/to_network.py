"""``to_network``: a trained model in frame code as a network, spike by spike the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.tables import ENCODER
from neuromap.network.thresholds import spread_threshold
from neuromap.network.transforms.kinds import Conv, Dense
from neuromap.network.transforms.weights import StoredWeights
from neuromap.training.torch.frame_model import FrameModel

__all__ = ["to_network"]


def to_network(model: FrameModel) -> Network:
    """Give the network that a model in evaluation is, with its integer weights and thresholds."""
    network = model.network
    nodes = {name: node if name in network.inputs else _node(model, node) for name, node in network.nodes.items()}
    edges = {key: _edge(model, edge) for key, edge in network.edges.items()}
    return replace(network, nodes=nodes, edges=edges, tables=_tables(model))


def _tables(model: FrameModel) -> Mapping[str, Any]:
    """Give the tables of the network, with what was learned of the host in them."""
    learned = model.learned_encodings()
    if not learned:
        return model.network.tables
    inputs = dict(model.network.tables["inputs"])
    for name, encoding in learned.items():
        arrays = (encoding.weights, encoding.thresholds)
        inputs[name] = {**inputs[name], **dict(zip(ENCODER, arrays, strict=True))}
    return {**model.network.tables, "inputs": inputs}


def _node(model: FrameModel, node: Node) -> Node:
    shape = node.shape or (1, 1, node.size)  # without a shape, asking for the size says so
    return replace(node, threshold=spread_threshold(_integers(model.threshold(node.name)), shape))


def _edge(model: FrameModel, edge: Edge) -> Edge:
    weights, transform = model.weight(edge.key), edge.transform
    if weights is None or not isinstance(transform, Conv | Dense):
        return edge
    return replace(edge, transform=replace(transform, weights=StoredWeights(_integers(weights))))


def _integers(values: Tensor) -> NDArray[np.int64]:
    found: NDArray[np.int64] = values.detach().cpu().numpy().round().astype(np.int64)
    return found
