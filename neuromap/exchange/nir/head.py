"""What NIR's equations have no word for, as this package writes it into a graph's metadata: one JSON text, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.exchange.nir.conventions import SCHEMES, STEPS, Convention
from neuromap.files.messages import show
from neuromap.formats.nir.nir_graph import NirGraph
from neuromap.network.network import Network
from neuromap.network.tables import plain_table

__all__ = ["KEY", "Head", "head_of", "head_text", "lost_tables", "stated_step"]

KEY = "neuromap"
"""Key of the metadata of a graph, and of a node."""
_FORMAT = "neuromap nir 1"
_DEEPEST = 24


@dataclass(frozen=True, eq=False)
class Head(Value):
    """A network without its weights and neurons."""

    name: str  # of the network
    how: Convention  # seconds of a tick, and the scheme
    # in their order; each with ``shape`` (or ``None``) and, where it is spiking, ``neuron`` with its model, settings
    # and the names of its currents
    nodes: dict[str, dict[str, Any]]
    edges: list[tuple[str, str, list[tuple[int, int]]]]  # in their order, with delay and current of every term
    outputs: list[str]  # output nodes
    # patterns, bridging, tables: as :class:`~neuromap.network.network.Network` takes them
    patterns: dict[str, list[tuple[str, str]]]
    bridging: dict[str, dict[tuple[str, str], int]]
    tables: dict[str, Any]


def head_text(network: Network, how: Convention, nodes: Mapping[str, Mapping[str, Any]], edges: Sequence[Any]) -> str:
    """Write the head of a network as JSON; tables that hold arrays are left out."""
    lost = lost_tables(network)
    tables = {name: plain_table(table) for name, table in network.tables.items() if name not in lost}
    return json.dumps(
        {
            "format": _FORMAT,
            "name": network.name,
            "dt": how.dt,
            "scheme": how.scheme,
            "rollout": "streaming" if network.is_spiking else "",
            "nodes": [{"name": name, **node} for name, node in nodes.items()],
            "edges": list(edges),
            "outputs": list(network.outputs),
            "patterns": {name: [list(key) for key in keys] for name, keys in network.patterns.items()},
            "bridging": {name: [[*key, n] for key, n in frames.items()] for name, frames in network.bridging.items()},
            "tables": tables,
        }
    )


def lost_tables(network: Network) -> list[str]:
    """List the tables that hold arrays, such as an encoder's weights: a text has no room for them."""
    found = []
    for name, table in network.tables.items():
        try:
            json.dumps(plain_table(table))
        except TypeError:
            found.append(name)
    return found


def stated_step(graph: NirGraph) -> Convention | None:
    """Give the step that a graph's metadata state as ``dt``, in seconds."""
    found = graph.metadata.get("dt")
    if found is None or isinstance(found, str) or found.size != 1:
        return None
    dt = float(found.ravel()[0])
    return Convention(dt, "exponential") if STEPS[0] <= dt <= STEPS[1] else None


def head_of(graph: NirGraph) -> Head | None:
    """Read the head that this package wrote; ``None`` where there is none."""
    text = graph.metadata.get(KEY)
    if not isinstance(text, str):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _wrong("is no JSON") from None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise _wrong(f"is not of the format {_FORMAT!r}")
    try:
        return _head(found)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise _wrong("lacks a part, or has one of another kind") from None


def _wrong(what: str) -> InputError:
    return InputError(f"metadata: {KEY}: {what}; remove it, and the graph is read as any other")


def _head(found: dict[str, Any]) -> Head:
    if found["scheme"] not in SCHEMES or not STEPS[0] <= float(found["dt"]) <= STEPS[1]:
        raise _wrong(f"dt and scheme: found {show((found['dt'], found['scheme']))}")
    nodes: dict[str, dict[str, Any]] = {}
    for node in found["nodes"]:
        shape, neuron = node["shape"], node.get("neuron")
        if shape is not None:
            shape = tuple(_whole(n) for n in shape)
        if neuron is not None and not isinstance(neuron, dict):
            raise _wrong(f"node {show(node['name'])}: found {show(neuron)}")
        nodes[_text(node["name"])] = {"shape": shape, "neuron": neuron}
    edges = [
        (_text(u), _text(v), [(_whole(delay), _whole(current)) for delay, current in terms])
        for u, v, terms in found["edges"]
    ]
    patterns = {_text(name): [(_text(u), _text(v)) for u, v in keys] for name, keys in found["patterns"].items()}
    bridging = {
        _text(name): {(_text(u), _text(v)): _whole(n) for u, v, n in frames}
        for name, frames in found["bridging"].items()
    }
    if not isinstance(found["tables"], dict) or _depth(found["tables"]) > _DEEPEST:
        raise _wrong("tables: are none, or nested too deep")
    return Head(
        _text(found["name"]),
        Convention(float(found["dt"]), found["scheme"]),
        nodes,
        edges,
        [_text(name) for name in found["outputs"]],
        patterns,
        bridging,
        found["tables"],
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _wrong(f"found {show(value)} for a text")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(f"found {show(value)} for a whole number")
    return value


def _depth(value: Any) -> int:
    """Count tables and lists within each other, up to one more than is allowed."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        inner = [part for part in level if isinstance(part, dict | list)]
        level = [below for part in inner for below in (part.values() if isinstance(part, dict) else part)]
        depth += bool(inner)
    return depth
