"""A network with its nodes and edges as numbers, and what serves all its patterns."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_structure import cycle_structure

__all__ = ["Graph", "graph_of"]


@dataclass(frozen=True, eq=False)
class Graph:
    """A network with its nodes and edges as numbers."""

    network: Network  # the network (n nodes, E edges)
    # sources, targets: ends of every edge
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    # inputs, outputs: input and output nodes
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    # all nodes, every edge but the self-edges from earlier to later; empty where there are longer cycles
    order: tuple[int, ...]
    tree: tuple[int, ...]  # edges of a spanning forest rooted in the inputs, every edge after the one that leads to it

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.network.nodes)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.sources)

    @property
    def self_edges(self) -> tuple[int, ...]:
        """Edges from a node to itself; they stream in every valid pattern."""
        return tuple(e for e in range(self.n_edges) if self.sources[e] == self.targets[e])

    def entering(self, v: int) -> list[int]:
        """Edges that lead to a node, a self-edge too."""
        return [e for e, target in enumerate(self.targets) if target == v]

    def leaving(self, u: int) -> list[int]:
        """Edges that leave a node, a self-edge too."""
        return [e for e, source in enumerate(self.sources) if source == u]

    @property
    def is_ordered(self) -> bool:
        """Whether one order of the nodes serves every pattern."""
        return bool(self.order)


def graph_of(network: Network) -> Graph:
    """Give the nodes and edges of a network numbers, and find what serves all its patterns."""
    number = {name: k for k, name in enumerate(network.nodes)}
    sources = tuple(number[u] for u, _ in network.edges)
    targets = tuple(number[v] for _, v in network.edges)
    inputs = tuple(number[name] for name in network.inputs)
    order = () if cycle_structure(network).blocks else _order(len(number), sources, targets)
    tree = _forest(inputs, sources, targets)
    return Graph(network, sources, targets, inputs, tuple(number[o] for o in network.outputs), order, tree)


def _forest(inputs: tuple[int, ...], sources: tuple[int, ...], targets: tuple[int, ...]) -> tuple[int, ...]:
    """Find edges by which every node is reached once, breadth first from the inputs."""
    reached, queue, tree = set(inputs), list(inputs), []
    for u in queue:
        for e, (source, v) in enumerate(zip(sources, targets, strict=True)):
            if source == u and v not in reached:
                reached.add(v)
                queue.append(v)
                tree.append(e)
    return tuple(tree)


def _order(n: int, sources: tuple[int, ...], targets: tuple[int, ...]) -> tuple[int, ...]:
    """Sort the nodes of a network without cycles, self-edges aside, so that every edge leads to a later one."""
    edges = [(u, v) for u, v in zip(sources, targets, strict=True) if u != v]
    waiting = [0] * n
    for _, v in edges:
        waiting[v] += 1
    order = [v for v in range(n) if waiting[v] == 0]
    for u in order:
        for source, v in edges:
            if source == u:
                waiting[v] -= 1
                if waiting[v] == 0:
                    order.append(v)
    return tuple(order)
