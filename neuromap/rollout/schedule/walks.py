"""Integer view of a pattern and the longest walks through it: the common ground of ratio, phases, responses.

Names become indices once; everything below works on lists of integers, so that a graph of 10,000 nodes and
100,000 edges is analysed in seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import networkx as nx

from neuromap.network.network import Network

__all__ = ["IndexedPattern", "LongestWalks", "parent_cycles"]


@dataclass(frozen=True, eq=False)
class IndexedPattern:
    """A network and the values of a pattern, nodes as integers.

    Attributes
    ----------
    n : int
        Number of nodes; node k is the k-th of the network.
    sources, targets, values : tuple of int, one per edge
        Ends of every edge and R, 0 or 1, in edge order.
    """

    n: int
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    values: tuple[int, ...]

    @classmethod
    def of(cls, network: Network, values: Sequence[int]) -> IndexedPattern:
        """Index a network; ``values`` holds R in edge order."""
        index = {name: k for k, name in enumerate(network.nodes)}
        return cls(
            n=len(index),
            sources=tuple(index[u] for u, _ in network.edges),
            targets=tuple(index[v] for _, v in network.edges),
            values=tuple(int(r) for r in values),
        )

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
    def sequential_order(self) -> list[int]:
        """Nodes in an order that every edge with R = 0 follows (the pattern is valid)."""
        waiting = [0] * self.n
        for v, r in zip(self.targets, self.values, strict=True):
            waiting[v] += 1 - r
        ready = deque(v for v in range(self.n) if waiting[v] == 0)
        order: list[int] = []
        while ready:
            u = ready.popleft()
            order.append(u)
            for e in self.outgoing[u]:
                if self.values[e] == 0:
                    v = self.targets[e]
                    waiting[v] -= 1
                    if waiting[v] == 0:
                        ready.append(v)
        return order

    @cached_property
    def components(self) -> list[list[int]]:
        """Strongly connected components, every component after all that lead to it (Tarjan, no recursion)."""
        number = [-1] * self.n
        low = [0] * self.n
        on_stack = [False] * self.n
        stack: list[int] = []
        found: list[list[int]] = []
        count = 0
        for root in range(self.n):
            if number[root] >= 0:
                continue
            calls = [(root, 0)]
            while calls:
                u, k = calls.pop()
                if k == 0:
                    number[u] = low[u] = count
                    count += 1
                    stack.append(u)
                    on_stack[u] = True
                out = self.outgoing[u]
                while k < len(out):
                    v = self.targets[out[k]]
                    k += 1
                    if number[v] < 0:
                        calls.append((u, k))
                        calls.append((v, 0))
                        break
                    if on_stack[v]:
                        low[u] = min(low[u], number[v])
                else:
                    if low[u] == number[u]:
                        component: list[int] = []
                        while True:
                            v = stack.pop()
                            on_stack[v] = False
                            component.append(v)
                            if v == u:
                                break
                        found.append(component)
                    if calls:
                        caller = calls[-1][0]
                        low[caller] = min(low[caller], low[u])
        return found[::-1]

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
        between: list[dict[tuple[int, int], list[int]]] = [{} for _ in self.components]
        for e, (u, v) in enumerate(zip(self.sources, self.targets, strict=True)):
            if where[u] == where[v] and u != v:
                between[where[u]].setdefault((u, v) if u < v else (v, u), []).append(e)
        found: list[list[list[int]]] = []
        for pairs in between:
            shape: nx.Graph[int] = nx.Graph()
            shape.add_edges_from(pairs)
            blocks = nx.biconnected_component_edges(shape) if pairs else ()
            found.append([[e for u, v in block for e in pairs[(u, v) if u < v else (v, u)]] for block in blocks])
        return found


class LongestWalks:
    """Longest walks under the weights ``q c(e) - p R(e)``, or a cycle whose weight is positive.

    Bellman and Ford's relaxation, node by node in an order that the sequential edges follow, so that a
    round carries values along any number of sequential edges; after each round the walks of the parent
    forest are summed anew, which carries them along streaming edges too. All numbers are integers.

    Every value is at most the value of the parent plus the weight of the edge between, so a cycle among the
    parents has positive weight; and without one the values settle after at most n rounds.

    Parameters
    ----------
    graph : IndexedPattern
        A valid pattern.
    latencies : sequence of int, one per edge
        c, at least 1.
    edges : sequence of int
        The edges that walks may use.
    parents : sequence of int
        For every node the last edge of a first walk, -1 where a walk starts; no cycle among them.
    """

    def __init__(
        self, graph: IndexedPattern, latencies: Sequence[int], edges: Sequence[int], parents: Sequence[int]
    ) -> None:
        self._graph = graph
        self._latencies = latencies
        self._out: list[list[tuple[int, int]]] = [[] for _ in range(graph.n)]
        for e in edges:
            self._out[graph.sources[e]].append((graph.targets[e], e))
        self._order = [v for v in graph.sequential_order if self._out[v]]
        self.parents = list(parents)
        self.values = [0] * graph.n

    def settle(self, q: int, p: int) -> list[list[int]]:
        """Lengthen the walks until none can be lengthened.

        Returns
        -------
        list of list of int
            Empty, and :attr:`values` holds the longest walks; or cycles of positive weight (their edges),
            and :attr:`parents` is a forest again.
        """
        weight = [q * c - p * r for c, r in zip(self._latencies, self._graph.values, strict=True)]
        active = [True] * self._graph.n
        self._sum(weight)
        values, parents = self.values, self.parents
        changed = True
        while changed:
            changed = False
            before = parents.copy()
            for u in self._order:
                if not active[u]:
                    continue
                active[u] = False
                value = values[u]
                for v, e in self._out[u]:
                    if value + weight[e] > values[v]:
                        values[v] = value + weight[e]
                        parents[v] = e
                        active[v] = changed = True
            if changed:
                cycles = parent_cycles(self._graph, parents)
                if cycles:
                    parents[:] = before
                    return cycles
                for v in self._sum(weight):
                    active[v] = True
        return []

    def _sum(self, weight: Sequence[int]) -> list[int]:
        """Set the values to the sums along the parents; return the nodes whose value rose."""
        graph, parents, values = self._graph, self.parents, self.values
        done = [False] * graph.n
        rose: list[int] = []
        for start in range(graph.n):
            path: list[int] = []
            v = start
            while not done[v]:
                done[v] = True
                path.append(v)
                if parents[v] < 0:
                    break
                v = graph.sources[parents[v]]
            for v in reversed(path):
                e = parents[v]
                value = 0 if e < 0 else values[graph.sources[e]] + weight[e]
                if value > values[v]:
                    rose.append(v)
                values[v] = value
        return rose


def parent_cycles(graph: IndexedPattern, parents: Sequence[int]) -> list[list[int]]:
    """Cycles of a graph in which every node has at most one incoming edge, as lists of edges."""
    seen = [0] * graph.n
    cycles: list[list[int]] = []
    for start in range(graph.n):
        v = start
        while seen[v] == 0:
            seen[v] = start + 1
            if parents[v] < 0:
                break
            v = graph.sources[parents[v]]
        else:
            if seen[v] == start + 1 and parents[v] >= 0:
                cycle: list[int] = []
                u = v
                while True:
                    cycle.append(parents[u])
                    u = graph.sources[parents[u]]
                    if u == v:
                        break
                cycles.append(cycle[::-1])
    return cycles
