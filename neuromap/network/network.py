"""``Network``: named nodes, edges between them, named patterns; the one value that everything starts from.

A *network* is a finite directed graph in which every node is reachable from a *root*, a node without incoming edges
(Fischer, Köhler, Pfeil 2018, section 2). A root is an input node, whose spikes come from outside, or a *source*, whose
spiking neurons their bias alone drives. A node is a layer, an edge a transformation between two layers. Networks built
with :meth:`Network.from_edges` carry no shapes: they serve the theory commands only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.files.argument_checks import mapping_given
from neuromap.files.messages import did_you_mean, show
from neuromap.network.edge import Edge, EdgeKey, edge_pair
from neuromap.network.node import Node
from neuromap.render.value import Card, form

# Most frames that an edge of a rollout pattern may bridge.
MOST_BRIDGED = 10_000
# Pattern names that every network has; a network's own patterns take others.
RESERVED_PATTERNS = ("streaming", "sequential")


def check_ends(edges: Iterable[EdgeKey], nodes: Collection[str]) -> None:
    """Refuse edges from or to nodes that do not exist."""
    for u, v in edges:
        for n in (u, v):
            if n not in nodes:
                raise NetworkError(f"edge {u} -> {v}: node {n} does not exist; nodes are {', '.join(nodes)}")


def _reached(start: Iterable[str], after: Mapping[str, Iterable[str]]) -> set[str]:
    """Return all nodes that a path leads to; plain sets, as a graph of a million edges takes seconds to build."""
    found = set(start)
    front = list(found)
    while front:
        new = set(after.get(front.pop(), ())) - found
        found |= new
        front += new
    return found


@dataclass(frozen=True, eq=False)
class Network(Card):
    """A directed graph of layers, N = (V, E).

    Attributes
    ----------
    name : str
        Name of the network.
    nodes : mapping of str to Node
        In file order.
    edges : mapping of (str, str) to Edge
        In file order, which is the order of patterns.
    outputs : tuple of str
        The output nodes: as given, else the nodes without edges to other nodes, else all that are not
        inputs.
    patterns : mapping of str to tuple of (str, str)
        Named rollout patterns of the file: the streaming edges of each, those that bridge frames last.
    tables : mapping of str to mapping
        Data that the file carries for other tools, read-only: ``inputs``, how the host encodes images, by input node;
        ``training``; ``work``, multiply-accumulates of nodes; ``made_for``, whose ``chip`` names the chip that the
        integers were made for. They do not affect what the network computes.
    bridging : mapping of str to mapping of (str, str) to int
        For named patterns, the edges that bridge frames and how many: R = 2 or more.
    """

    _forms = ("neuromap.network.network_writer",)

    name: str
    nodes: Mapping[str, Node]
    edges: Mapping[EdgeKey, Edge]
    outputs: tuple[str, ...] = ()
    patterns: Mapping[str, tuple[EdgeKey, ...]] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bridging: Mapping[str, Mapping[EdgeKey, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mapping_given("network: nodes", self.nodes, "{'I': Node('I', (1, 1, 4))}", NetworkError)
        mapping_given("network: edges", self.edges, "{('I', 'O'): Edge('I', 'O')}", NetworkError)
        object.__setattr__(self, "nodes", ReadOnlyMapping(self.nodes))
        object.__setattr__(self, "edges", ReadOnlyMapping(self.edges))
        mapping_given("network: bridging", self.bridging, "{'mine': {('I', 'O'): 2}}", NetworkError)
        bridging = {name: ReadOnlyMapping(frames) for name, frames in self.bridging.items() if frames}
        patterns = {
            name: (*(key for key in keys if key not in bridging.get(name, ())), *bridging.get(name, ()))
            for name, keys in self.patterns.items()
        }
        object.__setattr__(self, "patterns", ReadOnlyMapping(patterns))
        object.__setattr__(self, "bridging", ReadOnlyMapping(bridging))
        mapping_given("network: tables", self.tables, "{'inputs': {'I': {'noise': 2.0}}}", NetworkError)
        object.__setattr__(self, "tables", frozen_tables(self.tables))
        self._check_graph()
        self._check_neurons()
        object.__setattr__(self, "outputs", tuple(self.outputs) or self._default_outputs())
        self._check_names()
        check_tables(self.tables, self.inputs, self.nodes)

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "nodes": len(self.nodes),
            "edges": len(self.edges),
            "inputs": ", ".join(self.inputs),
            "outputs": ", ".join(self.outputs),
            "patterns": ", ".join(self.pattern_names),
        }

    @classmethod
    def from_edges(cls, edges: Iterable[EdgeKey], *, name: str = "network", outputs: Iterable[str] = ()) -> Network:
        """Make a network of structure only, for the theory.

        Parameters
        ----------
        edges : iterable of (source, target)
            In the order that patterns use.
        name : str
            Name of the network.
        outputs : iterable of str
            Output nodes; by default as in :class:`Network`.

        Raises
        ------
        NetworkError
            On parallel edges, no edge at all, or a node that no input node reaches.
        """
        if not isinstance(edges, Iterable):
            raise NetworkError(f"network {name}: edges: found {edges!r:.60}; give pairs (source, target)")
        keys = [edge_pair(edge) for edge in edges]
        for (u, v), n in Counter(keys).items():
            if n > 1:
                raise NetworkError(f"edge {u} -> {v}: given {n} times; no parallel edges are allowed")
        nodes = {end: Node(end) for end in dict.fromkeys(end for key in keys for end in key)}
        return cls(name, nodes, {key: Edge(*key) for key in keys}, tuple(outputs))

    def save(self, path: str | Path) -> None:
        """Write the network file, and the weights beside it, whole or not at all, for :func:`neuromap.load_network`.

        Parameters
        ----------
        path : str or Path
            Ends in ``.toml``. Weights and thresholds that are neither single numbers nor seeded go into the file of the
            same name that ends in ``.safetensors``; explicit matrices are written as dense weights.

        Raises
        ------
        NetworkError
            If a name is not allowed in a file, or some weights or thresholds are missing while others are stored.
        InputError
            If a file cannot be written.
        """
        form(self, "file", path)

    @cached_property
    def graph(self) -> nx.DiGraph[str]:
        """The structure as a frozen networkx graph, nodes and edges in file order."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        nx.freeze(graph)
        return graph

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Nodes without incoming edges, in file order: inputs and sources."""
        targets = {v for _, v in self.edges}
        return tuple(n for n in self.nodes if n not in targets)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Roots whose spikes come from outside, in file order."""
        return tuple(n for n in self.roots if self.nodes[n].spiking is None)

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Roots that compute, in file order: spiking nodes that no edge feeds, driven by their own parameters."""
        return tuple(n for n in self.roots if self.nodes[n].spiking is not None)

    @cached_property
    def self_edges(self) -> tuple[EdgeKey, ...]:
        """Edges from a node to itself, in file order."""
        return tuple(k for k in self.edges if k[0] == k[1])

    def _check_graph(self) -> None:
        if not self.edges:
            raise NetworkError(f"network {self.name}: has no edges; a network needs at least one")
        check_ends(self.edges, self.nodes)
        if not self.roots:
            raise NetworkError(
                f"network {self.name}: has no input node (every node has an incoming edge); "
                "add a node that has outgoing edges only"
            )
        after: dict[str, list[str]] = {}
        for u, v in self.edges:
            after.setdefault(u, []).append(v)
        for n in self.roots:
            if n not in after:
                raise NetworkError(f"node {n}: has no edges; connect it or remove it")
        reached = _reached(self.roots, after)
        lost = [n for n in self.nodes if n not in reached]
        if lost:
            raise NetworkError(
                f"node {lost[0]}: no input node ({', '.join(self.roots)}) reaches it"
                + (f", nor {len(lost) - 1} more" if len(lost) > 1 else "")
                + "; every node needs a path from an input"
            )

    @property
    def pattern_names(self) -> tuple[str, ...]:
        """Names of its rollout patterns: streaming, sequential and those of its file; if spiking, streaming alone."""
        return RESERVED_PATTERNS[:1] if self.is_spiking else (*RESERVED_PATTERNS, *self.patterns)

    @cached_property
    def is_spiking(self) -> bool:
        """Whether its nodes keep state from tick to tick; then one frame is one tick, and all edges are streaming."""
        return any(node.spiking is not None for node in self.nodes.values())

    @cached_property
    def is_graded(self) -> bool:
        """Whether its nodes send values instead of spikes."""
        return any(node.graded is not None for node in self.nodes.values())

    def _check_neurons(self) -> None:
        if self.is_graded:
            for name, node in self.nodes.items():
                if node.graded is None:
                    raise NetworkError(
                        f"node {name}: is not graded, while others are; graded nodes do not mix with others in one "
                        'network, give every node, inputs too, a neuron of model = "graded"'
                    )
        if self.is_spiking:
            for name, node in self.nodes.items():
                if node.neuron is None and name not in self.inputs:
                    raise NetworkError(
                        f"node {name}: has no neuron, while others have; spiking and frame nodes do not mix in one "
                        "network, give all nodes but the inputs a neuron, or none"
                    )
            self._check_currents()
            return
        for edge in self.edges.values():
            if edge.delays != (1, 1) or edge.current or edge.also:
                raise NetworkError(
                    f"edge {edge.label}: has a delay, a current or further terms, as only edges of spiking networks "
                    "have; in others the rollout pattern decides when a value arrives"
                )

    def _check_currents(self) -> None:
        for (_, v), edge in self.edges.items():
            neuron = self.nodes[v].neuron
            most = max([edge.current, *(term.current for term in edge.also)])
            if neuron is not None and most >= neuron.n_currents:
                raise NetworkError(
                    f"edge {edge.label}: feeds current {most}, but the neurons of {v} have {neuron.n_currents}; "
                    "add a decay to more_current_decays"
                )

    def _check_bridging(self) -> None:
        for pattern in self.bridging.keys() - self.patterns.keys():
            raise NetworkError(f"rollout {pattern}: bridges frames, but is not a pattern; give its streaming edges too")
        for pattern, frames in self.bridging.items():
            for (u, v), r in frames.items():
                if isinstance(r, bool) or not isinstance(r, int) or not 2 <= r <= MOST_BRIDGED:
                    raise NetworkError(
                        f"rollout {pattern}: edge {u} -> {v} bridges {r!r:.40} frames; allowed are 2 to {MOST_BRIDGED}"
                    )

    def _default_outputs(self) -> tuple[str, ...]:
        inputs = set(self.inputs)
        computed = [n for n in self.nodes if n not in inputs]
        feeding = {u for u, v in self.edges if u != v}
        return tuple(n for n in computed if n not in feeding) or tuple(computed)

    def _check_names(self) -> None:
        for what, names in (("network", [self.name]), ("node", self.nodes), ("rollout", self.patterns)):
            for n in names:
                if not n or not n.isprintable():  # names stand in one-line messages, tables and files
                    raise NetworkError(f"{what} {n!r}: the name must have printable characters only")
        for n in self.patterns:
            if n in RESERVED_PATTERNS:
                raise NetworkError(
                    f"rollout {n}: every network has the pattern {n} of its own; allowed is any other name"
                )
        inputs = set(self.inputs)
        for n in self.outputs:
            if n not in self.nodes:
                raise NetworkError(f"outputs: node {n} does not exist; nodes are {', '.join(self.nodes)}")
            if n in inputs:
                raise NetworkError(f"outputs: node {n} is an input node; an output needs an incoming edge")
        for n, k in Counter(self.outputs).items():
            if k > 1:
                raise NetworkError(f"outputs: node {n} is named twice")
        self._check_bridging()
        for pattern, keys in self.patterns.items():
            for u, v in (*keys, *self.bridging.get(pattern, ())):
                if (u, v) not in self.edges:
                    raise NetworkError(f"rollout {pattern}: edge {u} -> {v} does not exist in network {self.name}")


# Tables that a network file carries for other tools: how the host encodes images, how the network is trained, its work.
#
# The network computes the same with and without them, and does not read them: their readers check their contents.
# Their names: input nodes, by name; training; multiply-accumulates of nodes, by name; the chip.
TABLES = ("inputs", "training", "work", "made_for")
# Keys at which the table of an input node holds arrays; with its name in front, they are tensors of the weights file.
ENCODER = ("encoder", "encoder.threshold")
# Greatest nesting depth of tables and lists.
MAX_DEPTH = 12
_ALLOWED = "texts, numbers, true, false, lists and tables"


def frozen_tables(tables: Mapping[str, Any]) -> ReadOnlyMapping[str, Any]:
    """Make tables read-only, at every depth."""
    # returns tables as read-only mappings, lists as tuples, arrays locked
    for name, table in tables.items():
        if name not in TABLES:
            raise NetworkError(f"table {show(name)}: is unknown; allowed are {', '.join(TABLES)}")
        if not isinstance(table, Mapping):
            raise NetworkError(f"{name}: found {show(table)}; allowed is a table")
    return ReadOnlyMapping({name: _frozen(table, (name,)) for name, table in tables.items()})


def check_tables(tables: Mapping[str, Any], inputs: Collection[str], nodes: Collection[str]) -> None:
    """Refuse tables of nodes that do not exist, and wrong tables of encoders, work and chip."""
    _check_names(tables.get("inputs", {}), "inputs", inputs, "input node")
    for name, table in tables.get("inputs", {}).items():
        if table.get("code") != "layer" and any(isinstance(table.get(key), np.ndarray) for key in ENCODER):
            raise NetworkError(f'inputs.{name}: holds weights of an encoder; allowed with code = "layer" only')
        if table.get("code") == "layer" and f"{name}.{ENCODER[0]}" in nodes:
            raise NetworkError(
                f"inputs.{name}: its layer and node {name}.{ENCODER[0]} want one tensor; rename the node"
            )
    _check_names(tables.get("training", {}).get("nodes", {}), "training.nodes", nodes, "node")
    _check_work(tables.get("work", {}), inputs, nodes)
    for key, chip in tables.get("made_for", {}).items():
        if key != "chip" or not isinstance(chip, str) or not chip.isprintable():
            raise NetworkError(f"made_for.{show(key)}: found {show(chip)}; allowed is chip, with the name of one")


def encoder_tensors(tables: Mapping[str, Any]) -> dict[str, int]:
    """Return the float tensors that the weights file holds for tables of input nodes, each with its number of axes."""
    wanted = {}
    for name, table in tables.get("inputs", {}).items():
        if table.get("code") == "layer":
            for key, axes in zip(ENCODER, (4, 1), strict=True):
                if key in table and not isinstance(table[key], np.ndarray):
                    raise NetworkError(f'inputs.{name}."{key}": is in the weights file; drop it from the network file')
                wanted[f"{name}.{key}"] = axes
    return wanted


def plain_table(value: Any) -> Any:
    """Convert a table to dictionaries and lists, as TOML is read, which the caller may change; arrays are kept."""
    if isinstance(value, Mapping):
        return {key: plain_table(part) for key, part in value.items()}
    return [plain_table(part) for part in value] if isinstance(value, tuple) else value


def _check_work(table: Mapping[str, Any], inputs: Collection[str], nodes: Collection[str]) -> None:
    """Refuse work of nodes that are not computed, and values that are not numbers of multiply-accumulates."""
    computed = [name for name in nodes if name not in inputs] if table else []
    for name, work in table.items():
        path = f"work.{name if name.isprintable() else show(name)}"
        if name not in nodes or name in inputs:
            raise NetworkError(f"{path}: {show(name)} is not a node that is computed{did_you_mean(name, computed)}")
        if isinstance(work, bool) or not isinstance(work, int) or work < 0:
            raise NetworkError(f"{path}: found {show(work)}; allowed is an integer, multiply-accumulates per frame")


def _check_names(table: Any, path: str, known: Collection[str], what: str) -> None:
    if not isinstance(table, Mapping):
        raise NetworkError(f"{path}: found {show(table)}; allowed is a table for every {what}")
    for name, part in table.items():
        if name not in known:
            raise NetworkError(
                f"{path}.{name if name.isprintable() else show(name)}: {what} {show(name)} does not exist; "
                f"allowed are {', '.join(known)}{did_you_mean(name, known)}"
            )
        if not isinstance(part, Mapping):
            raise NetworkError(f"{path}.{name}: found {show(part)}; allowed is a table")


def _frozen(value: Any, path: tuple[str, ...]) -> Any:
    if len(path) > MAX_DEPTH:
        raise NetworkError(f"{_joined(path)}: lies more than {MAX_DEPTH} tables and lists deep; make it flatter")
    if isinstance(value, Mapping):
        return ReadOnlyMapping({_key(key, path): _frozen(part, (*path, str(key))) for key, part in value.items()})
    if isinstance(value, list | tuple):
        return tuple(_frozen(part, (*path, str(k))) for k, part in enumerate(value))
    if isinstance(value, np.ndarray):
        return _frozen_array(value, path)
    value = value.item() if isinstance(value, np.generic) else value
    for kind in (str, bool, int, float):
        if isinstance(value, kind):
            _check_writable(value, path)
            return kind(value)  # no values of derived classes, which TOML does not write
    raise NetworkError(f"{_joined(path)}: found {show(value)}; allowed are {_ALLOWED}")


def _frozen_array(array: NDArray[Any], path: tuple[str, ...]) -> NDArray[np.float32]:
    if path[0] != "inputs" or len(path) != 3 or path[2] not in ENCODER:
        raise NetworkError(f"{_joined(path)}: found an array; allowed are {_ALLOWED}")
    if not np.issubdtype(array.dtype, np.floating):
        raise NetworkError(f"{_joined(path)}: found an array of {array.dtype}; allowed is float32")
    with np.errstate(over="ignore"):  # what is too large for float32 is refused as infinite
        taken = array.astype(np.float32, copy=False)
    if not np.isfinite(taken).all():
        raise NetworkError(f"{_joined(path)}: found NaN or infinity; only finite numbers are allowed")
    return frozen(taken, _joined(path))


def _key(key: object, path: tuple[str, ...]) -> str:
    if not isinstance(key, str):
        raise NetworkError(f"{_joined(path)}: found the key {show(key)}; allowed are texts")
    _check_writable(key, path)
    return key


def _check_writable(value: object, path: tuple[str, ...]) -> None:
    """Refuse lone surrogates, and integers of more than 64 bits, which no TOML file can hold."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise NetworkError(f"{_joined(path)}: found {show(value)}; allowed are integers of 64 bits, signed")
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise NetworkError(f"{_joined(path)}: found {show(value)}; allowed is text that UTF-8 can write")


def _joined(path: tuple[str, ...]) -> str:
    text = ".".join(part if part.isprintable() else repr(part) for part in path)
    return text if len(text) <= 120 else f"{text[:117]}..."
