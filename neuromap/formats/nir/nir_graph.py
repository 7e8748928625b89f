"""A NIR graph made of nested tables, such as ``NIRGraph.to_dict()`` gives and files hold, and checked on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError
from neuromap.files.messages import did_you_mean, show, show_name
from neuromap.render.value import Card

MAX_DEPTH = 16
"""Graphs within each other."""
MAX_NODES = 2**16
"""Nodes of all graphs together."""
MAX_EDGES = 2**18
"""Edges of all graphs together."""
MAX_VALUES = 2**26
"""Numbers of one parameter."""
MAX_NAME = 300
"""Characters of a name."""
_PADDINGS = ("same", "valid")
_GRAPH = "NIRGraph"


class _Counter:
    """What was taken so far, of all graphs."""

    def __init__(self) -> None:
        self.nodes = self.edges = 0


def graph_of(tree: Mapping[str, Any], version: str = "") -> NirGraph:
    """Make a graph of nested tables; nothing in them is executed.

    Parameters
    ----------
    tree : mapping
        ``type``, ``nodes``, ``edges`` and ``metadata`` as ``nir.NIRGraph.to_dict()`` gives them.
    version : str
        Of NIR.

    Returns
    -------
    NirGraph

    Raises
    ------
    InputError
        If it is none: a type that NIR 1.0 does not have, a parameter that is missing or no finite number, an edge from
        or to a node that is not there, or more than ``MAX_NODES`` nodes, ``MAX_EDGES`` edges, ``MAX_DEPTH`` graphs
        within each other.
    """
    if not isinstance(tree, Mapping) or tree.get("type") != _GRAPH:
        found = tree.get("type") if isinstance(tree, Mapping) else tree
        raise InputError(f"node: type: found {show(found)}; a NIR file holds a NIRGraph, put the node into one")
    return _graph(tree, "", 1, _Counter(), version)


def _graph(tree: Mapping[str, Any], path: str, depth: int, counter: _Counter, version: str = "") -> NirGraph:
    here = f"graph {show_name(path)}" if path else "graph"
    if depth > MAX_DEPTH:
        raise InputError(f"{here}: is nested {depth} deep; at most {MAX_DEPTH} graphs within each other are allowed")
    nodes = tree.get("nodes")
    if not isinstance(nodes, Mapping) or not nodes:
        raise InputError(f"{here}: nodes: found {show(nodes)}; needs one node or more")
    counter.nodes += len(nodes)
    if counter.nodes > MAX_NODES:
        raise InputError(f"{here}: has more than {MAX_NODES} nodes; split it")
    found: dict[str, NirNode | NirGraph] = {}
    for name, node in nodes.items():
        if not isinstance(name, str) or not name or len(name) > MAX_NAME or not name.isprintable():
            raise InputError(f"{here}: node {show(name)}: needs a name of 1 to {MAX_NAME} printable characters")
        where = f"{path}.{name}" if path else name
        if not isinstance(node, Mapping):
            raise InputError(f"node {where}: found {show(node)}; needs type and parameters")
        is_graph = node.get("type") == _GRAPH
        found[name] = _graph(node, where, depth + 1, counter) if is_graph else _node(node, where)
    edges = _edges(tree.get("edges"), here, found, counter)
    return NirGraph(found, edges, _metadata(tree.get("metadata")), version)


def _edges(
    edges: Any, here: str, nodes: Mapping[str, NirNode | NirGraph], counter: _Counter
) -> tuple[tuple[str, str], ...]:
    if edges is None or isinstance(edges, str | Mapping) or not hasattr(edges, "__len__"):
        raise InputError(f"{here}: edges: found {show(edges)}; needs pairs of names")
    counter.edges += len(edges)
    if counter.edges > MAX_EDGES:
        raise InputError(f"{here}: has more than {MAX_EDGES} edges; split it")
    pairs = []
    for edge in edges:
        ends = None if isinstance(edge, str) or not hasattr(edge, "__len__") or len(edge) != 2 else list(edge)
        if ends is None or not all(isinstance(end, str) for end in ends):
            raise InputError(f"{here}: edges: found {show(edge)}; needs pairs of names")
        for end in ends:
            head, _, port = end.partition(".")
            if end not in nodes and not (isinstance(held := nodes.get(head), NirGraph) and port in held.nodes):
                raise InputError(f"{here}: edge {show(tuple(ends))}: node {show(end)} does not exist")
        pairs.append((ends[0], ends[1]))
    return tuple(dict.fromkeys(pairs))


def _node(node: Mapping[str, Any], name: str) -> NirNode:
    kind = node.get("type")
    if not isinstance(kind, str) or kind not in PRIMITIVES:
        near = did_you_mean(kind, PRIMITIVES) if isinstance(kind, str) else ""
        raise InputError(f"node {show_name(name)}: type: found {show(kind)}; NIR has {', '.join(PRIMITIVES)}{near}")
    rules = PRIMITIVES[kind]
    numbers: dict[str, NDArray[np.float64]] = {}
    words: dict[str, str] = {}
    for key in (*rules.needs, *rules.may):
        value = node.get(key)
        where = f"node {show_name(name)} ({kind}): {key}"
        if value is None:
            if key in rules.needs:
                raise InputError(f"{where}: is missing; {kind} needs {', '.join(rules.needs)}")
            continue
        if key == "padding" and isinstance(value, str):
            if value not in _PADDINGS:
                raise InputError(f'{where}: found {show(value)}; allowed are numbers, "same" and "valid"')
            words[key] = value
            continue
        numbers[key] = _numbers(value, where, is_positive=key in rules.positive, is_whole=key in rules.whole)
    return NirNode(kind, numbers, words, _metadata(node.get("metadata")))


def _numbers(value: Any, where: str, *, is_positive: bool, is_whole: bool) -> NDArray[np.float64]:
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError):  # rows of different lengths, tensors of a device
        array = np.asarray(None)
    if array.dtype.kind not in "iuf" or array.ndim > 8:
        raise InputError(f"{where}: found {show(value)}; needs numbers")
    if array.size > MAX_VALUES:
        raise InputError(f"{where}: holds {array.size} numbers; at most {MAX_VALUES} are allowed")
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = array.astype(np.float64)
    bad = ~(np.abs(numbers) <= GREATEST)
    need = f"finite numbers, up to {GREATEST:g}"
    if is_positive:
        bad, need = bad | ~(numbers >= LEAST), f"numbers above 0, {LEAST:g} to {GREATEST:g}"
    if is_whole:
        bad, need = bad | (numbers != np.rint(numbers)) | (np.abs(numbers) > 2**31), f"whole {need}"
    if bad.any():
        raise InputError(f"{where}: found {numbers[bad].flat[0]:g}; needs {need}")
    return numbers


def _metadata(table: Any) -> dict[str, MetaValue]:
    """Take texts and numbers; what a writer left beside them in other forms is not ours to read."""
    if not isinstance(table, Mapping):
        return {}
    found: dict[str, MetaValue] = {}
    for key, value in table.items():
        if isinstance(value, str):
            found[str(key)] = value
            continue
        if isinstance(value, Mapping):
            continue
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, RuntimeError):
            continue
        if array.dtype.kind in "biuf" and array.size <= MAX_VALUES:
            with np.errstate(invalid="ignore", over="ignore"):
                found[str(key)] = array.astype(np.float64)
    return found


# The primitives of NIR 1.0: what each has, and which numbers it allows.
LEAST, GREATEST = 1e-40, 1e40
"""Bounds of numbers that must be above 0, and of all: those of float32, so that products of some stay in float64."""


class Primitive(NamedTuple):
    """What a primitive has."""

    needs: tuple[str, ...]  # parameters that it must have
    may: tuple[str, ...] = ()  # those that it may have
    positive: tuple[str, ...] = ()  # those that must be above 0
    whole: tuple[str, ...] = ()  # those that must be whole numbers


_CONV = Primitive(
    ("weight", "stride", "padding", "dilation", "groups"),
    ("bias", "input_shape"),
    ("stride", "dilation", "groups", "input_shape"),
    ("stride", "padding", "dilation", "groups", "input_shape"),
)
_POOL = Primitive(
    ("kernel_size", "stride", "padding"), (), ("kernel_size", "stride"), ("kernel_size", "stride", "padding")
)
_SHAPE = Primitive(("shape",), (), ("shape",), ("shape",))
PRIMITIVES: Mapping[str, Primitive] = ReadOnlyMapping(
    {
        "Affine": Primitive(("weight", "bias")),
        "AvgPool2d": _POOL,
        "Conv1d": _CONV,
        "Conv2d": _CONV,
        "CubaLI": Primitive(("tau_syn", "tau_mem", "r", "v_leak"), ("w_in",), ("tau_syn", "tau_mem")),
        "CubaLIF": Primitive(
            ("tau_syn", "tau_mem", "r", "v_leak", "v_threshold"), ("v_reset", "w_in"), ("tau_syn", "tau_mem")
        ),
        "Delay": Primitive(("delay",)),
        "Flatten": Primitive((), ("start_dim", "end_dim", "input_type"), (), ("start_dim", "end_dim", "input_type")),
        "I": Primitive(("r",)),
        "IF": Primitive(("r", "v_threshold"), ("v_reset",)),
        "Input": _SHAPE,
        "LI": Primitive(("tau", "r", "v_leak"), (), ("tau",)),
        "LIF": Primitive(("tau", "r", "v_leak", "v_threshold"), ("v_reset",), ("tau",)),
        "Linear": Primitive(("weight",)),
        "Output": _SHAPE,
        "Scale": Primitive(("scale",)),
        "SumPool2d": _POOL,
        "Threshold": Primitive(("threshold",)),
    }
)
"""All of them but the graph, by the names of NIR 1.0.8 (https://nnir.readthedocs.io)."""


# A NIR graph as plain values, whatever file or object it came from.


MetaValue: TypeAlias = "str | NDArray[np.float64]"
"""What a key of metadata holds: a text, or numbers of any shape."""


@dataclass(frozen=True, eq=False)
class NirNode(Card):
    """One primitive of NIR.

    Attributes
    ----------
    kind : str
        Its type as NIR calls it, such as ``"LIF"``.
    parameters : mapping of str to ndarray of float64
        Numbers by the names of NIR, in its shapes; seconds and volts, or whatever the writer took for them.
    words : mapping of str to str
        Parameters that are words: ``padding``.
    metadata : mapping of str to str or ndarray of float64
        What the writer left beside them.
    """

    kind: str
    parameters: Mapping[str, NDArray[np.float64]]
    words: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("parameters", "words", "metadata"):
            held = getattr(self, name)
            locked = {key: frozen(value) if isinstance(value, np.ndarray) else value for key, value in held.items()}
            object.__setattr__(self, name, ReadOnlyMapping(locked))

    def _facts(self) -> dict[str, object]:
        return {"kind": self.kind} | {name: list(array.shape) for name, array in self.parameters.items()}


@dataclass(frozen=True, eq=False)
class NirGraph(Card):
    """Nodes and the pairs that are joined; values of several nodes that feed one add up.

    Attributes
    ----------
    nodes : mapping of str to NirNode or NirGraph
        In the order of the source; files give them by name.
    edges : tuple of (str, str)
        Source and target.
    metadata : mapping of str to str or ndarray of float64
        What the writer left beside them.
    version : str
        Of NIR, where the source says so.
    """

    nodes: Mapping[str, NirNode | NirGraph]
    edges: tuple[tuple[str, str], ...]
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", ReadOnlyMapping(self.nodes))
        object.__setattr__(self, "edges", tuple(self.edges))
        locked = {key: frozen(v) if isinstance(v, np.ndarray) else v for key, v in self.metadata.items()}
        object.__setattr__(self, "metadata", ReadOnlyMapping(locked))

    def _facts(self) -> dict[str, object]:
        return {"nodes": len(self.nodes), "edges": len(self.edges), "version": self.version}
