"""Graphs of NIR, flattened; contraction of primitives to neurons: all others become part of the maps between them."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np
from scipy.sparse import csr_array, diags_array

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


# What arrives at a node: spikes of sources through matrices and delays, and a constant.


class Filter(NamedTuple):
    """A leaky integrator on the path: q := kept q + spikes, once per step."""

    name: str  # the node
    tau: Floats  # (n,): seconds, for each value


class Term(NamedTuple):
    """Spikes of one source."""

    source: str  # an input or a node with neurons
    matrix: csr_array  # (n, n_source): weight of each spike in each value
    delay: float = 0.0  # seconds
    filter: Filter | None = None  # applied after the matrix
    via: tuple[str, ...] | None = ()  # nodes on the path, in order; ``None`` where several paths were summed


class Signal(NamedTuple):
    """Values on their way to a node."""

    shape: tuple[int, ...]  # of NIR
    terms: tuple[Term, ...]  # no two of the same source, delay and filter
    constant: Floats  # (n,): added in every step


def merged(terms: list[Term]) -> tuple[Term, ...]:
    """Sum terms that share source, delay and filter, so that their number does not multiply with paths."""
    found: dict[tuple[str, float, str], Term] = {}
    for term in terms:
        key = (term.source, term.delay, term.filter.name if term.filter else "")
        known = found.get(key)
        if known is not None and not term.matrix.nnz:
            continue
        if known is not None and known.matrix.nnz:
            term = known._replace(matrix=csr_array(known.matrix + term.matrix), via=None)
        found[key] = term
    return tuple(found.values())


def times(name: str, matrix: csr_array, other: csr_array) -> csr_array:
    """Multiply matrices, with bounded work."""
    products = int(np.bincount(matrix.indices, minlength=matrix.shape[1]) @ np.diff(other.indptr))
    if products > MAX_WEIGHTS:
        raise NotSupportedError(
            f"node {name}: joined with the maps before it, takes {products} products; at most {MAX_WEIGHTS} are "
            "allowed, put neurons between them"
        )
    return csr_array(matrix @ other)


def through(name: str, matrix: csr_array, signal: Signal, shape: tuple[int, ...]) -> Signal:
    """Apply a matrix to a signal."""
    # shapes: matrix (n, n_signal)
    terms = []
    for term in signal.terms:
        passed = term.filter
        if passed is not None:
            if np.ptp(passed.tau) > 0:
                raise NotSupportedError(
                    f"node {passed.name}: tau dv/dt = v_leak - v + r I of several time constants feeds node {name}, "
                    "which mixes its values; no neuron of a chip sums currents of that kind, give it one tau"
                )
            passed = Filter(passed.name, np.full(matrix.shape[0], passed.tau[:1].max(initial=0.0)))
        via = None if term.via is None else (*term.via, name)
        terms.append(Term(term.source, times(name, matrix, term.matrix), term.delay, passed, via))
    return Signal(shape, tuple(terms), matrix @ signal.constant)


class Neurons(NamedTuple):
    """A node whose neurons spike."""

    node: NirNode  # with its parameters
    shape: Shape  # of NIR
    signal: Signal  # what arrives


class Readout(NamedTuple):
    """An output that reads something other than spikes of a node."""

    name: str  # the first node that is not a neuron, or the output
    kind: str  # its type, or ``sum`` of an output that several feed
    sources: tuple[str, ...]  # nodes whose spikes it reads


class Contracted(NamedTuple):
    """A graph whose nodes are inputs and neurons."""

    inputs: dict[str, Shape]  # shapes
    neurons: dict[str, Neurons]  # in the order of the graph
    outputs: tuple[str, ...]  # nodes whose spikes an output reads unchanged
    readouts: tuple[Readout, ...]  # behind the last neurons; no chip computes them
    nodes: dict[str, NirNode]  # all primitives, those of inner graphs as ``outer.inner``

    @property
    def read_out(self) -> tuple[str, ...]:
        """Nodes whose spikes must leave a chip: outputs, and sources of readouts that the host computes."""
        behind = (source for readout in self.readouts for source in readout.sources if source in self.neurons)
        return tuple(dict.fromkeys((*self.outputs, *behind)))


def contract(graph: NirGraph) -> Contracted:
    """Contract a graph."""
    flat = flatten(graph)
    for name, node in flat.nodes.items():
        for before in flat.links.pred[name] if node.kind == "Input" else ():
            raise InputError(f"edge {before} -> {name}: leads to an Input, whose values come from outside")
    shapes = find_shapes(flat)
    spiking = [name for name in _from_inputs(flat) if flat.nodes[name].kind in SPIKING]
    if not spiking:
        kinds = ", ".join(dict.fromkeys(node.kind for node in flat.nodes.values()))
        raise NotSupportedError(f"graph: has no spiking neuron among {kinds}; needs one of {', '.join(SPIKING)}")
    maker = Passing(flat, shapes)
    sources = {name: node for name, node in flat.nodes.items() if node.kind in (*SPIKING, "Input")}
    maker.run(sources)
    inputs = {name: shapes[name] for name, node in sources.items() if node.kind == "Input"}
    neurons = {}
    for name in spiking:
        if name not in shapes:
            raise InputError(f"node {name}: its shape is not known; give its parameters one value per neuron")
        neurons[name] = Neurons(flat.nodes[name], shapes[name], maker.arriving(name, shapes[name]))
    outputs, readouts = _outputs(flat)
    return Contracted(inputs, neurons, outputs, readouts, flat.nodes)


def _from_inputs(graph: FlatGraph) -> list[str]:
    """List nodes in the order in which inputs reach them, then the others: files sort them by name."""
    found = [name for name, node in graph.nodes.items() if node.kind == "Input"]
    seen = set(found)
    for name in found:  # which grows on the way
        found += [after for after in graph.links.succ[name] if after not in seen]
        seen.update(graph.links.succ[name])
    return list(dict.fromkeys((*found, *graph.nodes)))


def _outputs(graph: FlatGraph) -> tuple[tuple[str, ...], tuple[Readout, ...]]:
    """Separate outputs that read spikes from those that read values computed from spikes."""
    outputs: dict[str, None] = {}
    readouts = []
    for name, node in graph.nodes.items():
        if node.kind != "Output":
            continue
        front, seen, is_sum = list(graph.links.pred[name]), set[str](), len(graph.links.pred[name]) > 1
        while front:
            here = front.pop()
            if here in seen:
                continue
            seen.add(here)
            kind = graph.nodes[here].kind
            if kind in SPIKING:
                outputs[here] = None
            elif kind in ("Flatten", "Joint"):
                front += graph.links.pred[here]
                is_sum |= len(graph.links.pred[here]) > 1
            else:
                readouts.append(Readout(here, kind, _spiking_before(graph, here)))
        if is_sum:
            readouts.append(Readout(name, "sum", _spiking_before(graph, name)))
    return tuple(outputs), tuple(dict.fromkeys(readouts))


def _spiking_before(graph: FlatGraph, name: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    front, seen = [name], {name}
    while front:
        for before in graph.links.pred[front.pop()]:
            if graph.nodes[before].kind in (*SPIKING, "Input"):
                found[before] = None
            elif before not in seen:
                seen.add(before)
                front.append(before)
    return tuple(found)


# Signals passing through primitives that are not spiking neurons.
# Most weights of all maps of a graph, from inputs or neurons to each primitive.
_MOST_HELD = 2**27


class Passing:
    """Signals of all nodes, each computed once, after those it depends on."""

    def __init__(self, graph: FlatGraph, shapes: dict[str, Shape]) -> None:
        self._graph, self._shapes = graph, shapes
        self.out: dict[str, Signal] = {}
        self.refused: dict[str, str] = {}
        """Nodes whose values are not sums of spikes, with the reason."""

    def run(self, sources: dict[str, NirNode]) -> None:
        """Propagate the spikes of all sources."""
        for name in sources:
            if name not in self._shapes:
                continue
            n = math.prod(self._shapes[name])
            eye = csr_array(diags_array(np.ones(n)))
            self.out[name] = Signal(self._shapes[name], (Term(name, eye),), np.zeros(n))
        inner = nx.DiGraph(self._graph.links)
        inner.remove_nodes_from(sources)
        done, held = set[str](), 0
        try:
            for name in nx.topological_sort(inner):
                done.add(name)
                if name in self._shapes:
                    self.out[name] = self._pass(name, self._graph.nodes[name])
                    held += sum(term.matrix.nnz for term in self.out[name].terms)
                if held > _MOST_HELD:
                    raise NotSupportedError(
                        f"node {name}: its maps and those before hold more than {_MOST_HELD} weights; put neurons "
                        "between them, or split the graph"
                    )
        except nx.NetworkXUnfeasible:
            knot = next(name for name in inner if name not in done)
            message = f"node {knot}: lies on a cycle without a neuron, or behind one; put a neuron into it"
            raise InputError(message) from None

    def arriving(self, name: str, shape: Shape) -> Signal:
        """Sum the signals that arrive at a node."""
        constant = np.zeros(math.prod(shape))
        terms: list[Term] = []
        for before in self._graph.links.pred[name]:
            if before in self.refused:
                raise NotSupportedError(self.refused[before])
            if before not in self.out:
                raise InputError(f"node {before}: no input reaches it, and its shape is not known; remove it")
            signal = self.out[before]
            if not are_alike(signal.shape, shape):
                is_order = math.prod(signal.shape) == math.prod(shape)
                must = "have one order, correct one or put a Flatten between them" if is_order else "have as many"
                raise InputError(
                    f"edge {before} -> {name}: joins values of shape {list(signal.shape)} and {list(shape)}; they must "
                    f"{must}"
                )
            if not all(np.isfinite(held).all() for held in (signal.constant, *(t.matrix.data for t in signal.terms))):
                raise InputError(f"edge {before} -> {name}: its maps multiply to numbers without end; scale them down")
            terms += signal.terms
            constant = constant + signal.constant
        return Signal(shape, merged(terms), constant)

    def _pass(self, name: str, node: NirNode) -> Signal:
        """Compute the signal that leaves a node other than a source."""
        before = self._graph.links.pred[name]
        at = next((self._shapes[u] for u in before if u in self._shapes), self._shapes[name])
        bad = next((u for u in before if u in self.refused), None)
        if bad is not None:
            self.refused[name] = self.refused[bad]
            return Signal(self._shapes[name], (), np.zeros(math.prod(self._shapes[name])))
        kind, shape = node.kind, self._shapes[name]
        signal = self.arriving(name, taken_shape(self._graph, name, at, shape))
        if kind in ("Linear", "Affine"):
            return self._linear(name, node, signal, shape)
        if kind in ("Conv1d", "Conv2d"):
            found = through(name, window_matrix(name, node, source_shape(node, at), shape), signal, shape)
            bias = spread(name, node, "bias", shape[:1])
            return found._replace(constant=found.constant + np.repeat(bias, math.prod(shape[1:])))
        if kind in ("SumPool2d", "AvgPool2d"):
            return through(name, window_matrix(name, node, at, shape), signal, shape)
        if kind == "Scale":
            terms = [_scaled(name, term, spread(name, node, "scale", shape)) for term in signal.terms]
            return Signal(shape, tuple(terms), signal.constant * spread(name, node, "scale", shape))
        if kind == "Delay":
            return Signal(shape, merged(_delayed(name, spread(name, node, "delay", shape), signal)), signal.constant)
        if kind in NEURONS:
            return self._leaky(name, node, signal)
        return signal._replace(shape=shape, terms=tuple(_via(term, name) for term in signal.terms))

    def _linear(self, name: str, node: NirNode, signal: Signal, shape: Shape) -> Signal:
        weight = node.parameters["weight"]
        if weight.shape[1] != len(signal.constant):
            raise InputError(
                f"node {name} ({node.kind}): weight: found shape {list(weight.shape)}; {len(signal.constant)} values "
                "arrive, so many columns are needed"
            )
        found = through(name, csr_array(weight), signal, shape)
        return found._replace(constant=found.constant + spread(name, node, "bias", shape))

    def _leaky(self, name: str, node: NirNode, signal: Signal) -> Signal:
        """Turn a leaky integrator into a filter where possible; its gain is that of its neuron's current."""
        shape = self._shapes[name]
        nothing = Signal(shape, (), np.zeros(math.prod(shape)))
        equation = {
            "LI": "tau dv/dt = v_leak - v + r I",
            "CubaLI": "tau_mem dv/dt = v_leak - v + r I, tau_syn dI/dt = -I + w_in S",
            "I": "dv/dt = r I",
        }[node.kind]
        if node.kind != "LI" or any(term.filter for term in signal.terms):
            self.refused[name] = (
                f"node {name} ({node.kind}): {equation}: a neuron that reads it would integrate more than twice; "
                "CubaLIF is what chips compute, or an LI before an LIF"
            )
            return nothing
        r, tau = (spread(name, node, key, shape) for key in ("r", "tau"))
        terms = [_scaled(name, term, r)._replace(filter=Filter(name, tau)) for term in signal.terms]
        constant = signal.constant * r + spread(name, node, "v_leak", shape)
        return Signal(shape, tuple(terms), constant)


def _scaled(name: str, term: Term, scale: Floats) -> Term:
    return _via(term._replace(matrix=csr_array(diags_array(scale) @ term.matrix)), name)


def _via(term: Term, name: str) -> Term:
    return term._replace(via=None if term.via is None else (*term.via, name))


def _delayed(name: str, delay: Floats, signal: Signal) -> list[Term]:
    """Delay each value by its own time, with one term per delay."""
    if (delay < 0).any():
        raise InputError(f"node {name} (Delay): delay: found {delay.min():g}; needs 0 s or more")
    times = np.unique(delay)
    if len(times) * max(1, len(signal.terms)) > 4096:
        raise NotSupportedError(f"node {name} (Delay): has {len(times)} different delays; at most 4096 are allowed")
    terms = []
    for term in signal.terms:
        for time in times:
            mine = diags_array((delay == time).astype(np.float64))
            matrix = term.matrix if len(times) == 1 else csr_array(mine @ term.matrix)
            matrix.eliminate_zeros()
            terms.append(_via(term._replace(matrix=matrix, delay=term.delay + float(time)), name))
    return terms
