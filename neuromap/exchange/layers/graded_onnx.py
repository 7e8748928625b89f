"""Export of graded networks to quantised ONNX graphs (QDQ), whose reference gives their values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import NotSupportedError
from neuromap.exchange.imported import Exported, Note
from neuromap.exchange.layers.graded_nodes import reach_of_sums
from neuromap.exchange.layers.requantise import Meaning, least_totals
from neuromap.files.argument_checks import needs, path_given
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.network.build import require_weights
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import GradedNeuron, rounded
from neuromap.network.transforms import Conv, Dense, Identity, Pool, Shape
from neuromap.registry import require_package
from neuromap.version import __version__

_OPSET = 21
# float32 holds integers up to here, so sums below are exact in any order.
_EXACT = 2**24
_TYPES = (np.uint8, np.int8, np.uint16, np.int16)
_MOST_WEIGHTS = 2**26
# Neighbours of a float32 scale that are tried on either side.
_TRIED = 40


def to_onnx(network: Network, path: str | Path) -> tuple[Note, ...]:
    """Write a graded network as a quantised ONNX model (QDQ), whole or not at all. Needs the extra ``onnx``.

    The model gives the values of the sequential pattern, frame by frame: a node's integers in ``onnx.reference``, minus
    their zero point, are those of :func:`neuromap.reference`. Inside the model values have scale 1, whatever their
    scale, so that all its floats are exact.

    Parameters
    ----------
    network : Network
        Graded, with weights, feed-forward.
    path : str or Path
        Ends in ``.onnx`` by convention.

    Returns
    -------
    tuple of Note
        Nodes for which no float32 scale rounds as the network does, and for how many sums.

    Raises
    ------
    NotSupportedError
        If ``onnx`` is not installed, the network is not graded, has cycles, or has sums that float32 does not hold or
        values of more than 16 bits between nodes.
    NetworkError
        If weights are missing.
    InputError
        If the file cannot be written.
    """
    path = path_given("to_onnx", path)
    needs("to_onnx", network, Network)
    require_package("ONNX", "onnx", "onnx", imports=False)
    content, notes = _model(network)
    write_whole(path, content)
    return notes


def export_onnx(source: Path) -> Exported:
    """Convert a network file to an ONNX file, for ``neuromap export``."""
    network = load_network(source)
    content, notes = _model(network)
    parts = f"{counted(len(network.nodes), 'node')} and {counted(len(network.edges), 'edge')}"
    return Exported(
        network.name,
        "onnx",
        {f"{source.stem}.onnx": content},
        figures={"bytes": len(content)},
        kept=(Note("network", f"{parts}, with the values of the sequential pattern; neuromap import onnx reads it"),),
        approximated=notes,
    )


def _model(network: Network) -> tuple[bytes, tuple[Note, ...]]:
    require_weights(network)
    if not network.is_graded:
        raise NotSupportedError(
            f"network {network.name}: is not graded, so it sends no integers; neuromap export --to nir writes spikes"
        )
    if not nx.is_directed_acyclic_graph(network.graph):
        edges = nx.find_cycle(network.graph)
        cycle = " -> ".join([*(edge[0] for edge in edges), edges[0][0]])
        raise NotSupportedError(
            f"network {network.name}: has the cycle {cycle}; an ONNX graph is one frame without memory, cut the "
            "cycle or keep the network file"
        )
    writer = _Writer(network)
    for name in nx.lexicographical_topological_sort(network.graph, key=list(network.nodes).index):
        writer.write(network.nodes[name])
    return writer.content(), tuple(writer.notes)


class _Writer:
    """Writes operators, node by node."""

    def __init__(self, network: Network) -> None:
        import onnx

        self._onnx, self._network = onnx, network
        self._operators: list[Any] = []
        self._named: dict[str, int] = {}  # operators of every node, less one
        self._stored: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._scales: dict[str, float] = {}
        self._reals: dict[str, str] = {}
        self.notes: list[Note] = []

    def content(self) -> bytes:
        """Serialise the model."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._operators, self._network.name, self._inputs, self._outputs, self._stored)
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="neuromap")
        model.producer_version = __version__
        helper.set_model_props(model, {"neuromap.scales": json.dumps(self._scales)})
        return bytes(model.SerializeToString(deterministic=True))

    def write(self, node: Node) -> None:
        """Write a node: its sums, the integers that they are rounded to, and these dequantised."""
        (neuron, _), name = _known(node), node.name
        if neuron.scale is not None:
            self._scales[name] = neuron.scale
        if name in self._network.inputs:
            self._inputs.append(self._port(name, self._onnx.TensorProto.FLOAT, node))
            self._round(node, name, np.array([neuron.scale or 1.0]), is_input=True)
            return
        sums = self._sums(node)
        is_read = any(u == name for u, _ in self._network.edges)
        if name in self._network.outputs and not is_read and _type_of(neuron) is None:
            if (neuron.multiplier == 1).all() and (neuron.shift == 0).all():
                low, high = self._require_exact(node, _EXACT, "float32")
                if low.min(initial=0) < neuron.low or high.max(initial=0) > neuron.high:
                    ends = (np.asarray(end, np.float32) for end in (neuron.low, neuron.high))
                    sums = self._op("Clip", [sums, *(self._store(end, f"{name}.end") for end in ends)], name)
                kind = self._onnx.TensorProto.FLOAT
            else:
                sums, kind = self._wide(node, sums), self._onnx.TensorProto.INT32
            self._outputs.append(self._port(sums, kind, node))
            return
        self._round(node, sums, self._unit(node))

    def _port(self, tensor: str, kind: int, node: Node) -> Any:
        return self._onnx.helper.make_tensor_value_info(tensor, kind, _axes(node))

    def _op(self, kind: str, reads: list[str], name: str, gives: str = "", **said: Any) -> str:
        gives = gives or f"{name}.{kind.lower()}{len(self._operators)}"
        # runtimes refuse two operators of one name: a slash more tells them apart, and as a path each still is the node
        self._named[name] = number = self._named.get(name, -1) + 1
        self._operators.append(self._onnx.helper.make_node(kind, reads, [gives], name=name + "/" * number, **said))
        return gives

    def _store(self, array: NDArray[Any], name: str) -> str:
        name = f"{name}.{len(self._stored)}" if any(one.name == name for one in self._stored) else name
        self._stored.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    # Sums.

    def _sums(self, node: Node) -> str:
        (neuron, _), name = _known(node), node.name
        edges = [edge for edge in self._network.edges.values() if edge.target == name]
        if neuron.maximum:
            if len(edges) > 1 or not isinstance(edges[0].transform, Pool):
                raise NotSupportedError(f"node {name}: takes the greatest of other than one pool; ONNX has that alone")
            return self._op("MaxPool", [self._reals[edges[0].source]], name, **_windows(edges[0].transform))
        total = ""
        for edge in edges:
            part = self._edge(edge)
            total = part if not total else self._op("Add", [total, part], name)
        if neuron.bias.any():
            each = _by_feature(np.broadcast_to(neuron.bias, node.size), node)
            bias = self._store(each.astype(np.float32), f"{name}.bias")
            total = self._op("Add", [total, bias], name)
        return total

    def _edge(self, edge: Edge) -> str:
        transform, source = edge.transform, self._reals[edge.source]
        if isinstance(transform, Identity):
            return source
        if not isinstance(transform, Conv | Pool):
            return self._matrix(edge, source)
        features = transform.source_shape[2]
        kernel, groups = np.ones((features, 1, *transform.kernel), np.int64), features
        if isinstance(transform, Conv) and transform.weights is not None:
            kernel, groups = transform.weights.tensor(transform.weight_shape).transpose(3, 2, 0, 1), transform.groups
        reads = [source, self._integers(kernel, edge.target)]
        return self._op("Conv", reads, edge.target, **_windows(transform), group=groups)

    def _matrix(self, edge: Edge, source: str) -> str:
        before, after = self._network.nodes[edge.source], self._network.nodes[edge.target]
        transform = edge.transform
        if isinstance(transform, Dense) and transform.groups == 1 and transform.weights is not None:
            matrix = transform.weights.tensor(transform.weight_shape)
        elif before.size * after.size > _MOST_WEIGHTS:
            raise NotSupportedError(
                f"edge {edge.label}: is a matrix of {before.size * after.size} weights; at most 2**26 = {_MOST_WEIGHTS}"
                " are written, give it as a conv or pool"
            )
        else:
            matrix = edge.matrix().toarray()
        weights = matrix[_features_first(after)][:, _features_first(before)]
        flat = self._op("Flatten", [source], edge.target)
        found = self._op("MatMul", [flat, self._integers(weights.T, edge.target)], edge.target)
        shape = self._store(np.array(_axes(after)), f"{edge.target}.shape")
        return self._op("Reshape", [found, shape], edge.target)

    def _integers(self, weights: Ints, name: str) -> str:
        """Store weights in the narrowest integer type, dequantised with scale 1."""
        greatest = int(np.abs(weights).max(initial=0))
        kind = next((k for k in (np.int8, np.int16, np.int32) if greatest <= np.iinfo(k).max), np.int32)
        reads = [self._store(weights.astype(kind), f"{name}.weight"), self._store(np.float32(1), f"{name}.one")]  # type: ignore[arg-type]
        return self._op("DequantizeLinear", reads, name)

    # Integers of sums.

    def _unit(self, node: Node) -> Floats:
        """Find the float32 scale that rounds as the neuron does, for every feature or neuron."""
        (neuron, whole), name = _known(node), node.name
        low, high = self._require_exact(node, _EXACT, "float32")
        ratio = np.stack([np.broadcast_to(part, node.size) for part in (neuron.multiplier, neuron.shift)])
        if (ratio.reshape(2, -1, whole[2]) == ratio[:, None, : whole[2]]).all():  # then scales are those of features
            ratio, low, high = ratio[:, : whole[2]], low.reshape(-1, whole[2]).min(0), high.reshape(-1, whole[2]).max(0)
        numbers = np.stack([*ratio, low, high])
        alike, back = np.unique(numbers, axis=1, return_inverse=True)
        missed, found = 0, np.zeros(alike.shape[1])
        for k, (multiplier, shift, least, most) in enumerate(alike.T.tolist()):
            found[k], misses = _float_scale(neuron, multiplier, shift, least, most)
            missed += misses
        if missed:
            text = "no float32 scale rounds as the network does"
            self.notes.append(Note(name, text, error=float(missed), unit="sums of different neurons"))
        return found[back.ravel()]

    def _require_exact(self, node: Node, bound: int, kind: str, factor: int = 1) -> tuple[Ints, Ints]:
        """Return the least and greatest sums, and require that a type of ONNX holds them times a factor."""
        low, high = self._reach(node)
        greatest = int(max(high.max(initial=0), -low.min(initial=0))) * factor
        if greatest >= bound:
            times = f" times its multiplier of {factor}" if factor > 1 else ""
            raise NotSupportedError(
                f"node {node.name}: its sums{times} reach {greatest}; {kind} of ONNX holds integers below "
                f"2**{bound.bit_length() - 1} = {bound}, take fewer bits, or keep the network file"
            )
        return low, high

    def _wide(self, node: Node, sums: str) -> str:
        """Round the sums of an output, exactly in float64, to integers for which QuantizeLinear has no type."""
        (neuron, _), name = _known(node), node.name
        self._require_exact(node, _EXACT, "float32")
        self._require_exact(node, 2**53, "float64", int(neuron.multiplier.max()))
        ratio = np.ldexp(neuron.multiplier.astype(np.float64), -neuron.shift)
        each = _by_feature(np.broadcast_to(ratio, node.size), node)
        low, high, zero = (
            self._store(np.float64(bound), f"{name}.{word}")  # type: ignore[arg-type]
            for bound, word in ((neuron.low, "low"), (neuron.high, "high"), (neuron.zero_point, "zero"))
        )
        found = self._op("Cast", [sums], name, to=self._onnx.TensorProto.DOUBLE)
        found = self._op("Round", [self._op("Mul", [found, self._store(each, f"{name}.ratio")], name)], name)
        found = self._op("Add", [self._op("Clip", [found, low, high], name), zero], name)
        return self._op("Cast", [found], name, gives=f"{name}.integers", to=self._onnx.TensorProto.INT32)

    def _reach(self, node: Node) -> tuple[Ints, Ints]:
        neuron, _ = _known(node)
        edges = [(u, edge.transform) for (u, v), edge in self._network.edges.items() if v == node.name]
        into = [(_known(self._network.nodes[u])[0], transform) for u, transform in edges if transform is not None]
        if neuron.maximum:
            least, most = (np.full(node.size, bound) for bound in (into[0][0].low, into[0][0].high))
        else:
            least, most = (part.astype(np.int64) for part in reach_of_sums(into, node.size))
        return least + neuron.bias, most + neuron.bias

    def _round(self, node: Node, sums: str, unit: Floats, *, is_input: bool = False) -> None:
        (neuron, whole), name = _known(node), node.name
        found = _type_of(neuron)
        if found is None:
            raise NotSupportedError(
                f"node {name}: its values are {neuron.low} to {neuron.high}; integers of ONNX have at most 16 bits, "
                "quantise to fewer"
            )
        kind, zero = found
        info, per_neuron = np.iinfo(kind), len(unit) > whole[2]
        each = unit.astype(np.float32)
        if per_neuron:  # a scale has one axis, so neurons are flattened to one
            sums = self._op("Flatten", [sums], name)
            each = each[_features_first(node)]
        is_one = bool((each == each[0]).all())
        spread = each[:1] if is_one else each[None] if per_neuron else each.reshape(1, -1, 1, 1)

        far = False  # beyond 32 bits, where runtimes wrap before they saturate
        if not is_input:
            far = max(int(np.abs(end).max(initial=0)) for end in self._reach(node)) >= 2**31 * float(unit.min())

        def bounded(op: str, value: int, word: str) -> str:
            bound = self._store((spread * np.float32(value)).astype(np.float32), f"{name}.{word}")
            return self._op(op, [sums, bound], name)

        if neuron.low == 0 and info.min - zero < 0:
            sums = self._op("Relu", [sums], name)
        elif neuron.low > info.min - zero or far:
            sums = bounded("Max", neuron.low, "low")
        if neuron.high < info.max - zero or far:
            sums = bounded("Min", neuron.high, "high")
        scale = self._store(each[0] if is_one else each, f"{name}.scale")
        point = np.asarray(zero, kind) if is_one else np.full(each.shape, zero, kind)
        reads = [sums, scale, self._store(point, f"{name}.zero")]
        integers = self._op("QuantizeLinear", reads, name, gives=f"{name}.integers", axis=1)
        if per_neuron:
            shape = self._store(np.array(_axes(node)), f"{name}.shape")
            integers = self._op("Reshape", [integers, shape], name)
        numbers = [self._store(np.float32(1), f"{name}.one"), self._store(np.asarray(zero, kind), f"{name}.zero")]  # type: ignore[arg-type]
        self._reals[name] = self._op("DequantizeLinear", [integers, *numbers], name)
        if name in self._network.outputs and not is_input:
            held = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
            self._outputs.append(self._port(integers, held, node))


def _type_of(neuron: GradedNeuron) -> tuple[Any, int] | None:
    """Find the type and zero point of a neuron's integers; the zero point is its own if a type holds it."""
    for zero in dict.fromkeys((neuron.zero_point, 0)):
        for kind in _TYPES:
            info = np.iinfo(kind)
            if info.min <= neuron.low + zero and neuron.high + zero <= info.max and info.min <= zero <= info.max:
                return kind, zero
    return None


def _float_scale(neuron: GradedNeuron, multiplier: int, shift: int, low: int, high: int) -> tuple[float, int]:
    """Find a float32 scale that rounds every sum as a multiplier and a shift do, else the one that misses least."""
    if multiplier == 0:
        return 2.0**100, 0
    nominal = np.float32(2.0**shift / multiplier)
    steps = np.arange(neuron.low + 1, neuron.high + 1)
    if not len(steps):
        return float(nominal), 0
    ends = np.array([low]), np.array([high])
    guess = ((steps - 0.5) * float(nominal))[None]

    def ours(total: Ints) -> Ints:
        return rounded(total, np.int64(multiplier), np.int64(shift))  # type: ignore[arg-type] # for all

    wanted = least_totals(ours, guess, *ends, steps)
    up = down = nominal
    best = (math.inf, nominal)
    for _ in range(_TRIED):
        for trial in dict.fromkeys((up, down)):
            meaning = Meaning(np.ones(1), np.array([float(trial)]), 0, neuron.low, neuron.high)
            missed = int(np.abs(least_totals(meaning.values, guess, *ends, steps) - wanted).sum())
            best = min(best, (missed, trial))
            if not missed:
                return float(trial), 0
        up, down = np.nextafter(up, np.float32(np.inf)), np.nextafter(down, np.float32(0))
    return float(best[1]), int(best[0])


def _known(node: Node) -> tuple[GradedNeuron, Shape]:
    assert node.graded is not None
    assert node.shape is not None
    return node.graded, node.shape


def _axes(node: Node) -> list[int]:
    """Lengths of a node's tensor for one frame."""
    rows, columns, features = _known(node)[1]
    return [1, features, rows, columns]


def _features_first(node: Node) -> Ints:
    """Neuron of every element of a tensor (features, rows, columns)."""
    return np.moveaxis(np.arange(node.size).reshape(_known(node)[1]), 2, 0).ravel()


def _windows(transform: Conv | Pool) -> dict[str, Any]:
    stride = transform.stride or transform.kernel
    return {"kernel_shape": transform.kernel, "strides": stride, "pads": transform.margins}


def _by_feature(array: Ints, node: Node) -> Ints:
    """Reshape numbers of neurons to a tensor, or to one per feature if that suffices."""
    whole = np.moveaxis(array.reshape(_known(node)[1]), 2, 0)[None]
    each = whole[:, :, :1, :1]
    return each if (whole == each).all() else whole
