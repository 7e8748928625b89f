"""A network with its nodes as integers, cut into strongly connected components and their blocks.

Names become indices once per network; all searches work on lists of integers, so that a graph of 10,000 nodes and
100,000 edges is analysed in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from neuromap.network.network import Network
from neuromap.rollout.cycles.blocks import Pair, split_at_nodes
from neuromap.rollout.cycles.once_per_network import once_per_network

__all__ = ["IndexedNetwork", "indexed_network"]


@dataclass(frozen=True, eq=False)
class IndexedNetwork:
    """The structure of a network in integers."""

    n: int  # number of nodes; node k is the k-th of the network
    # sources, targets: ends of every edge, in edge order
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    outputs: tuple[int, ...]  # the output nodes

    @cached_property
    def outgoing(self) -> list[list[int]]:
        """Indices of the edges that leave each node."""
        edges: list[list[int]] = [[] for _ in range(self.n)]
        for e, u in enumerate(self.sources):
            edges[u].append(e)
        return edges

    @cached_property
    def incoming(self) -> list[list[int]]:
        """Indices of the edges that enter each node."""
        edges: list[list[int]] = [[] for _ in range(self.n)]
        for e, v in enumerate(self.targets):
            edges[v].append(e)
        return edges

    @cached_property
    def inputs(self) -> list[int]:
        """Nodes without incoming edges."""
        return [v for v in range(self.n) if not self.incoming[v]]

    @cached_property
    def tree(self) -> list[int]:
        """Edges of a spanning forest rooted in the inputs, every edge after the one that leads to it."""
        reached = [not edges for edges in self.incoming]
        front = list(self.inputs)
        edges: list[int] = []
        for u in front:  # grows while it is read
            for e in self.outgoing[u]:
                v = self.targets[e]
                if not reached[v]:
                    reached[v] = True
                    edges.append(e)
                    front.append(v)
        return edges

    @cached_property
    def reaches_output(self) -> list[bool]:
        """Whether a path leads from each node to an output, or the node is one."""
        reaches = [False] * self.n
        front = list(self.outputs)
        while front:
            v = front.pop()
            if not reaches[v]:
                reaches[v] = True
                front += [self.sources[e] for e in self.incoming[v]]
        return reaches

    @cached_property
    def seen(self) -> list[int]:
        """Edges whose targets reach an output: the part of the network that its outputs see."""
        return [e for e, v in enumerate(self.targets) if self.reaches_output[v]]

    @cached_property
    def components(self) -> list[list[int]]:
        """Strongly connected components, every component after all that lead to it."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(self.n))
        graph.add_edges_from(zip(self.sources, self.targets, strict=True))
        # Tarjan's search is done with a component when it is done with all that the component leads to.
        return [list(nodes) for nodes in nx.strongly_connected_components(graph)][::-1]

    @cached_property
    def component_of(self) -> list[int]:
        """Position in :attr:`components` of every node's component."""
        where = [0] * self.n
        for c, component in enumerate(self.components):
            for v in component:
                where[v] = c
        return where

    @cached_property
    def blocks(self) -> list[list[list[int]]]:
        """Blocks of every component, in the order of :attr:`components`: the edges of each, no self-edges."""
        where = self.component_of
        number: dict[Pair, int] = {}
        inside: list[list[Pair]] = [[] for _ in self.components]
        for e, (u, v) in enumerate(zip(self.sources, self.targets, strict=True)):
            if where[u] == where[v] and u != v:
                number[u, v] = e
                inside[where[u]].append((u, v))
        return [
            [[number[pair] for pair in block] for block in split_at_nodes(pairs)] if pairs else [] for pairs in inside
        ]


@once_per_network
def indexed_network(network: Network) -> IndexedNetwork:
    """Give the nodes of a network numbers; the same value every time."""
    index = {name: k for k, name in enumerate(network.nodes)}
    return IndexedNetwork(
        n=len(index),
        sources=tuple(index[u] for u, _ in network.edges),
        targets=tuple(index[v] for _, v in network.edges),
        outputs=tuple(index[name] for name in network.outputs),
    )
