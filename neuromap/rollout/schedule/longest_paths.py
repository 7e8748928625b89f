"""Paths with most streaming edges among those that visit no node twice.

The problem is NP-hard, but only inside blocks: a path crosses the strongly connected components in
topological order, and inside one it crosses the *blocks* (maximal parts that no single node separates) as
their tree prescribes. Each block is searched on its own: exactly where it has up to :data:`EXACT_NODES` nodes
or few enough paths, else between a path that was found and a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from neuromap.rollout.schedule.walks import IndexedPattern

__all__ = ["EXACT_NODES", "longest_paths"]

EXACT_NODES = 14
"""Blocks of up to this many nodes are always solved exactly (subsets of nodes: memory and time 2^n)."""

_QUICK_STEPS = 2_000
_SEARCH_STEPS = 400_000
_NEVER = -(1 << 60)

_Bounds: TypeAlias = tuple[int, int]
"""Upper bound and value of a path that exists; equal where the search was completed."""

_NONE: _Bounds = (_NEVER, _NEVER)


def longest_paths(graph: IndexedPattern, starts: Mapping[int, int], period: int) -> tuple[list[int], list[int]]:
    """Greatest start value plus P times the streaming edges, over paths that visit no node twice.

    Parameters
    ----------
    graph : IndexedPattern
        A valid pattern; every node is reachable from a start.
    starts : mapping of int to int
        Input nodes and their values.
    period : int
        P, at least 1.

    Returns
    -------
    upper, lower : list of int, one per node
        Upper bound, and the value of a path that exists. Where they are equal they are the answer.
    """
    values = [_NONE] * graph.n
    where = graph.component_of
    search = _Search(_SEARCH_STEPS)
    for component, blocks in zip(graph.components, graph.blocks, strict=True):
        for v in component:
            value = (starts[v], starts[v]) if v in starts else _NONE
            for e in graph.incoming[v]:
                u = graph.sources[e]
                if where[u] != where[v]:
                    value = _max(value, _add(values[u], period * graph.values[e]))
            values[v] = value
        if len(component) > 1:
            _cross(component, [_Block(graph, edges, period, search) for edges in blocks], values)
    return [u for u, _ in values], [low for _, low in values]


def _max(a: _Bounds, b: _Bounds) -> _Bounds:
    return (max(a[0], b[0]), max(a[1], b[1]))


def _add(a: _Bounds, step: int) -> _Bounds:
    return (a[0] + step if a[0] != _NEVER else _NEVER, a[1] + step if a[1] != _NEVER else _NEVER)


def _cross(component: Sequence[int], blocks: Sequence[_Block], values: list[_Bounds]) -> None:
    """Replace the values at which paths enter a component by the greatest with which they leave.

    Messages go over the tree of blocks, first to the root, then back: what a block sends to a node is the
    best path that ends there and whose last block it is.
    """
    at: dict[int, list[int]] = {v: [] for v in component}
    for b, block in enumerate(blocks):
        for v in block.nodes:
            at[v].append(b)
    # Walk the tree from block 0; gate[b] is the node through which block b was reached.
    order, gate = [0], {0: -1}
    for b in order:
        for v in blocks[b].nodes:
            for c in at[v]:
                if c not in gate:
                    gate[c] = v
                    order.append(c)
    # Towards the root: messages of the blocks below each node, and all that enters it from there.
    below: dict[int, list[tuple[_Bounds, int]]] = {v: [] for v in component}
    joined = {v: values[v] for v in component}
    for b in reversed(order[1:]):
        entering = {v: _NONE if v == gate[b] else joined[v] for v in blocks[b].nodes}
        message = blocks[b].through(entering)[gate[b]]
        below[gate[b]].append((message, b))
        joined[gate[b]] = _max(joined[gate[b]], message)
    others = _without_one(below)
    # And back: a block must not hear its own message, so its gate takes those of the sister blocks only.
    above = dict.fromkeys(component, _NONE)
    for b in order:
        entering = {v: joined[v] for v in blocks[b].nodes}
        if b:
            g = gate[b]
            entering[g] = _max(_max(values[g], above[g]), others[b])
        for v, message in blocks[b].through(entering).items():
            if v != gate[b]:
                above[v] = message
    for v in component:
        values[v] = _max(joined[v], above[v])


def _without_one(below: Mapping[int, Sequence[tuple[_Bounds, int]]]) -> dict[int, _Bounds]:
    """For every block the best message of its sister blocks at the same node."""
    others: dict[int, _Bounds] = {}
    for messages in below.values():
        best = _NONE
        for message, b in messages:
            others[b] = best
            best = _max(best, message)
        best = _NONE
        for message, b in reversed(messages):
            others[b] = _max(others[b], best)
            best = _max(best, message)
    return others


class _Search:
    """Steps that the searches of one network may still take together."""

    def __init__(self, steps: int) -> None:
        self.left = steps


class _Block:
    """A block: its nodes, the edges between them, and the search for paths through it."""

    def __init__(self, graph: IndexedPattern, edges: Sequence[int], period: int, search: _Search) -> None:
        ends = sorted((graph.sources[e], graph.targets[e], graph.values[e]) for e in edges)
        self.nodes = sorted({v for u, w, _ in ends for v in (u, w)})
        self._search = search
        self._period = period
        index = {v: k for k, v in enumerate(self.nodes)}
        self._out: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for u, v, r in ends:
            self._out[index[u]].append((index[v], period * r))

    def through(self, entering: Mapping[int, _Bounds]) -> dict[int, _Bounds]:
        """Best value at every node over paths of one edge or more inside the block."""
        upper = [entering[v][0] for v in self.nodes]
        lower = [entering[v][1] for v in self.nodes]
        found, done = self._best(lower)
        above = found
        if done and upper != lower:
            above, done = self._best(upper)
        if not done:
            above = self._bound(upper)
        return dict(zip(self.nodes, zip(above, found, strict=True), strict=True))

    def _best(self, entering: list[int]) -> tuple[list[int], bool]:
        """Best values found, and whether the search was completed."""
        found, steps = self._walk(entering, _QUICK_STEPS)
        if steps >= 0:
            return found, True
        if len(self.nodes) <= EXACT_NODES:
            return self._subsets(entering), True
        found, left = self._walk(entering, self._search.left // 2)
        self._search.left -= self._search.left // 2 - max(left, 0)
        return found, left >= 0

    def _walk(self, entering: list[int], steps: int) -> tuple[list[int], int]:
        """Try all paths, depth first; also give the steps left, below 0 if there were too few."""
        best = [_NEVER] * len(self.nodes)
        visited = [False] * len(self.nodes)
        for start in sorted(range(len(self.nodes)), key=lambda v: -entering[v]):
            if entering[start] == _NEVER:
                break
            visited[start] = True
            trail = [(start, entering[start], iter(self._out[start]))]
            while trail:
                u, value, edges = trail[-1]
                for v, weight in edges:
                    if not visited[v]:
                        steps -= 1
                        if steps < 0:
                            return best, steps
                        best[v] = max(best[v], value + weight)
                        visited[v] = True
                        trail.append((v, value + weight, iter(self._out[v])))
                        break
                else:
                    visited[u] = False
                    trail.pop()
        return best, steps

    def _subsets(self, entering: list[int]) -> list[int]:
        """Exact by subsets: the best value for each set of visited nodes and last node (Held and Karp)."""
        k = len(self.nodes)
        table = np.full((k, 1 << k), _NEVER, dtype=np.int64)
        for v, value in enumerate(entering):
            table[v, 1 << v] = value
        sets = np.arange(1 << k)
        sizes = np.bitwise_count(sets)
        for size in range(1, k):
            layer = sets[sizes == size]
            for u, edges in enumerate(self._out):
                ending = layer[(layer >> u) & 1 == 1]
                for v, weight in edges:
                    free = ending[(ending >> v) & 1 == 0]
                    longer = free | (1 << v)
                    table[v, longer] = np.maximum(table[v, longer], table[u, free] + weight)
        for v in range(k):
            table[v, 1 << v] = _NEVER
        best = table.max(axis=1)
        return [int(x) if x > _NEVER // 2 else _NEVER for x in best]

    def _bound(self, entering: list[int]) -> list[int]:
        """Upper bounds: a path enters every node but its first, and leaves every node but its last, once.

        So it has at most as many streaming edges as nodes other than the first have one that enters, and as
        nodes other than the last have one that leaves.
        """
        size = len(self.nodes)
        enters = [0] * size
        leaves = [0] * size
        for u, edges in enumerate(self._out):
            for v, weight in edges:
                if weight:
                    enters[v] = leaves[u] = 1
        # The two best starts of each kind, so that a node is never its own start.
        starts: list[int] = []
        for kind in (0, 1):
            starts += sorted((v for v in range(size) if enters[v] == kind), key=lambda v: -entering[v])[:2]
        into, out = sum(enters), sum(leaves)
        best = [_NEVER] * size
        for b in range(size):
            for a in starts:
                if a != b and entering[a] != _NEVER:
                    most = self._period * min(into - enters[a], out - leaves[b])
                    best[b] = max(best[b], entering[a] + most)
        return best
