"""Division of operator graphs into nodes and edges: edges carry linear transforms, nodes sum and decide.

- Convolutions, matrices, products of tensors and maxima begin a node. Functions, moves, means and concatenations that
  they read through lie on their edges, one from each node whose values arrive.
- A function, or a mean of sums, ends in the node whose value it takes if nothing else reads this value; else it lies
  on the edges that read through it.
- An addition is a node that reads both operands. A sum that only the addition reads is not a node of its own: its edges
  become the addition's.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly
from neuromap.formats.layers import FUNCTIONS, Operator, OperatorGraph, TensorShape, total_work
from neuromap.network.transforms import Shape
from neuromap.render.value import Card


@dataclass(frozen=True, eq=False)
class Way(Card):
    """One path from a node to another."""

    folds: tuple[Operator, ...]  # operators on the edge, from the source on: functions, moves, windows
    into: Operator  # operator of the target that takes it
    place: int  # its place among the tensors that this operator reads


@dataclass(frozen=True, eq=False)
class Layer(ReadOnly, Card):
    """A node with the operators that make it."""

    name: str  # as the network calls it
    operators: tuple[Operator, ...]  # in order; the last gives what others read
    ways: Mapping[str, tuple[Way, ...]]  # from every node that it reads

    @property
    def work(self) -> int | None:
        """Multiply-accumulates of one frame; ``None`` if those of some operator are not known."""
        return total_work(self.operators)


@dataclass(frozen=True, eq=False)
class Structure(ReadOnly, Card):
    """A graph of operators as nodes and edges."""

    inputs: Mapping[str, str]  # tensor of every input node that is read, by name
    layers: tuple[Layer, ...]  # each after those that it reads
    outputs: tuple[str, ...]  # layers whose values leave the network
    # operators between output nodes and the end of the graph, by the tensor at the end
    readout: Mapping[str, tuple[Operator, ...]]
    left_out: tuple[str, ...] = ()  # inputs that nothing reads


_OVER_SEQUENCES = ("conv", "conv_transpose", "max_pool")


def layer_shapes(graph: OperatorGraph, structure: Structure) -> dict[str, Shape | None]:
    """Find the shapes of nodes."""
    # returns rows, columns, features of inputs and layers; ``None`` where they are not known
    found = {
        name: node_shape(graph.inputs[tensor], features_first=input_features_first(structure, name))
        for name, tensor in structure.inputs.items()
    }
    for layer in structure.layers:
        shape = layer.operators[-1].shape
        found[layer.name] = node_shape(shape, features_first=features_first(layer))
    return found


def features_first(layer: Layer) -> bool:
    """Whether a layer is a convolution over sequences, whose features come before its rows."""
    return any(_is_over_sequences(one) for one in layer.operators)


def input_features_first(structure: Structure, name: str) -> bool:
    """Whether a convolution over sequences reads an input, through functions at most."""
    ways = [way for layer in structure.layers for way in layer.ways.get(name, ())]
    return any(_is_over_sequences(way.into) and all(one.kind == "function" for one in way.folds) for way in ways)


def _is_over_sequences(one: Operator) -> bool:
    return one.kind in _OVER_SEQUENCES and len(one.setting("kernel", ())) == 1


# Shapes of nodes: rows, columns and features, regardless of the source's storage order.


def node_shape(shape: TensorShape | None, *, features_first: bool = False) -> tuple[int, int, int] | None:
    """Rows, columns and features of a tensor."""
    # ``None`` if they are not known
    if shape is None:
        return None
    axes = _inner(shape)
    if len(axes) <= 1:
        return (1, 1, axes[0] if axes else 1)
    if len(axes) == 2:
        return (axes[1], 1, axes[0]) if features_first else (axes[0], 1, axes[1])
    return (math.prod(axes[1:-1]), axes[-1], axes[0])


def element_order(shape: TensorShape, *, features_first: bool = False) -> NDArray[np.int64]:
    """Tensor element that every neuron of a node stands for."""
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


_STARTS = ("conv", "conv_transpose", "dense", "product", "multiply", "max_pool", "other")
SUMS = ("conv", "conv_transpose", "dense")
# Most paths between two nodes that are kept apart; more add nothing new.
_MOST_WAYS = 4


@dataclass(eq=False)
class _Group:
    """A node under construction."""

    operators: list[Operator]
    is_sum: bool
    ways: dict[int, list[Way]] = field(default_factory=dict)  # by number of the source: inputs first, then groups


class _Part(NamedTuple):
    """Values of one node, and the operators applied to them since."""

    source: int
    folds: tuple[Operator, ...] = ()


@dataclass(eq=False)
class _Growing:
    """Nodes found so far, and the contents of tensors."""

    readers: Counter[str]
    held: dict[str, tuple[_Part, ...]] = field(default_factory=dict)
    groups: dict[int, _Group] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)  # groups by the tensor of their value so far

    def own(self, tensor: str) -> _Group | None:
        """Return the group whose value this tensor is, if only one operator reads it."""
        number = self.ends.get(tensor)
        return self.groups[number] if number is not None and self.readers[tensor] == 1 else None

    def begin(self, one: Operator, number: int, *, is_sum: bool) -> _Group:
        """Begin a group with an operator, whose tensor is its value."""
        group = self.groups[number] = _Group([one], is_sum)
        self.give(one.gives, number)
        return group

    def give(self, tensor: str, number: int) -> None:
        """Make a tensor the value of a group."""
        self.held[tensor] = (_Part(number),)
        self.ends[tensor] = number


def find_structure(graph: OperatorGraph) -> Structure:
    """Find the nodes of a graph of operators."""
    # layers are in the order of the operators; each node comes after those that it reads
    readers = Counter(tensor for one in graph.operators for tensor in one.reads)
    readers.update(graph.outputs)
    growing = _Growing(readers)
    for number, tensor in enumerate(graph.inputs):
        growing.held[tensor] = (_Part(number),)
    n_inputs = len(graph.inputs)
    for number, one in enumerate(graph.operators, start=n_inputs):
        _take(growing, one, number)
    for tensor in graph.outputs:
        if tensor in growing.ends or tensor in graph.inputs:
            continue
        parts = growing.held[tensor]
        if any(part.source < n_inputs for part in parts):  # it is not the value of a node; its last operator makes one
            number, made = next((k, one) for k, one in enumerate(graph.operators) if one.gives == tensor)
            group = growing.begin(made, n_inputs + number, is_sum=False)
            for part in parts:
                group.ways.setdefault(part.source, []).append(Way(part.folds[:-1], made, 0))
    return _named(graph, growing)


def _take(growing: _Growing, one: Operator, number: int) -> None:
    """Assign an operator to a node, or to edges."""
    if one.kind in (*_STARTS, "add"):
        group = growing.begin(one, number, is_sum=one.kind in (*SUMS, "add"))
        before: list[Operator] = []
        for place, tensor in enumerate(one.reads):
            own = growing.own(tensor)
            if one.kind == "add" and own is not None and own.is_sum:  # it absorbs sums that nothing else reads
                before += own.operators
                for source, absorbed in own.ways.items():
                    group.ways.setdefault(source, []).extend(absorbed)
                del growing.groups[growing.ends.pop(tensor)]
                continue
            for part in growing.held[tensor]:
                ways = group.ways.setdefault(part.source, [])
                if len(ways) < _MOST_WAYS:
                    ways.append(Way(part.folds, one, place))
        group.operators = [*before, one]
        return
    own = growing.own(one.reads[0])
    if own is not None and (one.kind == "function" or (one.kind == "average" and own.is_sum)):
        number = growing.ends.pop(one.reads[0])  # it ends in the node whose value it takes
        own.operators.append(one)
        growing.give(one.gives, number)
        function = FUNCTIONS.get(one.setting("function", ""))
        own.is_sum &= one.kind == "average" or (function is not None and function.line is not None)
        return
    parts = (_Part(part.source, (*part.folds, one)) for tensor in one.reads for part in growing.held[tensor])
    growing.held[one.gives] = tuple(dict.fromkeys(parts))


def _named(graph: OperatorGraph, growing: _Growing) -> Structure:
    read = {source for group in growing.groups.values() for source in group.ways}
    names: dict[int, str] = {}
    taken: set[str] = set()
    inputs, left = {}, []
    for number, tensor in enumerate(graph.inputs):
        if number in read:
            names[number] = node_name(tensor, taken)
            taken.add(names[number])
            inputs[names[number]] = tensor
        else:
            left.append(tensor)
    order = sorted(growing.groups)
    for number in order:
        operators = growing.groups[number].operators  # named after the addition that it ends in, else after the first
        sums = [one for one in operators if one.kind == "add"]
        names[number] = node_name((sums[-1] if sums else operators[0]).name, taken)
        taken.add(names[number])
    layers = []
    for number in order:
        group = growing.groups[number]
        ways = {names[source]: tuple(found) for source, found in sorted(group.ways.items())}
        layers.append(Layer(names[number], tuple(group.operators), ways))
    ends = {tensor: growing.held[tensor] for tensor in graph.outputs}
    sources = dict.fromkeys(part.source for parts in ends.values() for part in parts)
    outputs = tuple(names[source] for source in sources if source >= len(graph.inputs))
    folds = {tensor: [one for part in parts for one in part.folds] for tensor, parts in ends.items()}
    readout = {tensor: tuple(dict.fromkeys(operators)) for tensor, operators in folds.items()}
    return Structure(inputs, tuple(layers), outputs, readout, tuple(left))


# Names of nodes: unique, after those of the source, in the letters of network files.


# Most letters of a name; a network file allows 100.
MOST_LETTERS = 60
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


def node_name(label: str, taken: Collection[str]) -> str:
    """Make a unique name for a node."""
    clean = _OTHER.sub("_", label[-1000:]).strip("_.-") or "node"
    if len(clean) > MOST_LETTERS:
        clean = clean[-MOST_LETTERS:].lstrip("_.-")
    name, number = clean, 1
    while name in taken:
        number += 1
        name = f"{clean}-{number}"
    return name
