"""Import of quantised operator graphs as networks of graded nodes, which compute the same integers.

For every tensor, the walk keeps either the node values that its elements are (integers), or the sums of values that it
consists of (reals). Where sums become integers, a node ends: its edges are the sums, and ``requantise`` proves its
multiplier and shift. Values are counted from the zero point, so that padding and silence are both 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.exchange.layers.compute import cells_counted, conv_matrix, dense_matrix, moved_elements, window_matrix
from neuromap.exchange.layers.find_structure import Structure, element_order, node_name
from neuromap.exchange.layers.graded_nodes import (
    GradedNodes,
    Held,
    Part,
    Sums,
    TakenGraded,
    conv_of,
    reshaped,
    scaled,
    shape_of,
)
from neuromap.exchange.layers.requantise import Meaning
from neuromap.files.messages import show_name
from neuromap.formats.layers import FUNCTIONS, Operator, OperatorGraph, TensorShape, along
from neuromap.network.build import build_network
from neuromap.network.edge import MatrixSource
from neuromap.network.spiking_neuron import PAYLOAD, GradedNeuron
from neuromap.network.transforms import Conv, Dense, Pool
from neuromap.network.weights import MAX_NEURONS

_MOVES = ("reshape", "transpose", "slice", "pad")
_COMPUTES = ("conv", "conv_transpose", "dense", "product", "multiply", "add", "average", "max_pool")


def is_quantised(graph: OperatorGraph) -> bool:
    """Whether a graph quantises or dequantises tensors."""
    return any(one.setting("quantises") or one.setting("dequantises") for one in graph.operators)


def require_divisors(graph: OperatorGraph) -> None:
    """Refuse a graph that quantises by a scale that is not positive: its integers would mean nothing."""
    for one in graph.operators:
        if one.setting("quantises"):
            try:
                _positive(one.constants[0])
            except NotSupportedError as reason:
                raise InputError(f"node {show_name(one.name)}: {reason}") from None


def take_graded(graph: OperatorGraph, structure: Structure, name: str) -> TakenGraded:
    """Convert a quantised graph to a graded network."""
    return _Walk(graph, structure).taken(name)


class _Walk(GradedNodes):
    """Walks a graph, operator by operator, and makes a node wherever sums become integers."""

    def __init__(self, graph: OperatorGraph, structure: Structure) -> None:
        super().__init__()
        self._graph = graph
        self._layers = {one.gives: layer for layer in structure.layers for one in layer.operators}
        self._input_names = {tensor: name for name, tensor in structure.inputs.items()}
        self._tensors: dict[str, Held | Sums] = {}
        self._opaque: dict[str, str] = {}
        self._inputs: dict[str, str] = {}
        self._tail = tail_of(graph)

    def taken(self, name: str) -> TakenGraded:
        """Walk the graph."""
        for one in self._graph.operators:
            self._add(one)
        reals: dict[str, tuple[str, Ints, Floats]] = {}
        outputs: list[str] = []
        for tensor in self._graph.outputs:
            end = self._end(tensor)
            if isinstance(end, Sums):
                part = end.parts[0]
                elements = np.asarray(part.link)
                is_whole = tensor not in self._opaque  # else the host goes on with the sums
                unit = self._in_one_unit(part.node, elements, part.unit) if is_whole else part.unit
                reals[tensor] = (part.node, elements, unit)
            node = end.node if isinstance(end, Held) else end.parts[0].node
            if node in self._inputs:
                raise NotSupportedError(f"output {tensor}: is an input, no node computes it")
            outputs.append(node)
        for name_of, scale in self._graph.scales.items():
            if name_of in self._nodes:
                shape, neuron = self._nodes[name_of]
                self._nodes[name_of] = (shape, replace(neuron, scale=scale))
        try:
            network = build_network(self._nodes, self._edges, outputs=dict.fromkeys(outputs), name=name)
        except NetworkError as error:
            raise NotSupportedError(str(error)) from None
        opaque = {tensor: why for tensor, why in self._opaque.items() if tensor in self._graph.outputs}
        places = {tensor: held for tensor, held in self._tensors.items() if isinstance(held, Held)}
        return TakenGraded(network, places, self._inputs, reals, opaque, self._differ, self._off, self._wide)

    def _end(self, tensor: str) -> Held | Sums:
        """Return the values that an output consists of."""
        while tensor in self._opaque:
            tensor = next(one.reads[0] for one in self._graph.operators if one.gives == tensor)
        end = self._tensors.get(tensor)
        if end is None:
            raise NotSupportedError(f"output {tensor}: is not a sum of integers")
        if isinstance(end, Sums) and not end.is_plain:
            end = self._raw(end)
        return end

    # What every operator does.

    def _add(self, one: Operator) -> None:
        if any(tensor in self._opaque for tensor in one.reads):
            self._opaque[one.gives] = f"{one.called} follows what is not taken over"
            return
        try:
            if one.shape is None:
                raise NotSupportedError("its shape is not known; give the source's inputs fixed sizes")
            if math.prod(one.shape) > MAX_NEURONS:
                raise NotSupportedError(f"it has {math.prod(one.shape)} elements; at most 2**24 are taken")
            self._tensors[one.gives] = self._computed(one)
        except NotSupportedError as reason:
            if one.gives in self._tail and one.kind in ("function", "other"):
                self._opaque[one.gives] = str(reason)
                return
            raise NotSupportedError(f"node {self._label(one)}: {reason}") from None
        except (NetworkError, ValueError, IndexError, OverflowError) as error:  # shapes that do not fit
            why = str(error) if isinstance(error, NetworkError) else "its shapes do not fit"
            raise NotSupportedError(f"node {self._label(one)}: {why}") from None

    def _computed(self, one: Operator) -> Held | Sums:
        if one.setting("dequantises"):
            return self._dequantised(one)
        if one.setting("quantises"):
            return self._quantised(one)
        if one.kind == "function" and one.setting("function") == "same" and one.reads[0] in self._tensors:
            return self._tensors[one.reads[0]]
        if one.kind in _MOVES:
            return self._moved(one)
        if one.kind == "max_pool":
            return self._greatest(one)
        if one.kind == "concat":
            return self._joined(one)
        given = [self._read(tensor) for tensor in one.reads]
        read = [found for found in given if isinstance(found, Sums)]
        if len(read) < len(given):
            raise NotSupportedError("it computes with integers as if they were numbers; dequantise them")
        if one.kind == "function":
            return self._applied(one, read[0])
        if one.kind == "add":
            return self._added(one, read)
        if one.kind in ("conv", "conv_transpose", "dense"):
            return self._weighed(one, read[0])
        if one.kind == "average":
            return self._mean(one, read[0])
        raise NotSupportedError(f"{one.called} is not a sum of values")

    def _read(self, tensor: str) -> Held | Sums:
        """Return a tensor; an input of integers becomes a node, with the zero point with which it is dequantised."""
        if tensor in self._tensors:
            return self._tensors[tensor]
        for one in self._after(tensor, (*_MOVES, "max_pool", "concat")) if tensor in self._graph.inputs else ():
            if one.setting("dequantises"):
                self._tensors[tensor] = held = self._input(tensor, one)
                return held
        raise NotSupportedError("it reads an input that nothing quantises; quantise the input, or calibrate")

    def _after(self, tensor: str, through: Collection[str]) -> Iterator[Operator]:
        """Yield the operators that read a tensor, or what operators of some kinds make of it."""
        front = {tensor}
        for one in self._graph.operators:
            if not front.isdisjoint(one.reads):
                yield one
                if one.kind in through:
                    front.add(one.gives)

    def _dequantised(self, one: Operator) -> Sums:
        scale, zero = _positive(one.constants[0]), one.constants[1]
        (tensor,) = one.reads
        held = self._read(tensor)
        if not isinstance(held, Held):
            raise NotSupportedError("it makes reals of what are not integers")
        neuron = self._nodes[held.node][1]
        if (zero != neuron.zero_point).any():
            raise NotSupportedError(f"its zero point {zero.ravel()[0]} is not that of {held.node}, {neuron.zero_point}")
        part = Part(held.node, held.elements, _along(scale, one.setting("axis", 1), held.shape))
        return _plain(part, held.shape)

    def _input(self, tensor: str, one: Operator) -> Held:
        """Make an input node."""
        shape = self._graph.inputs[tensor]
        if shape is None or "low" not in one.settings:
            raise NotSupportedError(f"input {tensor}: its shape or type is not known")
        scale, zero = _positive(one.constants[0]), _single(one.constants[1])
        low, high = one.settings["low"] - zero, one.settings["high"] - zero
        # a convolution over sequences reads it with its features first
        windows = [one for one in self._after(tensor, ("function",)) if one.kind in ("conv", "max_pool", "average")]
        first = any(len(one.setting("kernel", ())) == 1 for one in windows)
        name = node_name(self._input_names.get(tensor, tensor), self._nodes)
        found = shape_of(shape, first)
        unit = float(scale.ravel()[0]) if scale.size == 1 else None
        self._nodes[name] = (found, GradedNeuron(low, high, zero_point=zero, scale=unit))
        self._inputs[name] = tensor
        return self._of_node(name, shape, first)

    def _moved(self, one: Operator) -> Held | Sums:
        found = self._read(one.reads[0])
        shape = one.shape or ()
        source = found.shape if isinstance(found, Held) else _seen(found)
        elements, constant = moved_elements(one, [source], shape)
        if isinstance(found, Held):
            if (elements < 0).any() and constant != self._nodes[found.node][1].zero_point:
                raise NotSupportedError(f"it pads with {constant:g}, not with the zero point; pad with that")
            return Held(shape, found.node, np.where(elements < 0, -1, found.elements[elements]))
        if (elements < 0).any() and constant:
            raise NotSupportedError(f"it pads with {constant:g}; only 0 is no value of a neuron")
        if one.kind == "reshape" and not found.is_plain:
            return reshaped(found, shape)
        return self._arranged([found], elements, shape)

    def _arranged(self, read: list[Sums], elements: Ints, shape: TensorShape, made: Operator | None = None) -> Sums:
        """Move elements of tensors, numbered one tensor after the other; -1 stands for 0."""
        plain = [self._raw(part) if part.is_bounded or not part.has_elements else part for part in read]
        starts = np.cumsum([0, *(len(part.offset) for part in plain)])
        parts = []
        for found, start, end in zip(plain, starts[:-1], starts[1:], strict=True):
            inside = (elements >= start) & (elements < end)
            at = np.where(inside, elements - start, 0)
            parts += [
                replace(part, link=np.where(inside, np.asarray(part.link)[at], -1), unit=part.unit[at])
                for part in found.parts
            ]
        offset = np.where(elements < 0, 0.0, np.concatenate([part.offset for part in plain])[elements])
        count = np.concatenate([part.count for part in plain])[elements]
        return Sums(shape, tuple(parts), offset, count, made=made or plain[0].made)

    def _applied(self, one: Operator, read: Sums) -> Sums:
        """Apply an element-wise function: scales and shifts go into units, bounds wait for integers."""
        word = one.setting("function", "")
        if word in ("relu", "clip"):
            bounds = one.constants if word == "clip" else (np.zeros(1), np.full(1, np.inf))
            low, high = (part.astype(np.float64) for part in bounds)
            if max(low.size, high.size) > 1:  # after a maximum there are as many bounds as it has elements
                low, high = (np.broadcast_to(part, _seen(read)).ravel() for part in (low, high))
                read = self._raw(read) if read.pool is not None else read
            else:
                low, high = low.ravel(), high.ravel()
            # if bounds are in the wrong order, the upper one holds, in ONNX and in PyTorch
            floor, ceiling = (np.minimum(np.maximum(part, low), high) for part in (read.floor, read.ceiling))
            return replace(read, floor=floor, ceiling=ceiling)
        factor, shift = affine(one, _seen(read))
        if replace(read, view=None).is_bounded:
            read = self._raw(read)
        parts = []
        for part in read.parts:
            if (factor <= 0).any():  # units are positive, signs and zeros go into weights
                order = element_order(read.shape, features_first=read.first)
                link = self._identity(part, read) if isinstance(part.link, np.ndarray) else part.link
                part = replace(part, link=scaled(link, np.sign(factor[order]).astype(np.int64)))
            parts.append(replace(part, unit=part.unit * np.where(factor == 0, 1.0, np.abs(factor))))
        return replace(read, parts=tuple(parts), offset=read.offset * factor + shift)

    def _added(self, one: Operator, read: list[Sums]) -> Sums:
        layouts = {part.first for part in read if not part.has_elements}
        plain = [
            self._raw(part) if part.is_bounded or (part.count != 1).any() or len(layouts) > 1 else part for part in read
        ]
        if any(part.shape != one.shape for part in plain):
            raise NotSupportedError("it adds tensors of different shapes")
        signed = list(zip(plain, one.setting("signs", (1,) * len(read)), strict=True))
        parts = [replace(part, sign=part.sign * sign) for found, sign in signed for part in found.parts]
        offset = sum((found.offset * sign for found, sign in signed), np.zeros(plain[0].offset.shape))
        first = any(part.first for part in plain if not part.has_elements)
        return replace(plain[0], parts=tuple(parts), offset=offset, first=first, made=one)

    def _joined(self, one: Operator) -> Held | Sums:
        """Concatenate tensors; integers are copied by a node."""
        if not one.setting("whole"):
            raise NotSupportedError("it puts constants beside values")
        given = [self._read(tensor) for tensor in one.reads]
        neurons = [self._nodes[part.node][1] for part in given if isinstance(part, Held)]
        if neurons and len({(n.low, n.high, n.zero_point) for n in neurons}) > 1:
            raise NotSupportedError("it puts integers of different ranges or zero points beside each other")
        read = [
            _plain(Part(p.node, p.elements, np.ones(len(p.elements))), p.shape) if isinstance(p, Held) else p
            for p in given
        ]
        shape = one.shape or ()
        elements, _ = moved_elements(one, [_seen(part) for part in read], shape)
        found = self._arranged(read, elements, shape, one)
        if not neurons:
            return found
        low, high, zero = neurons[0].low, neurons[0].high, neurons[0].zero_point
        return self._close(found, self._name(one), None, (low, high, zero, neurons[0].scale))

    # Sums.

    def _operand(self, read: Sums) -> tuple[str, Ints, Floats]:
        """Return node, elements and units of a sum's input; a node is made where these are not values yet."""
        plain = read if read.is_plain else self._raw(read)
        (part,) = plain.parts
        return part.node, np.asarray(part.link), part.unit

    def _weighed(self, one: Operator, read: Sums) -> Sums:
        """Multiply values by weights: convolutions and matrices."""
        if not one.exact or one.exact[0] is None:
            words = "quantise them (QuantizeLinear, or DequantizeLinear of integers), or calibrate"
            raise NotSupportedError(f"its weights are floats; {words}")
        integers, scale = (np.asarray(part) for part in one.exact[0])
        _positive(scale)
        node, elements, unit = self._operand(read)
        shape = one.shape or ()
        axis = 1 if one.kind == "conv_transpose" else 0
        per_feature = np.moveaxis(scale, axis, 0).reshape(scale.shape[axis], -1)
        groups = int(one.setting("groups", 1))
        if (per_feature != per_feature[:, :1]).any():
            raise NotSupportedError("its weights have more than one scale for an output feature; take one for each")
        each = per_feature[:, 0].astype(np.float64)
        if axis == 1 and groups > 1:
            each = np.tile(each, groups)
        feature_axis = len(shape) - 1 if one.kind == "dense" else 1
        units = each * self._source_units(one, read.shape, unit, integers, groups)
        found = np.broadcast_to(along(feature_axis, units, len(shape)), shape).ravel()
        whole = replace(one, constants=(integers,))
        first = one.kind != "dense" and len(shape) == 3
        link = self._link(whole, node, elements, read.shape, first)
        offset = np.zeros(len(found))
        if len(one.constants) > 1:
            exact = one.exact[1] if len(one.exact) > 1 else None
            bias = one.constants[1].astype(np.float64) if exact is None else exact[0] * exact[1].astype(np.float64)
            offset = np.array(np.broadcast_to(along(feature_axis, bias, len(shape)), shape).ravel())
        return Sums(shape, (Part(node, link, found),), offset, np.ones(len(found), np.int64), first=first, made=one)

    @staticmethod
    def _source_units(one: Operator, shape: TensorShape, unit: Floats, integers: Ints, groups: int) -> Any:
        """Find the unit of the input of every output feature: one for all, or that of its own feature."""
        if (unit == unit[0]).all():
            return unit[0]
        by_feature = np.moveaxis(unit.reshape(shape), 1, 0).reshape(shape[1], -1) if len(shape) > 1 else unit[:, None]
        is_depthwise = one.kind == "conv" and groups == shape[1] and (by_feature == by_feature[:, :1]).all()
        if not is_depthwise:
            raise NotSupportedError("it adds up values of different scales; give the tensor that it reads one scale")
        return np.repeat(by_feature[:, 0], len(integers) // groups)

    def _link(self, one: Operator, node: str, elements: Ints, source: TensorShape, first: bool) -> MatrixSource:
        """Express an operator with integer weights as a transform, or else as a matrix."""
        shape, weights = one.shape or (), one.constants[0]
        before, after = self._nodes[node][0], shape_of(shape, first)
        straight = before == shape_of(source, first) and (elements == self._of_node(node, source, first).elements).all()
        if one.kind == "conv" and straight and len(source) in (3, 4):
            return conv_of(one, before, after, weights)
        if one.kind == "dense" and math.prod(source[:-1]) == 1:
            dense = np.zeros((len(weights), math.prod(before)), np.int64)
            inside = elements >= 0
            np.add.at(dense.T, elements[inside], weights[:, inside].T)
            return Dense(before, after, weights=dense)  # type: ignore[arg-type]
        if one.kind == "dense" and straight and len(source) <= 3:
            return Conv(before, after, (1, 1), (1, 1), "valid", 1, weights.T[None, None])  # type: ignore[arg-type]
        if one.kind == "conv_transpose":
            matrix = csr_array(conv_matrix(replace(one, kind="conv"), shape, source).T)
        else:
            matrix = conv_matrix(one, source, shape) if one.kind == "conv" else dense_matrix(one, source)
        return self._placed(node, matrix, elements, element_order(shape, features_first=first))

    def _mean(self, one: Operator, read: Sums) -> Sums:
        node, elements, unit = self._operand(read)
        shape = one.shape or ()
        windows, counts, unit, first = self._windows(one, node, elements, read.shape, unit)
        count = counts if one.setting("mean") else np.ones(len(unit), np.int64)
        return Sums(shape, (Part(node, windows, unit),), np.zeros(len(unit)), count, first=first, made=one)

    def _windows(
        self, one: Operator, node: str, elements: Ints, source: TensorShape, unit: Floats
    ) -> tuple[MatrixSource, Ints, Floats, bool]:
        """Express windows as a transform of weights 1, with cell counts, units, and whether features come first."""
        if "kernel" not in one.settings and one.setting("axes") == tuple(range(2, len(source))):
            n = len(source) - 2
            settings = {**one.settings, "kernel": source[2:], "stride": (1,) * n, "pads": (0,) * 2 * n}
            one = replace(one, settings={**settings, "counts_padding": False}, shape=(*source[:2], *(1,) * n))
        first = len(source) == 3 and "kernel" in one.settings
        matrix = window_matrix(one, source, one.shape or ())
        counts = cells_counted(one, matrix, source, one.shape or ())
        units = np.asarray((matrix @ unit) / np.maximum(np.asarray(matrix.sum(axis=1)), 1))
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        if not np.allclose(unit[matrix.indices], units[rows], rtol=1e-12, atol=0):
            raise NotSupportedError("it puts values of different scales together; give the tensor one scale")
        before, after = self._nodes[node][0], shape_of(one.shape or (), first)
        straight = before == shape_of(source, first) and (elements == self._of_node(node, source, first).elements).all()
        if "kernel" in one.settings and straight and len(source) in (3, 4):
            ones = np.ones((source[1], 1, *one.settings["kernel"]), np.int64)
            depthwise = replace(one, settings={**one.settings, "groups": source[1]})
            found: MatrixSource = conv_of(depthwise, before, after, ones)
        else:
            found = self._placed(node, matrix, elements, element_order(one.shape or (), features_first=first))
        return found, counts, units, first

    def _greatest(self, one: Operator) -> Held | Sums:
        found = self._read(one.reads[0])
        if isinstance(found, Sums):
            if found.pool is not None or found.view is not None:
                found = self._raw(found)
            return replace(found, pool=one, made=found.made or one)
        neuron = self._nodes[found.node][1]
        greatest = GradedNeuron(neuron.low, neuron.high, maximum=1, zero_point=neuron.zero_point, scale=neuron.scale)
        return self._pooled(one, found, self._name(one), greatest)

    def _pooled(self, one: Operator, held: Held, name: str, neuron: GradedNeuron) -> Held:
        """Make a node that takes maxima."""
        if (held.elements < 0).any():
            raise NotSupportedError("it takes the greatest of values and of padding; pad in the operator itself")
        unit = np.ones(math.prod(held.shape))
        link, _, _, first = self._windows(one, held.node, held.elements, held.shape, unit)
        shape = one.shape or ()
        if isinstance(link, Conv) and one.setting("dilation", (1, 1)) in ((1, 1), (1,)):
            link = Pool(link.source_shape, link.target_shape, link.kernel, link.stride, link.padding)
        self._nodes[name] = (shape_of(shape, first), neuron)
        self._edges[held.node, name] = link
        return self._of_node(name, shape, first)

    # Nodes.

    def _quantised(self, one: Operator) -> Held:
        (tensor,) = one.reads
        if tensor not in self._tensors and tensor in self._graph.inputs:
            return self._input(tensor, one)
        read = self._tensors.get(tensor)
        if not isinstance(read, Sums):
            raise NotSupportedError("it quantises what are not reals")
        zero = _single(one.constants[1])
        low, high = one.settings["low"] - zero, one.settings["high"] - zero
        scale = _along(_positive(one.constants[0]), one.setting("axis", 1), _seen(read))
        if read.view is not None:
            held = self._quantised_of(replace(one, name=self._label(one)), replace(read, view=None), scale)
            return Held(read.view, held.node, held.elements)
        if read.pool is not None:
            return self._quantised_pool(one, read, (low, high, zero), scale)
        ways = bool(one.setting("fused")), bool(one.setting("inverse"))
        bounds = read.floor, read.ceiling
        meaning = Meaning(read.parts[0].unit, scale, zero, low, high, *ways, read.count, 0.0, *bounds)
        if read.is_plain and (same := self._same(read, meaning)) is not None:
            return same
        single = float(scale[0]) if (scale == scale[0]).all() else None
        return self._close(read, self._name(one), meaning, (low, high, zero, single))

    def _quantised_pool(self, one: Operator, read: Sums, values: tuple[int, int, int], scale: Floats) -> Held:
        """Quantise a maximum as the maximum of quantised values, since rounding is monotone."""
        pool = read.pool
        assert pool is not None
        _require_one(scale)
        low, high, zero = values
        inner, rounding = replace(read, pool=None), {}
        if inner.is_plain:  # the node that takes the greatest of values rounds it to another unit
            (part,) = inner.parts
            _require_one(part.unit)
            before, name = Held(read.shape, part.node, np.asarray(part.link)), self._name(one)
            meaning = Meaning(part.unit[:1], scale[:1], zero, low, high, inverse=bool(one.setting("inverse")))
            held = self._nodes[part.node][1]
            ratio = self._ratio(name, meaning, (np.array([float(held.low)]), np.array([float(held.high)])), None, 1)
            rounding = {"multiplier": ratio.multiplier[0], "shift": ratio.shift[0]}
        else:
            before = self._quantised_of(replace(one, name=self._label(read.made or pool)), inner, scale[:1])
            name = self._name(one)
        neuron = GradedNeuron(low, high, maximum=1, zero_point=zero, scale=float(scale[0]), **rounding)
        return self._pooled(pool, before, name, neuron)

    def _quantised_of(self, one: Operator, inner: Sums, scale: Floats) -> Held:
        """Quantise the input of another operator first."""
        tensor = f"{one.gives}.before"
        self._tensors[tensor] = inner
        constants = (scale.astype(np.float32), one.constants[1])
        first = replace(one, reads=(tensor,), gives=f"{tensor}.integers", constants=constants)
        return self._quantised(replace(first, shape=inner.shape))

    def _same(self, read: Sums, meaning: Meaning) -> Held | None:
        """Return the values read, if quantising them changes nothing."""
        (part,) = read.parts
        neuron = self._nodes[part.node][1]
        if neuron.zero_point != meaning.zero_point or neuron.high - neuron.low > 2**17:
            return None
        rows = np.unique(np.stack([part.unit, meaning.scale]), axis=1, return_index=True)[1]
        values = np.arange(neuron.low, neuron.high + 1)
        made = meaning.rows(rows).values(np.broadcast_to(values, (len(rows), len(values))))
        return Held(read.shape, part.node, np.asarray(part.link)) if (made == values).all() else None

    def _raw(self, read: Sums) -> Sums:
        """Make a node whose values are the sums themselves, where a graph reads them without quantising."""
        one = read.made
        if read.view is not None:
            return replace(self._raw(replace(read, view=None)), shape=read.view)
        if read.pool is not None:
            inner = replace(read, pool=None, made=None if one is read.pool else one)
            plain = inner if inner.is_plain else self._raw(inner)
            name = self._name(read.pool)
            (part,) = plain.parts
            _require_one(part.unit)
            neuron = self._nodes[part.node][1]
            greatest = GradedNeuron(neuron.low, neuron.high, maximum=1, scale=float(part.unit[0]))
            inner_values = Held(plain.shape, part.node, np.asarray(part.link))
            held = self._pooled(read.pool, inner_values, name, greatest)
            return _plain(Part(held.node, held.elements, np.full(len(held.elements), part.unit[0])), held.shape)
        name = node_name(f"{read.parts[0].node}.sums", self._nodes) if one is None else self._name(one)
        self._current = name
        floor = np.unique(read.floor)
        if len(floor) > 1 or floor[0] not in (-math.inf, 0.0) or np.any(read.ceiling < math.inf):
            raise NotSupportedError("it is bounded, and read without being quantised; quantise it there")
        held = self._close(read, name, None, (-PAYLOAD if floor[0] else 0, PAYLOAD, 0, None))
        return _plain(Part(held.node, held.elements, self._unit), read.shape)

    def _label(self, one: Operator) -> str:
        layer = self._layers.get(one.gives)
        return layer.name if layer is not None else one.name

    def _name(self, one: Operator) -> str:
        """Name a node after its layer in the source."""
        self._current = node_name(self._label(one), self._nodes)
        return self._current


def tail_of(graph: OperatorGraph) -> set[str]:
    """Find the tensors after which nothing is summed or quantised: the source reads them out."""
    needed: set[str] = set()
    for one in reversed(graph.operators):
        if one.gives in needed or one.kind in _COMPUTES or one.setting("quantises") or one.setting("dequantises"):
            needed.update(one.reads)
    return {one.gives for one in graph.operators} - needed


def _plain(part: Part, shape: TensorShape) -> Sums:
    size = len(part.unit)
    return Sums(shape, (part,), np.zeros(size), np.ones(size, np.int64))


def _positive(scale: NDArray[Any]) -> NDArray[Any]:
    numbers = scale.astype(np.float64).ravel()
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))
    if len(wrong):
        place = f" at {wrong[0]}" if len(numbers) > 1 else ""
        raise NotSupportedError(
            f"its scale{place} is {numbers[wrong[0]]:g}; a scale is a positive number, quantise the model again"
        )
    return scale


def _require_one(scale: Floats) -> None:
    """Refuse a maximum over different units, whose integers have no order."""
    if (scale != scale[0]).any():
        raise NotSupportedError("it takes the greatest of values of different scales")


def _single(array: NDArray[Any]) -> int:
    """Return the only number of a constant."""
    numbers = np.unique(array)
    if len(numbers) != 1:
        raise NotSupportedError("its zero points or bounds are not all the same; give it one")
    return int(numbers[0])


def _along(scale: NDArray[Any], axis: int, shape: TensorShape) -> Floats:
    """Expand a scale to every element."""
    each = scale.astype(np.float64)
    if scale.size == math.prod(shape):
        return each.ravel()
    return np.array(np.broadcast_to(along(axis, each, len(shape)), shape).ravel())


def affine(one: Operator, shape: TensorShape) -> tuple[Floats, Floats]:
    """Factor and shift of a function that only scales and shifts."""
    constants = [np.broadcast_to(part.astype(np.float64), shape).ravel() for part in one.constants]
    word = one.setting("function", "")
    line = FUNCTIONS[word].line if word in FUNCTIONS else None
    if line is None or (word == "divided_by" and not constants[0].all()):
        raise NotSupportedError(
            f"{one.called} is not a bound, factor or shift, which graded neurons have; leave it out"
        )
    factor, shift = (np.broadcast_to(np.asarray(part, np.float64), math.prod(shape)) for part in line(*constants))
    return factor, shift


def _seen(read: Sums) -> TensorShape:
    """Shape in which a tensor is read."""
    return read.view or (read.shape if read.pool is None else read.pool.shape or ())
