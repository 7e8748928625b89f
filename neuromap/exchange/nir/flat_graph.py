"""Flattened NIR graphs: primitives with one parameter per neuron, shapes, windows."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Floats
from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.layers.compute import conv_matrix, mean_matrix
from neuromap.files.messages import show_name
from neuromap.formats.layers import Operator
from neuromap.formats.nir import NirGraph, NirNode


def spread(name: str, node: NirNode, key: str, shape: Shape, default: float = 0.0) -> Floats:
    """Expand a parameter to one value per neuron, shape (n,), in NIR's order."""
    values = node.parameters.get(key)
    if values is None:
        return np.full(math.prod(shape), default)
    if values.size == math.prod(shape):
        return values.ravel()
    try:
        return np.broadcast_to(values, shape).ravel()
    except ValueError:
        raise InputError(
            f"node {name} ({node.kind}): {key}: found shape {list(values.shape)}; its values have {list(shape)}"
        ) from None


# Shapes of the values of every node of a graph, inferred from inputs, neurons and weights.
Shape: TypeAlias = tuple[int, ...]
# Most values of a node.
_MOST = 2**22
# Primitives whose values are spikes.
SPIKING = ("IF", "LIF", "CubaLIF", "Threshold")
# Primitives with a value per neuron, spiking or not.
NEURONS = (*SPIKING, "LI", "CubaLI", "I")
# Primitives that leave the shape as it is.
ELEMENTWISE = (*NEURONS, "Scale", "Delay")


def find_shapes(graph: FlatGraph) -> dict[str, Shape]:
    """Infer the shape of every node's values."""
    found: dict[str, Shape] = {}
    todo = deque(graph.nodes)
    total = 0
    while todo:
        name = todo.popleft()
        if name in found:
            continue
        arriving = next((found[u] for u in graph.links.pred[name] if u in found), None)
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
            todo.extend(graph.links.succ[name])
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
        own = _own_shape(name, node)
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


def _own_shape(name: str, node: NirNode) -> Shape:
    """Shape of the parameters of an elementwise primitive."""
    try:
        return np.broadcast_shapes(*(array.shape for array in node.parameters.values()))
    except ValueError:
        shapes = ", ".join(f"{key} {list(array.shape)}" for key, array in node.parameters.items())
        raise InputError(f"node {name} ({node.kind}): found {shapes}; needs parameters of one shape") from None


def _whole(node: NirNode, key: str) -> Shape:
    return tuple(int(n) for n in node.parameters[key].ravel())


def source_shape(node: NirNode, found: Shape) -> Shape:
    """Input shape of a convolution: that of its ``input_shape`` if the values have it or come flat, or that found."""
    wanted = _stated_source(node, found)
    return wanted if are_alike(wanted, found) else found


def _stated_source(node: NirNode, found: Shape) -> Shape:
    if "input_shape" not in node.parameters:
        return found
    channels = math.prod(node.parameters["weight"].shape[1:2]) * int(node.parameters["groups"].ravel()[0])
    return (channels, *_whole(node, "input_shape"))


def are_alike(first: Shape, second: Shape) -> bool:
    """Whether values of two shapes have one order: the shapes are equal, but for axes of 1, or one of them is flat."""
    one, other = (tuple(n for n in shape if n > 1) for shape in (first, second))
    return one == other or (min(len(one), len(other)) < 2 and math.prod(one) == math.prod(other))


def taken_shape(graph: FlatGraph, name: str, found: Shape, shape: Shape) -> Shape:
    """Shape of the values that a node says it takes, or that of those found; ``shape`` is that of its own values."""
    node = graph.nodes[name]
    if node.kind in ELEMENTWISE:
        return shape
    if node.kind in ("Conv1d", "Conv2d"):
        return _stated_source(node, found)
    key = "input_type" if node.kind == "Flatten" else "shape"
    stated = _whole(node, key) if key in node.parameters else found
    is_spread = math.prod(stated) == 1 and all(_is_spread(u, graph.nodes[u]) for u in graph.links.pred[name])
    return found if is_spread else stated


def _is_spread(name: str, node: NirNode) -> bool:
    """Whether one number stands for all values of a node; what reads it may then say one, too."""
    return node.kind in ELEMENTWISE and math.prod(_own_shape(name, node)) == 1


def _flattened(node: NirNode, source: Shape) -> Shape:
    ends = [int(node.parameters[key].ravel()[0]) if key in node.parameters else default
            for key, default in (("start_dim", 1), ("end_dim", -1))]  # fmt: skip
    first, last = (end % len(source) if -len(source) <= end < len(source) else None for end in ends)
    if first is None or last is None or first > last:
        return (math.prod(source),)  # dimensions of a batch that is not there
    return (*source[:first], math.prod(source[first : last + 1]), *source[last + 1 :])


# Nested graphs flattened to one, whose nodes are named by their path.
# Kind of the former inputs and outputs of inner graphs: values pass unchanged.
JOINT = "Joint"


class FlatGraph(NamedTuple):
    """A graph without inner graphs."""

    nodes: dict[str, NirNode]  # in the order of the source, those of inner graphs as ``outer.inner``
    # predecessors of each node in the order of the edges, successors in that of the nodes
    links: nx.DiGraph[str]


def flatten(graph: NirGraph) -> FlatGraph:
    """Flatten inner graphs; an edge to one leads to its only input, an edge from one comes from its only output."""
    nodes: dict[str, NirNode] = {}
    edges: list[tuple[str, str]] = []
    _collect(graph, "", nodes, edges)
    for (source, target), count in Counter(edges).items():
        if count > 1:
            raise InputError(f"edge {source} -> {target}: is listed twice; NIR has it once, remove one")
    links: nx.DiGraph[str] = nx.DiGraph()
    links.add_nodes_from(nodes)
    place = {name: k for k, name in enumerate(nodes)}
    links.add_edges_from(sorted(edges, key=lambda edge: place[edge[1]]))
    return FlatGraph(nodes, links)


def _collect(graph: NirGraph, path: str, nodes: dict[str, NirNode], edges: list[tuple[str, str]]) -> None:
    for name, node in graph.nodes.items():
        whole = f"{path}{name}"
        if isinstance(node, NirGraph):
            _collect(node, f"{whole}.", nodes, edges)
            continue
        if whole in nodes:
            raise InputError(f"node {show_name(whole)}: there are two of this name; rename one")
        nodes[whole] = NirNode(JOINT, node.parameters) if path and node.kind in ("Input", "Output") else node
    for source, target in graph.edges:
        edges.append((_end(graph, source, path, "Output"), _end(graph, target, path, "Input")))


def _end(graph: NirGraph, name: str, path: str, kind: str) -> str:
    """Resolve the node at an end of an edge."""
    node = graph.nodes.get(name)
    if isinstance(node, NirNode):
        return f"{path}{name}"
    head, _, port = name.partition(".")
    if node is None and isinstance(inner := graph.nodes.get(head), NirGraph):
        return _end(inner, port, f"{path}{head}.", kind)
    assert isinstance(node, NirGraph)
    ports = [port for port, held in node.nodes.items() if isinstance(held, NirNode) and held.kind == kind]
    if len(ports) != 1:
        raise InputError(
            f"graph {show_name(path + name)}: has {len(ports)} nodes of type {kind}, and an edge that does not say "
            f"which it means; name it {show_name(name)}.NODE"
        )
    return f"{path}{name}.{ports[0]}"


# Convolutions and pools of NIR as operators of layers, on values in its order: channels, then rows, then columns.


# Most weights of a matrix, and most products to compute one.
MAX_WEIGHTS = 2**26


def _windows(name: str, node: NirNode, kernel: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Describe in terms of operators how a kernel slides along each axis, with windows counted as in PyTorch."""
    axes = len(kernel)
    stride, dilation = (_along(name, node, key, axes, 1) for key in ("stride", "dilation"))
    if "padding" in node.words:
        same = node.words["padding"] == "same"
        if same and max(stride) > 1:
            raise NotSupportedError(
                f'node {name} ({node.kind}): padding: found "same" with a stride of {list(stride)}, which tools '
                "read in different ways; give it in numbers"
            )
        total = [d * (k - 1) if same else 0 for k, d in zip(kernel, dilation, strict=True)]
        pads = (*(n // 2 for n in total), *(n - n // 2 for n in total))
    else:
        pads = _along(name, node, "padding", axes, 0) * 2
    return {"kernel": kernel, "stride": stride, "dilation": dilation, "pads": pads}


def _counts(windows: dict[str, tuple[int, ...]], lengths: tuple[int, ...]) -> list[int]:
    """Count the windows along each axis; 0 or less where none fits."""
    kernel, stride, dilation, pads = (windows[key] for key in ("kernel", "stride", "dilation", "pads"))
    ends = zip(pads, pads[len(lengths) :], strict=False)
    along = zip(lengths, ends, kernel, stride, dilation, strict=True)
    return [(n + before + after - d * (k - 1) - 1) // s + 1 for n, (before, after), k, s, d in along]


def _along(name: str, node: NirNode, key: str, axes: int, default: int) -> tuple[int, ...]:
    values = node.parameters.get(key)
    if values is None:
        return (default,) * axes
    if values.size not in (1, axes) or (values < 0).any():
        raise NotSupportedError(f"node {name} ({node.kind}): {key}: needs one number of 0 or more, or {axes}")
    return tuple(int(n) for n in np.broadcast_to(values.ravel(), axes))


def conv_shape(name: str, node: NirNode, source: tuple[int, ...]) -> tuple[int, ...]:
    """Output shape of a convolution."""
    weight, groups = node.parameters["weight"], int(node.parameters["groups"].ravel()[0])
    axes = 1 if node.kind == "Conv1d" else 2
    if weight.ndim != axes + 2 or len(source) != axes + 1 or source[0] != weight.shape[1] * groups:
        raise NotSupportedError(
            f"node {name} ({node.kind}): weight: found shape {list(weight.shape)} and {groups} groups for values of "
            f"shape {list(source)}; needs (channels out, channels in / groups, kernel)"
        )
    if weight.shape[0] % groups:
        raise NotSupportedError(f"node {name} ({node.kind}): groups: {groups} does not divide {weight.shape[0]}")
    counts = _counts(_windows(name, node, weight.shape[2:]), source[1:])
    return _checked(name, node, (weight.shape[0], *counts))


def pool_shape(name: str, node: NirNode, source: tuple[int, ...]) -> tuple[int, ...]:
    """Output shape of a pool."""
    if len(source) != 3:
        raise NotSupportedError(
            f"node {name} ({node.kind}): pools values of shape {list(source)}; needs (channels, rows, columns)"
        )
    counts = _counts(_windows(name, node, _kernel(name, node)), source[1:])
    return _checked(name, node, (source[0], *counts))


def _kernel(name: str, node: NirNode) -> tuple[int, ...]:
    return _along(name, node, "kernel_size", 2, 1)


def _checked(name: str, node: NirNode, shape: tuple[int, ...]) -> tuple[int, ...]:
    if min(shape) < 1 or math.prod(shape) > MAX_WEIGHTS:
        raise NotSupportedError(
            f"node {name} ({node.kind}): makes values of shape {list(shape)}; needs 1 to {MAX_WEIGHTS} of them"
        )
    return shape


def window_matrix(name: str, node: NirNode, source: tuple[int, ...], target: tuple[int, ...]) -> csr_array:
    """Convert a convolution or a pool to a matrix, shape (values of target, values of source)."""
    weight = node.parameters.get("weight")  # which no pool has
    kernel = (1, *_kernel(name, node)) if weight is None else weight.shape[1:]
    if math.prod(kernel) * math.prod(target) > MAX_WEIGHTS:
        raise NotSupportedError(f"node {name} ({node.kind}): has more than {MAX_WEIGHTS} weights as a matrix; split it")
    settings: dict[str, Any] = dict(_windows(name, node, kernel[1:]))
    if weight is None:  # sums, or means over the whole window, zeros of the padding among them
        settings |= {"mean": node.kind == "AvgPool2d", "counts_padding": True}
        return mean_matrix(Operator(name, "average", (), "", settings=settings), (1, *source), (1, *target))
    settings["groups"] = int(node.parameters["groups"].ravel()[0])
    one = Operator(name, "conv", (), "", settings=settings, constants=(weight,))
    return conv_matrix(one, (1, *source), (1, *target))
