"""Shapes of values at every node of a graph, from inputs, neurons and weights on."""

from __future__ import annotations

import math
from collections import deque
from typing import TypeAlias

import numpy as np

from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.nir.flat_graph import JOINT, FlatGraph
from neuromap.exchange.nir.windows import MAX_WEIGHTS, conv_shape, pool_shape
from neuromap.formats.nir.nir_graph import NirNode

__all__ = ["ELEMENTWISE", "NEURONS", "SPIKING", "Shape", "find_shapes", "source_shape"]

Shape: TypeAlias = tuple[int, ...]

_MOST = 2**22
"""Values of a node."""

SPIKING = ("IF", "LIF", "CubaLIF", "Threshold")
"""Primitives whose values are spikes."""
NEURONS = (*SPIKING, "LI", "CubaLI", "I")
"""Primitives with a value per neuron, spiking or not."""
ELEMENTWISE = (*NEURONS, "Scale", "Delay")
"""Primitives that leave the shape as it is."""


def find_shapes(graph: FlatGraph) -> dict[str, Shape]:
    """Find what every node gives out."""
    after: dict[str, list[str]] = {name: [] for name in graph.nodes}
    for target, sources in graph.before.items():
        for source in sources:
            after[source].append(target)
    found: dict[str, Shape] = {}
    todo = deque(graph.nodes)
    total = 0
    while todo:
        name = todo.popleft()
        if name in found:
            continue
        arriving = next((found[u] for u in graph.before[name] if u in found), None)
        shape = _shape(name, graph.nodes[name], arriving)
        if shape is not None:
            size = math.prod(shape)
            total += size
            if not size:
                raise InputError(f"node {name}: has values of shape {list(shape)}; needs one or more")
            if size > _MOST or total > MAX_WEIGHTS:
                raise NotSupportedError(
                    f"node {name}: has values of shape {list(shape)}; a node has at most {_MOST} values, a graph "
                    f"{MAX_WEIGHTS}"
                )
            found[name] = shape
            todo.extend(after[name])
    return found


def _shape(name: str, node: NirNode, source: Shape | None) -> Shape | None:
    kind = node.kind
    if kind == "Input":
        return _whole(node, "shape")
    if kind in ("Linear", "Affine"):
        weight = node.parameters["weight"]
        if weight.ndim != 2:
            raise NotSupportedError(
                f"node {name} ({kind}): weight: found shape {list(weight.shape)}; needs (values out, values in)"
            )
        return (weight.shape[0],)
    if kind in ELEMENTWISE:
        try:
            own = np.broadcast_shapes(*(array.shape for array in node.parameters.values()))
        except ValueError:
            shapes = ", ".join(f"{key} {list(array.shape)}" for key, array in node.parameters.items())
            raise InputError(f"node {name} ({kind}): found {shapes}; needs parameters of one shape") from None
        return own if math.prod(own) > 1 else source
    if source is None:
        return None
    if kind in ("Conv1d", "Conv2d"):
        return conv_shape(name, node, source_shape(node, source))
    if kind in ("SumPool2d", "AvgPool2d"):
        return pool_shape(name, node, source)
    if kind == "Flatten":
        return _flattened(node, source)
    assert kind in ("Output", JOINT)
    return source


def _whole(node: NirNode, key: str) -> Shape:
    return tuple(int(n) for n in node.parameters[key].ravel())


def source_shape(node: NirNode, found: Shape) -> Shape:
    """Give the shape that a convolution takes: as it finds it, or that of its ``input_shape`` of as many values."""
    axes = 1 if node.kind == "Conv1d" else 2
    if len(found) != axes + 1 and "input_shape" in node.parameters:
        weight = node.parameters["weight"]
        channels = weight.shape[min(1, weight.ndim - 1)] * int(node.parameters["groups"].ravel()[0])
        wanted = (channels, *_whole(node, "input_shape"))
        if math.prod(wanted) == math.prod(found):
            return wanted
    return found


def _flattened(node: NirNode, source: Shape) -> Shape:
    ends = [int(node.parameters[key].ravel()[0]) if key in node.parameters else default
            for key, default in (("start_dim", 1), ("end_dim", -1))]  # fmt: skip
    first, last = (end % len(source) if -len(source) <= end < len(source) else None for end in ends)
    if first is None or last is None or first > last:
        return (math.prod(source),)  # dimensions of a batch that is not there
    return (*source[:first], math.prod(source[first : last + 1]), *source[last + 1 :])
