"""Nodes of a graded network, made from sums of values that a graph rounds to integers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import NotSupportedError
from neuromap.exchange.layers.find_structure import element_order, node_shape
from neuromap.exchange.layers.requantise import WIDEST, Joined, Meaning, Ratio, common_unit, fitted, joined
from neuromap.formats.layers import Operator, TensorShape
from neuromap.network.edge import MatrixSource
from neuromap.network.network import Network
from neuromap.network.spiking_neuron import GREATEST_SUM, PAYLOAD, GradedNeuron
from neuromap.network.transforms import Conv, Dense, Identity, MatrixTransform, Shape
from neuromap.network.weights import Padding, StoredWeights, cells_around, output_length
from neuromap.render.value import Card

# Greatest weight of an addend where the sum is a value itself, of 24 bits.
_WIDEST_WHOLE = 2**15
# Most pairs of values that are tried one by one.
_PAIRS = 2**18


@dataclass(frozen=True, eq=False)
class Held(ReadOnly, Card):
    """A tensor of integers: the values of a node, element by element."""

    shape: TensorShape
    node: str
    elements: Ints  # (size,): neuron of each element; -1 where it is always 0


@dataclass(frozen=True, eq=False)
class Part(ReadOnly, Card):
    """Sums of the values of one node that, times a unit, are part of a tensor of reals."""

    node: str
    link: MatrixSource | Ints  # rows in the order of a node of this shape; or elements, as Held has them
    unit: Floats  # (size,), in the order of the tensor: worth of a sum of 1
    sign: int = 1


@dataclass(frozen=True, eq=False)
class Sums(ReadOnly, Card):
    """A tensor of reals: the sum of parts, with the operations on it."""

    shape: TensorShape  # of the sums, before a pending maximum
    parts: tuple[Part, ...]
    offset: Floats  # (size,), in the order of the tensor: added to the sum
    count: Ints  # (size,): divisor of the sum
    first: bool = False  # whether features come before rows, as sequences have them
    floor: Floats | float = -math.inf  # bounds of reals, one or as many as elements
    ceiling: Floats | float = math.inf
    view: TensorShape | None = None  # shape in which the same elements, in the same order, are read
    pool: Operator | None = None  # a maximum, pending until the sums are integers
    made: Operator | None = None  # the operator that made the sums, which names their node

    @property
    def is_bounded(self) -> bool:
        """Whether a bound, a maximum or another shape is pending until there are integers."""
        waits = self.pool is not None or self.view is not None
        return waits or bool(np.any(self.floor > -math.inf) or np.any(self.ceiling < math.inf))

    @property
    def is_plain(self) -> bool:
        """Whether these are values of one node, times their units."""
        (part, *more) = self.parts
        is_simple = not more and isinstance(part.link, np.ndarray) and part.sign == 1
        return is_simple and not self.is_bounded and not self.offset.any() and bool((self.count == 1).all())

    @property
    def has_elements(self) -> bool:
        """Whether all parts are values themselves, which can be moved."""
        return all(isinstance(part.link, np.ndarray) for part in self.parts)


@dataclass(eq=False)
class TakenGraded:
    """A graded network, and the cost of its import."""

    network: Network
    places: Mapping[str, Held]  # node values that a tensor of integers holds, by tensor
    inputs: Mapping[str, str]  # tensor of the source that each input node stands for
    reals: Mapping[str, tuple[str, Ints, Floats]]  # by output of reals: node, neurons, and worth of a value
    opaque: Mapping[str, str]  # outputs that the source computes after the network, and why they are not imported
    differ: dict[str, tuple[int, str]]  # by node: how many values it misses, and of what
    off: dict[str, float]  # by node: greatest error of its sums, in values
    wide: dict[str, int]  # greatest weight of every edge with weights of more than 8 bits


class GradedNodes:
    """Nodes and edges made so far."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[Shape, GradedNeuron]] = {}
        self._edges: dict[tuple[str, str], MatrixSource] = {}
        # as in :class:`TakenGraded`
        self._differ: dict[str, tuple[int, str]] = {}
        self._off: dict[str, float] = {}
        self._wide: dict[str, int] = {}
        self._unit: Floats = np.ones(1)  # of the last sums that became values themselves
        self._current = ""  # node under construction

    @staticmethod
    def _of_node(name: str, shape: TensorShape, first: bool) -> Held:
        return Held(shape, name, _inverse(element_order(shape, features_first=first)))

    def _placed(self, node: str, matrix: csr_array, elements: Ints, order: Ints) -> MatrixTransform:
        """Convert a matrix on elements to one on neurons, those of a node and those in an order."""
        entries = matrix.tocoo()
        columns = elements[entries.col]
        kept = columns >= 0
        rows = _inverse(order)[entries.row[kept]]
        data = np.rint(entries.data[kept]).astype(np.int64)
        size = len(order), math.prod(self._nodes[node][0])
        return MatrixTransform(csr_array((data, (rows, columns[kept])), shape=size))

    def _close(
        self, read: Sums, name: str, meaning: Meaning | None, values: tuple[int, int, int, float | None]
    ) -> Held:
        """Make a node of sums; without a meaning, its values are the sums themselves."""
        low, high, zero, scale = values
        if not np.isfinite(read.offset).all() or np.isnan(read.floor).any() or np.isnan(read.ceiling).any():
            raise NotSupportedError("a bias, shift or bound of it is no finite number; quantise the model again")
        size, shape = math.prod(read.shape), shape_of(read.shape, read.first)
        order = element_order(read.shape, features_first=read.first)
        parts, unit, pair = self._one_unit(read, meaning, (low, high))
        each = unit / read.count  # the bias is added before a mean is divided
        bias = np.rint(read.offset / each)
        rest = np.where(
            np.abs(read.offset / each - bias) <= 1e-6 + np.abs(bias) * 2.0**-20, 0.0, read.offset - bias * each
        )
        unit = each if meaning is None else unit
        least, most = self._reach(parts, size)
        least, most = least + bias[order], most + bias[order]
        greatest = max(float(np.abs(part).max(initial=0)) for part in (least, most, bias))
        if greatest > GREATEST_SUM:
            raise NotSupportedError(
                f"its sums reach {greatest:.0f}; graded neurons add up to 2**31 - 1 = {GREATEST_SUM}, quantise to "
                "fewer bits or split the sum"
            )
        whole = bias[order].astype(np.int64)
        if meaning is None:
            greatest = max(float(most.max(initial=0)), -float(least.min(initial=0)) if low else 0.0)
            if greatest > PAYLOAD:
                raise NotSupportedError(
                    f"its sums reach {greatest:.0f} and are read without being quantised; values have at most 24 bits "
                    f"({PAYLOAD}), quantise them there"
                )
            if rest.any():
                self._off[name] = float(np.abs(rest / unit).max())
            low, high = max(low, min(0, int(least.min()))), max(0, int(most.max()))
            scale = float(unit[0]) if scale is None and (unit == unit[0]).all() else scale
            neuron = GradedNeuron(low, high, bias=_short(whole, shape), zero_point=zero, scale=scale)
        else:
            meaning = replace(meaning, unit=unit, rest=rest).rows(order)
            low, high = self._bounds(meaning)
            meaning = replace(meaning, low=low, high=high)
            ratio = self._ratio(name, meaning, (least, most), pair, shape[2])
            multiplier, shift, biases = (_short(part, shape) for part in (ratio.multiplier, ratio.shift, whole))
            neuron = GradedNeuron(low, high, multiplier, shift, biases, zero_point=zero, scale=scale)
        self._unit = unit
        self._nodes[name] = (shape, neuron)
        for source, link in parts.items():
            self._edges[source, name] = link
            weights = getattr(link, "weights", None)
            array = weights.array if isinstance(weights, StoredWeights) else getattr(weights, "data", None)
            if array is not None and array.size and (array.max() > 127 or array.min() < -128):
                self._wide[f"{source} -> {name}"] = int(max(array.max(), -array.min()))
        return self._of_node(name, read.shape, read.first)

    def _in_one_unit(self, name: str, elements: Ints, unit: Floats) -> Floats:
        """Round the sums of an output to one unit, as the host compares values; return each element's unit."""
        shape, neuron = self._nodes[name]
        is_read = any(source == name for source, _ in self._edges)
        if (unit == unit[0]).all() or is_read or neuron.maximum or (neuron.multiplier != 1).any():
            return unit
        size = math.prod(shape)
        each = np.full(size, unit.min())
        each[elements] = unit
        parts = {source: link for (source, target), link in self._edges.items() if target == name}
        bias = np.broadcast_to(neuron.bias, size)
        least, most = ((part + bias) * each for part in self._reach(parts, size))
        greatest = max(float(most.max()), -float(least.min()))
        # 16 bits of values and of multipliers tell them apart as well as 8 bits of weights do
        common = max(greatest / 2**16, float(each.max()) / 2**14)
        shift = 14 - np.floor(np.log2(each / common)).astype(np.int64)
        multiplier = np.rint(each / common * 2.0**shift).astype(np.int64)
        low, high = (int(np.rint(end / common)) for end in (min(0.0, least.min()), max(0.0, most.max())))
        multiplier, shift = _short(multiplier, shape), _short(shift, shape)
        low, high = 0 if neuron.low == 0 else low - 1, high + 1
        neuron = replace(neuron, low=low, high=high, multiplier=multiplier, shift=shift, scale=common)
        self._nodes[name] = shape, neuron
        return np.full(len(unit), common)

    def _bounds(self, meaning: Meaning) -> tuple[int, int]:
        """Find the bounds of values that follow from the bounds of reals."""
        found = []
        for real, whole in ((meaning.floor, meaning.low), (meaning.ceiling, meaning.high)):
            with np.errstate(invalid="ignore"):
                value = meaning.of_reals(np.asarray(real, np.float32), meaning.scale.astype(np.float32))
            each = np.unique(np.clip(value, meaning.low, meaning.high))
            if len(each) > 1:
                raise NotSupportedError("its features have different bounds; give them the same bounds")
            found.append(int(each[0]) if len(each) else whole)
        if not found[0] <= 0 <= found[1]:
            raise NotSupportedError(f"its values are {found[0]} to {found[1]}, never 0; let the bounds hold 0")
        return found[0], found[1]

    def _ratio(
        self, name: str, meaning: Meaning, reach: tuple[Floats, Floats], pair: Joined | None, features: int
    ) -> Ratio:
        """Find multipliers and shifts, once for neurons that are alike, and record their misses."""
        size = len(reach[0])
        if pair is not None:
            if pair.differ:
                self._differ[name] = (pair.differ, "pairs of values")
            return Ratio(*(np.full(size, part) for part in (*pair.ratio, 0)))
        columns = np.stack(np.broadcast_arrays(meaning.unit, meaning.count, meaning.rest, meaning.scale))
        if (columns.reshape(len(columns), -1, features) == columns[:, None, :features]).all():
            columns, least, most = columns[:, :features], *(part.reshape(-1, features) for part in reach)
            reach = least.min(axis=0), most.max(axis=0)  # one ratio for a feature, though sums at edges reach less
        columns = np.stack([*columns, *reach])
        _, rows, back = np.unique(columns, axis=1, return_index=True, return_inverse=True)
        found = fitted(meaning.rows(rows), *(part[rows].astype(np.int64) for part in reach))
        if found.differ.any():
            self._differ[name] = (int(found.differ.sum()), "sums of different neurons")
        back = np.tile(back.ravel(), size // columns.shape[1])
        return Ratio(found.multiplier[back], found.shift[back], found.differ[back])

    def _one_unit(
        self, read: Sums, meaning: Meaning | None, bounds: tuple[int, int]
    ) -> tuple[dict[str, MatrixSource], Floats, Joined | None]:
        """Return edges whose sums have one unit per neuron, that unit, and the proof of two addends, if any."""
        order = element_order(read.shape, features_first=read.first)
        links = [self._identity(part, read) if isinstance(part.link, np.ndarray) else part.link for part in read.parts]
        signs = [part.sign for part in read.parts]
        if len(links) == 1 and signs == [1]:
            return {read.parts[0].node: links[0]}, read.parts[0].unit, None
        fed = [part.link >= 0 if isinstance(part.link, np.ndarray) else True for part in read.parts]
        units = np.stack([np.where(mine, part.unit, 0.0) for mine, part in zip(fed, read.parts, strict=True)], axis=1)
        pair = self._pair(read, meaning, bounds)
        if pair is not None:
            weights = np.broadcast_to(np.array(pair.weights), units.shape)
            unit = read.parts[1].unit / pair.weights[1]
        else:
            ends = [self._reach({part.node: link}, len(order)) for part, link in zip(read.parts, links, strict=True)]
            reach = np.abs(np.array(ends)).max(axis=1).T
            scale, most = (None, _WIDEST_WHOLE) if meaning is None else (meaning.scale, WIDEST)
            weights, unit, off = common_unit(units, reach[_inverse(order)], scale, most)
            if np.isinf(off).any():
                raise NotSupportedError("it adds numbers whose scales are too far apart; quantise one of them first")
            if off.max(initial=0) > 1e-6:
                self._off[self._current] = float(off.max())
        found: dict[str, MatrixSource] = {}
        for k, (part, link) in enumerate(zip(read.parts, links, strict=True)):
            mine = scaled(link, (weights[:, k] * signs[k])[order])
            before = found.get(part.node)
            found[part.node] = mine if before is None else MatrixTransform(csr_array(before.matrix() + mine.matrix()))
        return found, unit, pair

    def _pair(self, read: Sums, meaning: Meaning | None, bounds: tuple[int, int]) -> Joined | None:
        """Prove a sum of two tensors of integers, for all pairs of values."""
        if meaning is None or meaning.fused or len(read.parts) != 2 or not read.has_elements or read.offset.any():
            return None
        one, two = read.parts
        overlap = (np.asarray(one.link) >= 0) & (np.asarray(two.link) >= 0)
        alike = all((array == array[0]).all() for array in (one.unit, two.unit, meaning.scale))
        if one.node == two.node or not overlap.all() or not alike:
            return None
        ranges = [self._nodes[part.node][1] for part in read.parts]
        values = [np.arange(neuron.low, neuron.high + 1) for neuron in ranges]
        if len(values[0]) * len(values[1]) > _PAIRS:
            return None
        reals = [v.astype(np.float32) * np.float32(part.unit[0]) for v, part in zip(values, read.parts, strict=True)]
        total = one.sign * reals[0][:, None] + two.sign * reals[1][None]
        floor, ceiling = (np.unique(np.float32(part)) for part in (read.floor, read.ceiling))
        if len(floor) > 1 or len(ceiling) > 1:
            return None
        total = np.minimum(np.maximum(total, floor), ceiling)
        scale = meaning.scale[:1].astype(np.float32)
        made = np.clip(meaning.of_reals(total, scale), *bounds).astype(np.int64)
        low, high = self._bounds(meaning)
        signed = (values[0] * one.sign, values[1] * two.sign)
        return joined(made, signed, (float(one.unit[0]), float(two.unit[0])), float(scale[0]), (low, high))

    def _identity(self, part: Part, read: Sums) -> MatrixSource:
        """Express which neuron feeds which as a transform: an identity, a 1 x 1 convolution, or a matrix."""
        order = element_order(read.shape, features_first=read.first)
        elements = np.asarray(part.link)[order]
        before, after = self._nodes[part.node][0], shape_of(read.shape, read.first)
        if before == after and (elements == np.arange(len(elements))).all():
            return Identity(before, after)
        if before[:2] == after[:2]:
            features = elements.reshape(-1, after[2]) - np.arange(before[0] * before[1])[:, None] * before[2]
            same = (features == features[0]) | ((elements.reshape(-1, after[2]) < 0) & (elements[: after[2]] < 0))
            if same.all() and (features[0][elements[: after[2]] >= 0] < before[2]).all():
                weights = np.zeros((1, 1, before[2], after[2]), np.int64)
                inside = np.flatnonzero(elements[: after[2]] >= 0)
                weights[0, 0, elements[inside], inside] = 1
                return Conv(before, after, (1, 1), (1, 1), "valid", 1, weights)  # type: ignore[arg-type]
        inside = np.flatnonzero(elements >= 0)
        entries = (np.ones(len(inside), np.int64), (inside, elements[inside]))
        return MatrixTransform(csr_array(entries, shape=(len(elements), math.prod(before))))

    def _reach(self, parts: Mapping[str, MatrixSource], size: int) -> tuple[Floats, Floats]:
        """Least and greatest sum of every neuron."""
        return reach_of_sums(((self._nodes[source][1], link) for source, link in parts.items()), size)


def _inverse(order: Ints) -> Ints:
    """Invert a permutation."""
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found


# Links between nodes as transforms.


def shape_of(shape: TensorShape, first: bool) -> Shape:
    """Shape of the node that holds a tensor."""
    found = node_shape(shape, features_first=first)
    assert found is not None
    return found


def reshaped(read: Sums, shape: TensorShape) -> Sums:
    """Reshape sums: neurons of matrices are reordered at once, those of other links once they are integers."""
    links = [part.link for part in read.parts if isinstance(part.link, Dense | MatrixTransform)]
    in_groups = any(isinstance(link, Dense) and link.groups > 1 for link in links)
    if len(links) < len(read.parts) or read.is_bounded or in_groups:
        return replace(read, view=shape)
    rows = _inverse(element_order(read.shape, features_first=read.first))[element_order(shape)]
    for k, link in enumerate(links):
        if isinstance(link, Dense) and link.weights is not None:
            moved = link.weights.tensor(link.weight_shape)[rows]
            links[k] = Dense(link.source_shape, shape_of(shape, False), weights=moved)  # type: ignore[arg-type]
        else:
            links[k] = MatrixTransform(link.matrix()[rows])
    parts = tuple(replace(part, link=link) for part, link in zip(read.parts, links, strict=True))
    return replace(read, shape=shape, parts=parts, first=False)


def conv_of(one: Operator, source: Shape, target: Shape, weights: Ints) -> Conv:
    """Express a convolution over rows and columns, or over sequences, which have one column, as a transform."""
    n = weights.ndim - 2
    along_stride, along_dilation, pads = one.slides(n)
    stride, dilation, before = (*along_stride, 1)[:2], (*along_dilation, 1)[:2], (*pads[:n], 0)[:2]
    kernel = weights if n == 2 else weights[..., None]
    length = [(k - 1) * d + 1 for k, d in zip(kernel.shape[2:], dilation, strict=True)]
    wide = np.zeros((*kernel.shape[:2], *length), np.int64)
    wide[:, :, :: dilation[0], :: dilation[1]] = kernel
    after = [max((target[axis] - 1) * stride[axis] + length[axis] - source[axis] - before[axis], 0) for axis in (0, 1)]
    lengths, steps = (length[0], length[1]), (stride[0], stride[1])
    padding = padding_of(source, target, lengths, steps, before) or (before[0], before[1], after[0], after[1])
    groups = int(one.setting("groups", 1))
    ours = np.ascontiguousarray(wide.transpose(2, 3, 1, 0))
    return Conv(source, target, lengths, steps, padding, groups, ours)  # type: ignore[arg-type]


def padding_of(
    source: Shape, target: Shape, kernel: tuple[int, int], stride: tuple[int, int], before: Sequence[int] | None = None
) -> Padding | None:
    """Find the padding of network files that gives the target's windows, with the cells before them if known."""
    lengths = list(zip(source[:2], kernel, stride, strict=True))
    words: tuple[Padding, ...] = ("valid", "same")
    for word in words:
        made = [output_length(*along, word) for along in lengths]
        margins = [cells_around(n, m, k, s, word)[0] for (n, k, s), m in zip(lengths, target[:2], strict=True)]
        if made == list(target[:2]) and math.prod(made) > 0 and before in (None, tuple(margins)):
            return word
    return None


def signed_sums(link: MatrixSource, size: int) -> tuple[Floats, Floats]:
    """Sum the positive and the negative weights of every neuron; for convolutions, as if no window met an edge."""
    if isinstance(link, Identity):
        return np.ones(size), np.zeros(size)
    is_grouped = isinstance(link, Dense) and link.groups > 1  # whose array has an axis more
    if isinstance(link, Conv | Dense) and isinstance(link.weights, StoredWeights) and not is_grouped:
        array = link.weights.array
        rows = array.reshape(-1, array.shape[-1]).T if isinstance(link, Conv) else array
        positive, negative = (np.asarray(part.sum(axis=1), np.float64) for part in (rows.clip(0), rows.clip(None, 0)))
        repeats = size // len(positive)
        return np.tile(positive, repeats), np.tile(negative, repeats)
    matrix = link.matrix()
    positive, negative = (np.asarray(part.sum(axis=1), np.float64) for part in (matrix.maximum(0), matrix.minimum(0)))
    return positive, negative


def reach_of_sums(addends: Iterable[tuple[GradedNeuron, MatrixSource]], size: int) -> tuple[Floats, Floats]:
    """Least and greatest sum of every neuron, from the ranges of values that links bring."""
    least, most = np.zeros(size), np.zeros(size)
    for neuron, link in addends:
        positive, negative = signed_sums(link, size)
        least += positive * neuron.low + negative * neuron.high
        most += positive * neuron.high + negative * neuron.low
    return least, most


def scaled(link: MatrixSource, factor: Ints) -> MatrixSource:
    """Multiply the weights of every neuron."""
    if (factor == 1).all():
        return link
    after = getattr(link, "target_shape", None)
    if after is not None:
        each = factor[: after[2]]
        if (factor.reshape(-1, after[2]) == each).all():
            if isinstance(link, Identity):
                weights = each.reshape(1, 1, 1, -1)
                return Conv(link.source_shape, after, (1, 1), (1, 1), "valid", after[2], weights)  # type: ignore[arg-type]
            if isinstance(link, Conv) and isinstance(link.weights, StoredWeights):
                return replace(link, weights=StoredWeights(link.weights.array * each))
        if isinstance(link, Dense) and isinstance(link.weights, StoredWeights):
            return replace(link, weights=StoredWeights(link.weights.array * factor[:, None]))
    matrix = link.matrix()
    data = matrix.data * np.repeat(factor, np.diff(matrix.indptr))
    return MatrixTransform(csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape))


def _short(array: Ints, shape: Shape) -> Ints:
    """Reduce numbers to one if all are equal, or to one per feature if that suffices."""
    if (array == array[0]).all():
        return array[0]  # type: ignore[no-any-return]
    each = array[: shape[2]]
    return each if (array.reshape(-1, shape[2]) == each).all() else array
