"""Patterns over numbered nodes and edges; longest walks and longest simple paths.

Longest simple paths are NP-hard, but only inside blocks: a path crosses the strongly connected components in
topological order and, inside each, the *blocks* (maximal parts that no single node separates) along their tree.
Each block is searched on its own (:class:`BlockPaths`): exactly if it has few nodes or few paths, else to within a
path that was found and an upper bound.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from neuromap.loops import always_compiled
from neuromap.render.value import Card
from neuromap.rollout.cycles.indexed_network import IndexedNetwork, met

# Simple paths with the most streaming edges through one block.
#
# Three ways, tried in this order: all paths, if they are few; all subsets of nodes, up to :data:`EXACT_NODES` nodes;
# else all paths again while the budget lasts and, if it runs out, an upper bound besides the best path found.
EXACT_NODES = 14
"""Blocks of up to this many nodes are always solved exactly (subsets of nodes: memory and time 2^n)."""
NO_PATH = -(1 << 60)
"""Value for a path that does not exist."""
_QUICK_STEPS = 2_000
_SEARCH_STEPS = 400_000
Bounds: TypeAlias = tuple[int, int]
"""Upper bound, and value of a path that exists; equal if the search was completed."""


class SearchBudget:
    """Steps left for all searches of one network together."""

    def __init__(self) -> None:
        self.left = _SEARCH_STEPS


class BlockPaths:
    """Search for paths through one block."""

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
        """Best value at every node, over paths of at least one edge inside the block."""
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
        allowed = self._budget.left // 2  # leaves some for the blocks to come
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
        """Upper bounds: a path enters each node but its first, and leaves each but its last, at most once."""
        # So it weighs at most the sum of the heaviest edges into all nodes but the first, and at most that of the
        # heaviest edges out of all nodes but the last.
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


# All simple paths, depth first: one loop, interpreted for few steps and compiled for many.
class SimpleWalk:
    """Search for the simple paths of one graph."""

    def __init__(self, out: Sequence[Sequence[tuple[int, int]]], none: int) -> None:
        self._none, self._size = none, len(out)
        self._begin = [0]
        for after in out:
            self._begin.append(self._begin[-1] + len(after))
        self._target = [v for after in out for v, _ in after]
        self._weight = [weight for after in out for _, weight in after]

    def best(self, entering: Sequence[int], steps: int, *, compiled: bool = False) -> tuple[list[int], int]:
        """Try all paths from the entered nodes, best entering value first, for at most ``steps`` steps."""
        starts = sorted(range(self._size), key=lambda v: -entering[v])
        given = [self._begin, self._target, self._weight, list(entering), starts]
        along = [[0] * self._size for _ in range(4)]
        best = [self._none] * self._size
        if not compiled:
            everything: list[Any] = [*given, along, self._none, steps, best]
            return best, _walk(*everything)
        arrays = [np.array(values, np.int64) for values in (*given, along)]
        found = np.array(best, np.int64)
        left = always_compiled(_walk)(*arrays, self._none, steps, found)
        return found.tolist(), int(left)


def _walk(
    begin: Any, target: Any, weight: Any, entering: Any, starts: Any, along: Any, none: int, steps: int, best: Any
) -> int:
    """Fill ``best``; return the steps left, negative if they did not suffice."""
    visited, trail, value, at = along[0], along[1], along[2], along[3]  # ``at``: edges to go on with
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


_NONE: Bounds = (NO_PATH, NO_PATH)


def longest_paths(pattern: IndexedPattern, starts: Mapping[int, int], period: int) -> tuple[list[int], list[int]]:
    """Greatest start value plus P times the sum of R over simple paths, by node: upper bounds, and values found."""
    # period: P, at least 1
    graph = pattern.graph
    values = [_NONE] * graph.n
    where = graph.component_of
    budget = SearchBudget()
    for component, blocks in zip(graph.components, graph.blocks, strict=True):
        for v in component:
            value = (starts[v], starts[v]) if v in starts else _NONE
            for e in graph.incoming[v]:
                u = graph.sources[e]
                if where[u] != where[v]:
                    value = _larger(value, _plus(values[u], period * pattern.values[e]))
            values[v] = value
        if blocks:
            paths = [BlockPaths(pattern, edges, period, budget) for edges in blocks]
            for v, value in _values_at_ends(paths, values).items():
                values[v] = value
    return [upper for upper, _ in values], [lower for _, lower in values]


def _larger(a: Bounds, b: Bounds) -> Bounds:
    return (max(a[0], b[0]), max(a[1], b[1]))


def _plus(a: Bounds, step: int) -> Bounds:
    return (a[0] + step if a[0] != NO_PATH else NO_PATH, a[1] + step if a[1] != NO_PATH else NO_PATH)


def _values_at_ends(blocks: Sequence[BlockPaths], values: Sequence[Bounds]) -> dict[int, Bounds]:
    """Greatest values at which paths end at each node of a component, from those at which they enter it."""
    # The blocks form a tree: two of them share at most one node, and a path that leaves a block never returns. So the
    # best path that ends at a node and whose last block is b starts at another node of b, with the best value that
    # arrives *there* from anywhere but b. All such values are found by *rerooting*: the tree is rooted at its first
    # block and swept twice, from the leaves to the root and back. Each sweep searches every block once.
    order, gate = _hang_up(blocks)
    below, sisters = _sweep_up(blocks, order, gate, values)
    above = dict.fromkeys(below, _NONE)
    # Down to the leaves: what every block passes to the nodes below it. Through its gate it receives values from above
    # and from its sisters, but not from below: those are its own.
    for b in order:
        entering = {v: below[v] for v in blocks[b].nodes}
        if b in gate:
            g = gate[b]
            from_outside, from_above, from_sisters = values[g], above[g], sisters[b]
            entering[g] = _larger(_larger(from_outside, from_above), from_sisters)
        for v, given in blocks[b].through(entering).items():
            if v != gate.get(b):  # so set by one block only: the others with this node hang below it
                above[v] = given
    return {v: _larger(value, above[v]) for v, value in below.items()}


def _hang_up(blocks: Sequence[BlockPaths]) -> tuple[list[int], dict[int, int]]:
    """Root the tree of blocks at block 0: breadth-first order, and the gate of every other block."""
    blocks_at: dict[int, list[int]] = {}
    for b, block in enumerate(blocks):
        for v in block.nodes:
            blocks_at.setdefault(v, []).append(b)
    gate = dict(met([0], lambda b: ((c, v) for v in blocks[b].nodes for c in blocks_at[v])))
    return [0, *gate], gate


def _sweep_up(
    blocks: Sequence[BlockPaths], order: Sequence[int], gate: Mapping[int, int], values: Sequence[Bounds]
) -> tuple[dict[int, Bounds], dict[int, Bounds]]:
    """Sweep the tree of blocks from the leaves to the root."""
    below = {v: values[v] for block in blocks for v in block.nodes}
    given: dict[int, list[tuple[int, Bounds]]] = {}
    for b in reversed(order[1:]):
        g = gate[b]
        entering = {v: _NONE if v == g else below[v] for v in blocks[b].nodes}
        best = blocks[b].through(entering)[g]
        given.setdefault(g, []).append((b, best))
        below[g] = _larger(below[g], best)
    sisters: dict[int, Bounds] = {}
    for of_node in given.values():
        sisters |= _best_of_others(of_node)
    return below, sisters


def _best_of_others(given: Sequence[tuple[int, Bounds]]) -> dict[int, Bounds]:
    """Best value given by the other blocks, for every block; in two passes, over those before and those after it."""
    others = dict.fromkeys((b for b, _ in given), _NONE)
    for one_way in (given, given[::-1]):
        best = _NONE
        for b, value in one_way:
            others[b] = _larger(others[b], best)
            best = _larger(best, value)
    return others


# Longest walks through a pattern, or the cycles that make them endless.
#
# A *walk* may visit a node again, which makes this quick; for simple paths see :func:`longest_paths`.


class LongestWalks:
    """Longest walks under the weights ``q c(e) - p R(e)``, or cycles of positive weight."""

    # Bellman-Ford relaxation, node by node in topological order of the sequential edges, so that a round carries
    # values along any number of sequential edges; after each round the walks of the parent forest are summed anew,
    # which carries them along streaming edges too. All numbers are integers.
    # Every value is at most the value of the parent plus the weight of the edge between, so a cycle among the parents
    # has positive weight; and without one the values settle after at most n rounds.
    # latencies: c, at least 1
    # parents: last edge of an initial walk to every node, -1 where a walk starts; no cycle among them

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
        """Lengthen the walks until none can be lengthened; return cycles of positive weight, if any."""
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
            if seen[v] == start + 1:  # else the walk met an earlier one
                cycle: list[int] = []
                u = v
                while True:
                    cycle.append(parents[u])
                    u = graph.sources[parents[u]]
                    if u == v:
                        break
                cycles.append(cycle[::-1])
    return cycles


# A pattern with nodes and edges as integers: shared by cycle ratio, phases and responses.
@dataclass(frozen=True, eq=False)
class IndexedPattern(Card):
    """The values of a pattern on the edges of an indexed network."""

    graph: IndexedNetwork  # the network; all its patterns share it
    values: tuple[int, ...]  # R, 0 or more, in edge order; in spiking networks the delay of every edge, 1 or more

    @cached_property
    def sequential_order(self) -> list[int]:
        """Nodes in topological order of the edges with R = 0."""
        # All nodes iff the pattern is valid; else those neither on nor behind a cycle of such edges.
        graph = self.graph
        waits = [0] * graph.n
        for v, r in zip(graph.targets, self.values, strict=True):
            waits[v] += r == 0
        order = [v for v in range(graph.n) if waits[v] == 0]
        for u in order:  # grows while it is read: Kahn's algorithm without recursion
            for e in graph.outgoing[u]:
                if self.values[e] == 0:
                    v = graph.targets[e]
                    waits[v] -= 1
                    if waits[v] == 0:
                        order.append(v)
        return order


def windowed_phases(pattern: IndexedPattern, latencies: Sequence[int]) -> list[int]:
    """Longest paths inside a frame: phi(v) = max over its edges of c(e) plus, where R(e) = 0, phi(u)."""
    # Frame 0 and the inputs are known at time 0, so inputs have phase 0 here; with latency 1 everywhere it is the
    # tableau of the window of size 1 (Fischer, Köhler, Pfeil 2018).
    # latencies: c, at least 1
    # returns update steps or ticks
    graph = pattern.graph
    phases = [0] * graph.n
    for v in pattern.sequential_order:
        for e in graph.incoming[v]:
            begin = 0 if pattern.values[e] else phases[graph.sources[e]]
            if begin + latencies[e] > phases[v]:
                phases[v] = begin + latencies[e]
    return phases


# Shortest walks from several nodes at once, with no edge of negative length (Dijkstra).
Node = TypeVar("Node", int, str)


def shortest_walks(
    starts: Mapping[Node, int], leaving: Callable[[Node], Iterable[tuple[Node, int]]]
) -> dict[Node, int]:
    """Length of the shortest walk to every reachable node; ``starts`` gives initial lengths."""
    best: dict[Node, int] = {}
    heap = [(length, node) for node, length in starts.items()]
    heapq.heapify(heap)
    while heap:
        length, node = heapq.heappop(heap)
        if node in best:
            continue
        best[node] = length
        for target, more in leaving(node):
            if target not in best:
                heapq.heappush(heap, (length + more, target))
    return best


def walks_along(starts: Iterable[Node], edges: Iterable[tuple[Node, Node, int]]) -> dict[Node, int]:
    """Length of the shortest walk over the given edges from any start to every reachable node."""
    leaving: dict[Node, list[tuple[Node, int]]] = {}
    for u, v, length in edges:
        leaving.setdefault(u, []).append((v, length))
    return shortest_walks(dict.fromkeys(starts, 0), lambda u: leaving.get(u, ()))
