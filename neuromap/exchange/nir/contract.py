"""Contraction of primitives to neurons: all other primitives become part of the maps between them."""

from __future__ import annotations

import math
from itertools import chain
from typing import NamedTuple

import networkx as nx
import numpy as np
from scipy.sparse import csr_array, diags_array

from neuromap.arrays.array_types import Floats
from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.nir.flat_graph import (
    MAX_WEIGHTS,
    NEURONS,
    SPIKING,
    FlatGraph,
    Shape,
    are_alike,
    find_shapes,
    flatten,
    source_shape,
    spread,
    taken_shape,
    window_matrix,
)
from neuromap.formats.nir import NirGraph, NirNode

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
    outputs, readouts = _outputs(flat, maker)
    return Contracted(inputs, neurons, outputs, readouts, flat.nodes)


def _from_inputs(graph: FlatGraph) -> list[str]:
    """List nodes in the order in which inputs reach them, then the others: files sort them by name."""
    inputs = [name for name, node in graph.nodes.items() if node.kind == "Input"]
    layers = nx.bfs_layers(graph.links, inputs)
    return list(dict.fromkeys((*chain.from_iterable(layers), *graph.nodes)))


def _outputs(graph: FlatGraph, maker: Passing) -> tuple[tuple[str, ...], tuple[Readout, ...]]:
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
