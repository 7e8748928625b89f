"""A network with integer nodes, split into strongly connected components and their blocks.

Names become indices once per network; all searches work on lists of integers, so that a graph of 10,000 nodes and
100,000 edges is analysed in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import networkx as nx

from neuromap.files.argument_checks import needs
from neuromap.network.network import Network

# Results that are computed once per network and kept for as long as the network lives.
T = TypeVar("T")


def once_per_network(find: Callable[[Network], T]) -> Callable[[Network], T]:
    """Decorate a function of a network to run once per network."""
    # Networks are immutable, so results stay true. A result must not refer to the network itself: then both are freed
    # when nothing else refers to the network.
    known: WeakKeyDictionary[Network, T] = WeakKeyDictionary()

    @wraps(find)
    def find_once(network: Network) -> T:
        needs("network", network, Network)
        if network not in known:
            known[network] = find(network)
        return known[network]

    return find_once


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
        return _by_end(self.sources, self.n)

    @cached_property
    def incoming(self) -> list[list[int]]:
        """Indices of the edges that enter each node."""
        return _by_end(self.targets, self.n)

    @cached_property
    def inputs(self) -> list[int]:
        """Nodes without incoming edges."""
        return [v for v in range(self.n) if not self.incoming[v]]

    @cached_property
    def tree(self) -> list[int]:
        """Edges of a spanning forest rooted in the inputs, each after the edge that leads to its source."""
        return [e for _, e in met(self.inputs, lambda u: ((self.targets[e], e) for e in self.outgoing[u]))]

    @cached_property
    def reaches_output(self) -> list[bool]:
        """Whether each node is an output or has a path to one."""
        before = met(self.outputs, lambda v: ((self.sources[e], e) for e in self.incoming[v]))
        reaching = {*self.outputs, *(u for u, _ in before)}
        return [v in reaching for v in range(self.n)]

    @cached_property
    def seen(self) -> list[int]:
        """Edges whose targets reach an output: the part of the network that its outputs depend on."""
        return [e for e, v in enumerate(self.targets) if self.reaches_output[v]]

    @cached_property
    def components(self) -> list[list[int]]:
        """Strongly connected components in topological order."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(range(self.n))
        graph.add_edges_from(zip(self.sources, self.targets, strict=True))
        # Tarjan's search completes a component only after all components reachable from it.
        return [list(nodes) for nodes in nx.strongly_connected_components(graph)][::-1]

    @cached_property
    def component_of(self) -> list[int]:
        """Position in :attr:`components` of every node's component."""
        where = {v: c for c, component in enumerate(self.components) for v in component}
        return [where[v] for v in range(self.n)]

    @cached_property
    def blocks(self) -> list[list[list[int]]]:
        """Blocks of every component, in the order of :attr:`components`, as lists of edges without self-edges."""
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


def met(starts: Iterable[int], leaving: Callable[[int], Iterable[tuple[int, T]]]) -> Iterator[tuple[int, T]]:
    """Yield every other node that the starts reach, breadth first, with the way by which it is met first."""
    front = list(starts)
    seen = set(front)
    for u in front:  # grows while it is read
        for v, way in leaving(u):
            if v not in seen:
                seen.add(v)
                front.append(v)
                yield v, way


def _by_end(ends: Sequence[int], n: int) -> list[list[int]]:
    edges: list[list[int]] = [[] for _ in range(n)]
    for e, v in enumerate(ends):
        edges[v].append(e)
    return edges


@once_per_network
def indexed_network(network: Network) -> IndexedNetwork:
    """Index the nodes of a network; returns the same value every time."""
    index = {name: k for k, name in enumerate(network.nodes)}
    return IndexedNetwork(
        n=len(index),
        sources=tuple(index[u] for u, _ in network.edges),
        targets=tuple(index[v] for _, v in network.edges),
        outputs=tuple(index[name] for name in network.outputs),
    )


# Exact sums over all acyclic choices of sequential edges, in any semiring.
#
# Give every edge e two weights, a_e for R(e) = 0 and b_e for R(e) = 1. The *acyclic sum* of a graph is
#
# .. math:: Z = \sum_{R \text{ valid}} \prod_{R(e)=0} a_e \prod_{R(e)=1} b_e .
#
# With a = b = 1 in the integers it counts valid patterns; in the semiring (min, +) it finds a lightest set of
# streaming edges (a minimum feedback arc set); with (weight, number) pairs it counts the lightest ones. Both
# questions are #P-hard or NP-hard in general. Three exact reductions need no subtraction, so they hold in every
# semiring; an edge then stands for a part of the graph, with a for "a sequential path leads through it", b for "none":
#
# - parallel edges of one direction: b = b1 b2, a = a1 a2 + a1 b2 + b1 a2;
# - a node with one edge in and one out (series): a = a1 a2, b = a1 b2 + b1 a2 + b1 b2;
# - a self-edge contributes b, an edge on no cycle a + b; blocks multiply.
#
# The rest goes to a dense solver (over subsets of nodes) or a sweep node by node (both in ``cycle_structure.py``).


# Splitting graphs into blocks.
#
# Every cycle stays inside one strongly connected component, and there inside one *block* (biconnected component: a
# maximal part that no single node separates). Cycles of different blocks are therefore independent of each other.
Pair = tuple[int, int]
"""Source and target of an edge."""


def split_at_nodes(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Split a graph into the parts that no single node separates, directions disregarded."""
    between: dict[Pair, list[Pair]] = {}
    for u, v in pairs:
        between.setdefault((u, v) if u < v else (v, u), []).append((u, v))
    parts = nx.biconnected_component_edges(nx.Graph(list(between)))
    return [[pair for u, v in part for pair in between[(u, v) if u < v else (v, u)]] for part in parts]


def split_into_blocks(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Split a graph without self-edges into its blocks, dropping edges on no cycle."""
    graph = nx.DiGraph(list(pairs))
    component = {n: c for c, nodes in enumerate(nx.strongly_connected_components(graph)) for n in nodes}
    return split_at_nodes((u, v) for u, v in graph.edges if component[u] == component[v])


Weighted = dict[Pair, tuple[T, T]]


@dataclass(frozen=True)
class Semiring(Generic[T]):
    """Addition, multiplication and the neutral element of multiplication."""

    add: Callable[[T, T], T]
    mul: Callable[[T, T], T]
    one: T

    def product(self, values: Iterable[T]) -> T:
        """Multiply all values."""
        result = self.one
        for value in values:
            result = self.mul(result, value)
        return result

    def parallel(self, x: tuple[T, T], y: tuple[T, T]) -> tuple[T, T]:
        """Join two edges with the same source and target."""
        (a1, b1), (a2, b2) = x, y
        mixed = self.add(self.mul(a1, b2), self.mul(b1, a2))
        return self.add(self.mul(a1, a2), mixed), self.mul(b1, b2)

    def series(self, x: tuple[T, T], y: tuple[T, T]) -> tuple[T, T]:
        """Join two consecutive edges."""
        (a1, b1), (a2, b2) = x, y
        mixed = self.add(self.mul(a1, b2), self.mul(b1, a2))
        return self.mul(a1, a2), self.add(mixed, self.mul(b1, b2))


def _lighter(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
    if x[0] == y[0]:
        return (x[0], x[1] + y[1])
    return min(x, y)


COUNTING: Semiring[int] = Semiring(lambda x, y: x + y, lambda x, y: x * y, 1)
"""Integers: number of valid patterns."""
LIGHTEST_COUNT: Semiring[tuple[int, int]] = Semiring(_lighter, lambda x, y: (x[0] + y[0], x[1] * y[1]), (0, 1))
"""Pairs of the lightest weight and the number of choices with this weight."""


@dataclass(frozen=True)
class Reduced(Generic[T]):
    """A graph after all reductions."""

    factor: T  # product of everything reduced away
    # irreducible rest: weighted edges (a, b) of each block, each with at least three nodes
    blocks: list[Weighted[T]]


def reduce_graph(
    edges: Iterable[tuple[Pair, tuple[T, T]]], semiring: Semiring[T], *, one_block: bool = False
) -> Reduced[T]:
    """Apply the reductions of this module until nothing changes."""
    graph: Weighted[T] = {}
    loops: list[T] = []
    for (u, v), weight in edges:
        if u == v:
            loops.append(weight[1])
        else:
            graph[u, v] = semiring.parallel(graph[u, v], weight) if (u, v) in graph else weight
    factor = semiring.product(loops)
    done: list[Weighted[T]] = []
    todo = [graph]
    while todo:
        graph = todo.pop()
        parts = [graph] if one_block else [{p: graph[p] for p in pairs} for pairs in split_into_blocks(graph)]
        one_block = False
        inner = {p for part in parts for p in part}
        factor = semiring.mul(factor, semiring.product(semiring.add(*w) for p, w in graph.items() if p not in inner))
        for part in parts:
            rest, freed = _reduce_block(part, semiring)
            factor = semiring.mul(factor, semiring.product(freed))
            if freed and rest:
                todo.append(rest)  # the reduction may have split it into smaller blocks
            elif rest:
                done.append(rest)
    return Reduced(factor, done)


def _reduce_block(graph: Weighted[T], semiring: Semiring[T]) -> tuple[Weighted[T], list[T]]:
    """Series and parallel reductions inside one block: the rest, and the factors taken out."""
    out: dict[int, dict[int, tuple[T, T]]] = {}
    into: dict[int, set[int]] = {}
    for (u, v), weight in graph.items():
        out.setdefault(u, {})[v] = weight
        into.setdefault(v, set()).add(u)
    freed: list[T] = []
    queue = list(out)
    while queue:
        n = queue.pop()
        if n not in out or len(out[n]) > 1 or len(into[n]) > 1:
            continue
        if not out[n] or not into[n]:  # on no cycle any more
            for v, weight in out.pop(n).items():
                freed.append(semiring.add(*weight))
                into[v].discard(n)
                queue.append(v)
            for u in into.pop(n):
                freed.append(semiring.add(*out[u].pop(n)))
                queue.append(u)
            continue
        (u,) = into.pop(n)
        ((v, second),) = out.pop(n).items()
        first = out[u].pop(n)
        into[v].discard(n)
        joined = semiring.series(first, second)
        if u == v:
            freed.append(joined[1])
        else:
            out[u][v] = semiring.parallel(out[u][v], joined) if v in out[u] else joined
            into[v].add(u)
        queue += [u, v]
    return {(u, v): weight for u, targets in out.items() for v, weight in targets.items()}, freed
