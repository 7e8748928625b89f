"""Paths with most streaming edges through one block, among those that visit no node twice.

Three ways, tried in this order: all paths, where they are few; all subsets of nodes, up to :data:`EXACT_NODES` nodes;
else all paths again for as long as the budget lasts, and where it ends, an upper bound beside the best path found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from neuromap.rollout.indexed_pattern import IndexedPattern

EXACT_NODES = 14
"""Blocks of up to this many nodes are always solved exactly (subsets of nodes: memory and time 2^n)."""
NO_PATH = -(1 << 60)
"""Value of a path that does not exist."""
_QUICK_STEPS = 2_000
_SEARCH_STEPS = 400_000
Bounds: TypeAlias = tuple[int, int]
"""Upper bound and value of a path that exists; equal where the search was completed."""


class SearchBudget:
    """Steps that the searches of one network may still take together."""

    def __init__(self) -> None:
        self.left = _SEARCH_STEPS


class BlockPaths:
    """The search for paths through one block."""

    # nodes: the nodes of the block, ascending
    # period: P, at least 1

    def __init__(self, pattern: IndexedPattern, edges: Sequence[int], period: int, budget: SearchBudget) -> None:
        graph = pattern.graph
        ends = sorted((graph.sources[e], graph.targets[e], pattern.values[e]) for e in edges)
        self.nodes = sorted({v for u, w, _ in ends for v in (u, w)})
        self._budget = budget
        index = {v: k for k, v in enumerate(self.nodes)}
        self._out: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for u, v, r in ends:
            self._out[index[u]].append((index[v], period * r))
        self._walk = SimpleWalk(self._out, NO_PATH)

    def through(self, entering: Mapping[int, Bounds]) -> dict[int, Bounds]:
        """Best value at every node over paths of one edge or more inside the block."""
        upper = [entering[v][0] for v in self.nodes]
        lower = [entering[v][1] for v in self.nodes]
        found, done = self._best(lower)
        upper_found = found
        if done and upper != lower:
            upper_found, done = self._best(upper)
        if not done:
            upper_found = self._bound(upper)
        return dict(zip(self.nodes, zip(upper_found, found, strict=True), strict=True))

    def _best(self, entering: list[int]) -> tuple[list[int], bool]:
        """Best values found, and whether the search was completed."""
        found, left = self._walk.best(entering, _QUICK_STEPS)
        if left >= 0:
            return found, True
        if len(self.nodes) <= EXACT_NODES:
            return self._subsets(entering), True
        allowed = self._budget.left // 2  # so that something is left for the blocks to come
        found, left = self._walk.best(entering, allowed, compiled=True)
        self._budget.left -= allowed - max(left, 0)
        return found, left >= 0

    def _subsets(self, entering: list[int]) -> list[int]:
        """Exact by subsets: the best value for each set of visited nodes and last node (Held and Karp)."""
        k = len(self.nodes)
        table = np.full((k, 1 << k), NO_PATH, dtype=np.int64)
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
            table[v, 1 << v] = NO_PATH
        best = table.max(axis=1)
        return [int(x) if x > NO_PATH // 2 else NO_PATH for x in best]

    def _bound(self, entering: list[int]) -> list[int]:
        """Upper bounds: a path enters every node but its first, and leaves every node but its last, once."""
        # So it weighs at most as much as the heaviest edges that enter nodes other than the first, and that leave nodes
        # other than the last.
        size = len(self.nodes)
        enters = [0] * size
        leaves = [0] * size
        for u, edges in enumerate(self._out):
            for v, weight in edges:
                enters[v], leaves[u] = max(enters[v], weight), max(leaves[u], weight)
        # The two best starts of each kind, so that a node is never its own start.
        starts: list[int] = []
        for kind in set(enters):
            starts += sorted((v for v in range(size) if enters[v] == kind), key=lambda v: -entering[v])[:2]
        into, out = sum(enters), sum(leaves)
        best = [NO_PATH] * size
        for b in range(size):
            for a in starts:
                if a != b and entering[a] != NO_PATH:
                    most = min(into - enters[a], out - leaves[b])
                    best[b] = max(best[b], entering[a] + most)
        return best


# All paths that visit no node twice, depth first: one loop, run as it stands for few steps and compiled for many.


class SimpleWalk:
    """The paths of one graph."""

    def __init__(self, out: Sequence[Sequence[tuple[int, int]]], none: int) -> None:
        self._none, self._size = none, len(out)
        self._begin = [0]
        for after in out:
            self._begin.append(self._begin[-1] + len(after))
        self._target = [v for after in out for v, _ in after]
        self._weight = [weight for after in out for _, weight in after]

    def best(self, entering: Sequence[int], steps: int, *, compiled: bool = False) -> tuple[list[int], int]:
        """Try all paths from every node that something enters, the best first, for some steps."""
        starts = sorted(range(self._size), key=lambda v: -entering[v])
        given = [self._begin, self._target, self._weight, list(entering), starts]
        blank = [[0] * self._size for _ in range(4)]  # visited; along the path: nodes, values, edges to go on with
        best = [self._none] * self._size
        if not compiled:
            everything: list[Any] = [*given, *blank, self._none, steps, best]
            return best, _walk(*everything)
        arrays = [np.array(values, np.int64) for values in (*given, *blank)]
        found = np.array(best, np.int64)
        left = _compiled()(*arrays, self._none, steps, found)
        return found.tolist(), int(left)


@cache
def _compiled() -> Callable[..., int]:
    from neuromap.compiling.numba_cache import cached

    return cached(_walk)  # type: ignore[no-any-return]


def _walk(
    begin: Any,
    target: Any,
    weight: Any,
    entering: Any,
    starts: Any,
    visited: Any,
    trail: Any,
    value: Any,
    at: Any,
    none: int,
    steps: int,
    best: Any,
) -> int:
    """Fill ``best``; return the steps left."""
    for start in starts:
        if entering[start] == none:
            break
        visited[start] = 1
        trail[0], value[0], at[0] = start, entering[start], begin[start]
        depth = 0
        while depth >= 0:
            edge = at[depth]
            if edge == begin[trail[depth] + 1]:
                visited[trail[depth]] = 0
                depth -= 1
                continue
            at[depth] = edge + 1
            v = target[edge]
            if visited[v]:
                continue
            steps -= 1
            if steps < 0:
                return steps
            reached = value[depth] + weight[edge]
            best[v] = max(best[v], reached)
            visited[v] = 1
            depth += 1
            trail[depth], value[depth], at[depth] = v, reached, begin[v]
    return steps
