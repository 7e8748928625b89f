"""Graphs within graphs taken apart: one graph whose nodes are named after their way in."""

from __future__ import annotations

from typing import NamedTuple

from neuromap.errors import InputError
from neuromap.files.messages import show_name
from neuromap.formats.nir.nir_graph import NirGraph, NirNode

__all__ = ["JOINT", "FlatGraph", "flatten"]

JOINT = "Joint"
"""Kind of what is left of the inputs and outputs of inner graphs: values pass unchanged."""

_JOINT = NirNode(JOINT, {})


class FlatGraph(NamedTuple):
    """A graph without graphs in it."""

    nodes: dict[str, NirNode]  # in the order of the source, those of inner graphs as ``outer.inner``
    before: dict[str, list[str]]  # who feeds each node, in the order of the edges


def flatten(graph: NirGraph) -> FlatGraph:
    """Take inner graphs apart; an edge to one leads to its only input, an edge from one comes from its only output."""
    nodes: dict[str, NirNode] = {}
    edges: list[tuple[str, str]] = []
    _collect(graph, "", nodes, edges)
    before: dict[str, list[str]] = {name: [] for name in nodes}
    for source, target in dict.fromkeys(edges):
        before[target].append(source)
    return FlatGraph(nodes, before)


def _collect(graph: NirGraph, path: str, nodes: dict[str, NirNode], edges: list[tuple[str, str]]) -> None:
    for name, node in graph.nodes.items():
        whole = f"{path}{name}"
        if isinstance(node, NirGraph):
            _collect(node, f"{whole}.", nodes, edges)
            continue
        if whole in nodes:
            raise InputError(f"node {show_name(whole)}: there are two of this name; rename one")
        nodes[whole] = _JOINT if path and node.kind in ("Input", "Output") else node
    for source, target in graph.edges:
        edges.append((_end(graph, source, path, "Output"), _end(graph, target, path, "Input")))


def _end(graph: NirGraph, name: str, path: str, kind: str) -> str:
    """Find the node that an edge means."""
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
