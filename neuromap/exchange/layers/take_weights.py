"""Import of operator graphs in frame code as networks with weights and thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from neuromap.errors import NetworkError, NotSupportedError
from neuromap.exchange.layers.compute import SpikeSums, compute, decide, integer_rows
from neuromap.exchange.layers.find_structure import (
    Layer,
    Structure,
    Way,
    element_order,
    features_first,
    input_features_first,
    node_shape,
)
from neuromap.exchange.layers.graded_nodes import padding_of
from neuromap.formats.layers import FUNCTIONS, Operator, OperatorGraph, TensorShape
from neuromap.network.build import build_network
from neuromap.network.edge import MatrixSource
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense, Identity, MatrixTransform, Pool, Shape, Transform
from neuromap.network.weights import MAX_NEURONS, StoredWeights, Windows, output_length
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class TakenWeights(Card):
    """A network with weights, and the cost of its import."""

    network: Network  # complete
    # sums of output spikes in the source, by the tensor at the end of the graph; ``None`` where it is not a sum
    readout: Mapping[str, SpikeSums | None]
    rounded: Mapping[str, float]  # by node: greatest distance of its float weights from integers, in units
    # by node: number of neurons whose threshold depends on floating-point rounding
    unsure: Mapping[str, int]
    values: Mapping[str, tuple[float, float]]  # values in the source that silence and a spike of every node stand for


def take_weights(graph: OperatorGraph, structure: Structure, name: str) -> TakenWeights:
    """Convert a graph to a network with weights and thresholds."""
    # the last layers that decide nothing, such as sums of which the source takes the greatest, only read spikes out
    read = {source for layer in structure.layers for source in layer.ways}
    ends = {layer.name for layer in structure.layers if layer.name not in read and not _decides(layer)}
    for layer in structure.layers:
        if layer.name not in ends:
            _check_decides(layer)
    return _Taking(graph, structure, name, ends).taken()


def _decides(layer: Layer) -> bool:
    """Whether a node may have two values: one of its operators is a maximum or decides."""
    found = (FUNCTIONS.get(one.setting("function", "")) for one in layer.operators)
    return any(one.kind == "max_pool" for one in layer.operators) or any(f is not None and f.decides for f in found)


def _check_decides(layer: Layer) -> None:
    """Refuse what is evidently not in frame code, before large matrices are made."""
    for one in layer.operators:
        if one.kind in ("product", "multiply", "other", "conv_transpose"):
            raise NotSupportedError(f"node {layer.name}: {one.called} is not a sum of spikes")
        if one.kind == "function" and "function" not in one.settings:
            raise NotSupportedError(f"node {layer.name}: {one.called} takes more than two values")
    if not _decides(layer):
        names = [one.called for one in layer.operators if one.kind == "function"]
        after = f"after {names[-1]} " if names else ""
        raise NotSupportedError(f"node {layer.name}: its value {after}is a number, no step makes it a spike")


class _Taking:
    """Walks a graph, operator by operator, and makes a node wherever a layer ends."""

    def __init__(self, graph: OperatorGraph, structure: Structure, name: str, ends: set[str]) -> None:
        self._graph, self._structure, self._name = graph, structure, name
        self._layers = {layer.operators[-1].gives: layer for layer in structure.layers if layer.name not in ends}
        self._of_operator = {one.gives: layer.name for layer in structure.layers for one in layer.operators}
        self._after_spikes = {one.gives for folds in structure.readout.values() for one in folds}
        self._after_spikes |= {one.gives for layer in structure.layers if layer.name in ends for one in layer.operators}
        self._opaque: set[str] = set()
        self._tensors: dict[str, SpikeSums] = {}
        self._nodes: dict[str, tuple[Shape, object]] = {}
        self._edges: dict[tuple[str, str], MatrixSource] = {}
        self._rounded: dict[str, float] = {}
        self._unsure: dict[str, int] = {}
        self._values: dict[str, tuple[float, float]] = {}

    def taken(self) -> TakenWeights:
        """Walk the graph."""
        inputs = {tensor: name for name, tensor in self._structure.inputs.items()}
        for tensor, shape in self._graph.inputs.items():
            if (name := inputs.get(tensor)) is not None:
                first = input_features_first(self._structure, name)
                found = node_shape(shape, features_first=first)
                if shape is None or found is None:
                    raise NotSupportedError(f"input {name}: its shape is not known")
                if math.prod(shape) > MAX_NEURONS:
                    raise NotSupportedError(f"input {name}: it has more than 2**24 elements")
                self._nodes[name], self._values[name] = (found, None), (0.0, 1.0)
                self._tensors[tensor] = _of_node(name, shape, element_order(shape, features_first=first), 0.0, 1.0)
        for one in self._graph.operators:
            self._add(one)
        outputs = tuple(dict.fromkeys(name for end in self._graph.outputs for name in self._tensors[end].weights))
        computed = [name for name in outputs if name not in self._structure.inputs]
        if not computed or len(computed) < len(outputs):
            raise NotSupportedError(f"output {self._graph.outputs[0]}: is not a node's")
        readout = {end: None if end in self._opaque else self._tensors[end] for end in self._graph.outputs}
        for end, sums in readout.items():  # beyond float32 the order in which a library adds matters
            parts = {} if sums is None else sums.weights
            greatest = sum((abs(part).sum(axis=1) for part in parts.values()), 0 if sums is None else abs(sums.offset))
            if not np.all(greatest <= np.finfo(np.float32).max):
                raise NotSupportedError(f"output {end}: its sums of spikes are not finite")
        if len(computed) == len(readout) == 1:
            readout = {end: self._by_class(computed[0], found) for end, found in readout.items()}
        try:
            network = build_network(self._nodes, self._edges, outputs=computed, name=self._name)
        except NetworkError as error:
            raise NotSupportedError(str(error)) from None
        return TakenWeights(network, readout, self._rounded, self._unsure, self._values)

    def _by_class(self, name: str, found: SpikeSums | None) -> SpikeSums | None:
        """Sort output neurons by the classes that they vote for, where no node reads them."""
        (rows, columns, features), theta = self._nodes[name]
        size = rows * columns * features
        classes = classes_of(found, size)
        if found is None or classes is None or found.size == size or any(u == name for u, _ in self._edges):
            return found
        order = np.argsort(classes, kind="stable")
        if (order == np.arange(size)).all():
            return found
        spread = np.broadcast_to(np.asarray(theta), (size,))
        self._nodes[name] = ((found.size, 1, size // found.size), _least(spread[order]))
        for (source, target), transform in self._edges.items():
            if target == name:
                self._edges[source, target] = MatrixTransform(transform.matrix()[order])
        return replace(found, weights={node: csr_array(part.tocsc()[:, order]) for node, part in found.weights.items()})

    def _add(self, one: Operator) -> None:
        if any(tensor not in self._tensors for tensor in one.reads):
            raise NotSupportedError(f"operator {one.name}: reads an unknown input")
        if self._opaque.intersection(one.reads):
            self._leave(one)
            return
        try:
            found = compute(one, self._tensors)
            layer = self._layers.get(one.gives)
            self._tensors[one.gives] = found if layer is None else self._close(layer, found)
        except NotSupportedError as reason:
            if one.gives in self._after_spikes:
                self._leave(one)
                return
            raise NotSupportedError(f"node {self._of_operator.get(one.gives, one.name)}: {reason}") from None
        except (ValueError, IndexError):  # shapes that do not fit, which a file may claim
            raise NotSupportedError(f"node {one.name}: its shapes do not fit") from None

    def _leave(self, one: Operator) -> None:
        """Leave a readout to the source, recording only which spikes it depends on."""
        held = [self._tensors[tensor] for tensor in one.reads]
        weights = {name: part for found in held for name, part in found.weights.items()}
        self._opaque.add(one.gives)
        unknown = {name: csr_array((1, part.shape[1])) for name, part in weights.items()}
        several = SpikeSums((1,), unknown, np.zeros(1))
        self._tensors[one.gives] = replace(held[0], weights=weights) if len(held) == 1 else several

    def _close(self, layer: Layer, found: SpikeSums) -> SpikeSums:
        """Make a node of the value of a layer, and return the tensor of its spikes."""
        first = features_first(layer)
        shape = node_shape(found.shape, features_first=first)
        if shape is None or not found.weights:
            raise NotSupportedError("it depends on no spikes")
        rows = integer_rows(csr_array(hstack(list(found.weights.values()))))
        decision = decide(rows, found.offset, found.pending)
        order = element_order(found.shape, features_first=first)
        theta = decision.theta[order]
        signed = rows.weights.copy()
        signed.data = signed.data * np.repeat(decision.sign, np.diff(signed.indptr))
        matrix = signed[order]
        is_or, start = bool((theta == 1).all()), 0
        for source, part in found.weights.items():
            mine = csr_array(matrix[:, start : start + part.shape[1]])
            mine.eliminate_zeros()
            start += part.shape[1]
            before = self._nodes[source][0]
            ways = layer.ways.get(source, ())
            self._edges[source, layer.name] = fitted(mine, ways, before, shape, is_or=is_or)
        self._nodes[layer.name] = (shape, _least(theta))
        self._values[layer.name] = (decision.low, decision.high)
        if rows.error:
            self._rounded[layer.name] = rows.error
        if decision.n_unsure:
            self._unsure[layer.name] = decision.n_unsure
        return _of_node(layer.name, found.shape, order, decision.low, decision.high)


def _least(theta: np.ndarray) -> object:
    """Reduce equal thresholds to a single number, so that the network file states it."""
    return int(theta[0]) if (theta == theta[0]).all() else theta


def _of_node(name: str, shape: TensorShape, order: np.ndarray, low: float, high: float) -> SpikeSums:
    """Return the tensor whose elements are the spikes of a node's neurons."""
    size = len(order)
    entries = (np.full(size, high - low), (order, np.arange(size)))
    return SpikeSums(shape, {name: csr_array(entries, shape=(size, size))}, np.full(size, low))


# Integer matrices as transforms that network files state in few numbers: convolutions, pools, identities.
def fitted(matrix: csr_array, ways: Sequence[Way], source: Shape, target: Shape, *, is_or: bool) -> MatrixSource:
    """Express a matrix as the transform that made it, where that reproduces it exactly."""
    # matrix: neurons in the order of nodes
    # is_or: whether all thresholds of the target are 1, as those of pools must be
    # shapes: matrix (n_target, n_source)
    for trial in _trials(matrix, ways, source, target, is_or=is_or):
        found = trial.matrix()
        if found.nnz == matrix.nnz and not (found - matrix).nnz:
            return trial
    return MatrixTransform(matrix)


def _trials(
    matrix: csr_array, ways: Sequence[Way], source: Shape, target: Shape, *, is_or: bool
) -> Iterator[Conv | Pool | Identity]:
    if len(ways) != 1:
        return
    one = ways[0].into
    try:
        if source == target and matrix.nnz == matrix.shape[0]:
            yield Identity(source, target)
        if one.kind == "max_pool" and is_or and "kernel" in one.settings:
            kernel, stride = square(one.settings["kernel"], one.setting("dilation")), square(one.settings["stride"])
            if kernel is not None and stride is not None:
                yield Pool(source, target, kernel, stride)
        if one.kind == "conv":
            yield from _convs(matrix, one, source, target)
    except NetworkError:
        return


def _convs(matrix: csr_array, one: Operator, source: Shape, target: Shape) -> Iterator[Conv]:
    kernel, stride = square(one.settings["kernel"], one.setting("dilation")), square(one.settings["stride"])
    n = len(one.settings["kernel"])
    before = square(one.slides(n)[2][:n])
    if kernel is None or stride is None or before is None:
        return
    groups = int(one.setting("groups", 1))
    if n == 1:
        before = (before[0], 0)
    if source[2] % groups or target[2] % groups:
        groups = 1
    if not any(before):
        yield _with_kernel(matrix, Conv(source, target, kernel, stride, "valid", groups))
    # A network file pads as much on both sides as it must: a kernel that ends in zeros starts where the source's does.
    lengths = zip(target[:2], stride, source[:2], before, kernel, strict=True)
    grown = [max(k, 2 * p + length - (made - 1) * s) for made, s, length, p, k in lengths]
    if all(
        output_length(a, k, s, "same") == b for a, b, k, s in zip(source[:2], target[:2], grown, stride, strict=True)
    ):
        yield _with_kernel(matrix, Conv(source, target, (grown[0], grown[1]), stride, "same", groups))


def _with_kernel(matrix: csr_array, like: Conv) -> Conv:
    """Read the kernel of a convolution off its matrix, each cell in one window where it lies on the source."""
    source, target = like.source_shape, like.target_shape
    per_source, per_target = source[2] // like.groups, target[2] // like.groups
    cell, read, window = Windows(like.kernel, like.stride, like.padding).pairs(source, target)
    cells, at = np.unique(cell, return_index=True)
    features = np.arange(target[2])
    within = np.arange(per_source)[:, None] + features // per_target * per_source
    sources = read[at].astype(np.int64)[:, None, None] * source[2] + within
    neurons = np.broadcast_to(window[at].astype(np.int64)[:, None, None] * target[2] + features, sources.shape)
    picked: Any = matrix[neurons.ravel(), sources.ravel()]
    weights = np.zeros((math.prod(like.kernel), per_source, target[2]), np.int64)
    weights[cells] = (picked.toarray() if hasattr(picked, "toarray") else picked).reshape(sources.shape)
    return replace(like, weights=StoredWeights(weights.reshape(like.weight_shape)))


# Readouts that count votes: output neurons, each of which speaks for one class.
def classes_of(found: SpikeSums | None, size: int) -> NDArray[np.int64] | None:
    """Class that every output neuron votes for."""
    # returns ``None`` unless it is a count of votes: every neuron counts once, as much as any other, and classes have
    # equally many neurons
    # shapes: returns (size,)
    if found is None or found.pending or len(found.weights) != 1 or size % max(found.size, 1):
        return None
    (matrix,) = found.weights.values()
    columns = matrix.tocsc()
    if matrix.nnz != size or matrix.shape != (found.size, size) or (np.diff(columns.indptr) != 1).any():
        return None
    if len(np.unique(matrix.data)) != 1 or matrix.data[0] <= 0 or len(np.unique(found.offset)) != 1:
        return None
    classes = columns.indices.astype(np.int64)
    return classes if (np.bincount(classes, minlength=found.size) == size // found.size).all() else None


# Transforms of edges whose weights are not imported, as far as network files can express them.


def edge_transform(ways: tuple[Way, ...], source: Shape, target: Shape, last: Operator) -> Transform | None:
    """Transform of an edge, without weights."""
    # returns ``None`` if there are several paths, if something else lies on the edge, such as a mean or a function, or
    # if the matrix would be larger than edges may have
    if len(ways) != 1 or last.kind == "average" or any(one.kind not in ("concat", "reshape") for one in ways[0].folds):
        return None
    try:
        return _transform(ways[0].into, source, target)
    except NetworkError:
        return None


def _transform(one: Operator, source: Shape, target: Shape) -> Transform | None:
    if one.kind == "add":
        return Identity(source, target)
    if one.kind == "dense":
        if source[:2] == target[:2] and source[0] * source[1] > 1:
            return Conv(source, target, (1, 1))
        return Dense(source, target) if target[:2] == (1, 1) else None
    if one.kind not in ("conv", "max_pool") or "kernel" not in one.settings:
        return None
    kernel, stride = square(one.settings["kernel"], one.setting("dilation")), square(one.settings["stride"])
    padding = None if kernel is None or stride is None else padding_of(source, target, kernel, stride)
    if kernel is None or stride is None or padding is None:
        return None
    if one.kind == "max_pool":
        return Pool(source, target, kernel, stride, padding)
    return Conv(source, target, kernel, stride, padding, groups=int(one.setting("groups", 1)))


def square(lengths: tuple[int, ...], dilation: tuple[int, ...] | None = None) -> tuple[int, int] | None:
    """Lengths along rows and columns, with dilation; sequences have one column. ``None`` for more axes."""
    spread = dilation or (1,) * len(lengths)
    whole = tuple((n - 1) * d + 1 for n, d in zip(lengths, spread, strict=True))
    if len(whole) == 1:
        return (whole[0], 1)
    return (whole[0], whole[1]) if len(whole) == 2 else None
