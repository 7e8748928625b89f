"""Longest walks through a pattern, or the cycles that make them endless.

A *walk* may visit a node again, so that this is quick; paths that may not are in ``longest_paths.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from neuromap.rollout.cycles.indexed_network import IndexedNetwork
from neuromap.rollout.indexed_pattern import IndexedPattern

__all__ = ["LongestWalks", "parent_cycles"]


class LongestWalks:
    """Longest walks under the weights ``q c(e) - p R(e)``, or a cycle whose weight is positive."""

    # Bellman and Ford's relaxation, node by node in an order that the sequential edges follow, so that a round carries
    # values along any number of sequential edges; after each round the walks of the parent forest are summed anew,
    # which carries them along streaming edges too. All numbers are integers.
    # Every value is at most the value of the parent plus the weight of the edge between, so a cycle among the parents
    # has positive weight; and without one the values settle after at most n rounds.
    # latencies: c, at least 1
    # parents: for every node the last edge of a first walk, -1 where a walk starts; no cycle among them

    def __init__(
        self,
        pattern: IndexedPattern,
        latencies: Sequence[int],
        edges: Sequence[int],
        parents: Sequence[int],
        starts: Sequence[int] | None = None,
    ) -> None:
        graph = pattern.graph
        self._graph = graph
        self._streams = pattern.values
        self._latencies = latencies
        self._out: list[list[tuple[int, int]]] = [[] for _ in range(graph.n)]
        for e in edges:
            self._out[graph.sources[e]].append((graph.targets[e], e))
        self._order = [v for v in pattern.sequential_order if self._out[v]]
        self.parents = list(parents)
        self._starts = [0] * graph.n if starts is None else starts
        self.values = list(self._starts)

    def settle(self, q: int, p: int) -> list[list[int]]:
        """Lengthen the walks until none can be lengthened."""
        weight = [q * c - p * r for c, r in zip(self._latencies, self._streams, strict=True)]
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
        graph, parents, values, starts = self._graph, self.parents, self.values, self._starts
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
                value = starts[v] if e < 0 else values[graph.sources[e]] + weight[e]
                if value > values[v]:
                    rose.append(v)
                values[v] = value
        return rose


def parent_cycles(graph: IndexedNetwork, parents: Sequence[int]) -> list[list[int]]:
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
