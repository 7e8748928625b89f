r"""Sums over all acyclic choices of sequential edges, exact, in any semiring.

Give every edge e two weights, a_e for R(e) = 0 and b_e for R(e) = 1. The *acyclic sum* of a graph is

.. math:: Z = \sum_{R \text{ valid}} \prod_{R(e)=0} a_e \prod_{R(e)=1} b_e .

With a = b = 1 in the integers it counts valid patterns; in the semiring (min, +) it finds a lightest set of
streaming edges (a minimum feedback arc set); with (weight, number) pairs it counts the lightest ones. Both
questions are #P-hard or NP-hard in general. Three exact reductions need no subtraction, so they hold in every
semiring; an edge then stands for a piece of graph, a for "a sequential path leads through it", b for "none":

- parallel edges of one direction: b = b1 b2, a = a1 a2 + a1 b2 + b1 a2;
- a node with one edge in and one out (series): a = a1 a2, b = a1 b2 + b1 a2 + b1 b2;
- a self-edge contributes b, an edge on no cycle a + b; blocks multiply.

What remains is given to a dense solver (over subsets of nodes) or swept node by node (``frontier.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from neuromap.rollout.cycles.blocks import Pair, split_into_blocks

__all__ = ["COUNTING", "LIGHTEST_COUNT", "Reduced", "Semiring", "reduce_graph"]

T = TypeVar("T")
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
        """Join two edges that follow each other."""
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
"""Pairs of a weight and the number of choices that have it."""


@dataclass(frozen=True)
class Reduced(Generic[T]):
    """A graph after all reductions."""

    factor: T  # product of everything that was taken out
    # what could not be reduced: weighted edges (a, b) of each block, at least three nodes or none
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
                todo.append(rest)  # what was taken out may leave smaller blocks
            elif rest:
                done.append(rest)
    return Reduced(factor, done)


def _reduce_block(graph: Weighted[T], semiring: Semiring[T]) -> tuple[Weighted[T], list[T]]:
    """Series and parallel reductions inside one block: what is left, and the factors taken out."""
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
