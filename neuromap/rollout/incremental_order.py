"""An acyclic graph that grows edge by edge and refuses edges that would close a cycle.

Pearce and Kelly's dynamic topological sort ("A dynamic topological sort algorithm for directed acyclic graphs",
ACM JEA 2007): the nodes keep an order, and an edge that agrees with it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["IncrementalOrder"]


class IncrementalOrder:
    """Mutable engine for searches: an acyclic graph on nodes 0 to n - 1 and an order of its nodes.

    Parameters
    ----------
    n : int
        Number of nodes.
    order : iterable of int, optional
        First order of the nodes; any order is right, a good one is quicker.
    """

    def __init__(self, n: int, order: Iterable[int] | None = None) -> None:
        self._rank = list(range(n))
        if order is not None:
            for i, node in enumerate(order):
                self._rank[node] = i
        self._after: list[set[int]] = [set() for _ in range(n)]
        self._before: list[set[int]] = [set() for _ in range(n)]

    def add(self, u: int, v: int) -> bool:
        """Add the edge from u to v unless it closes a cycle; tell whether it was added."""
        if u == v:
            return False
        rank = self._rank
        if rank[u] > rank[v]:
            forward = self._reach(v, self._after, rank[v], rank[u], u)
            if forward is None:
                return False
            backward = self._reach(u, self._before, rank[v], rank[u], -1)
            assert backward is not None
            backward.sort(key=rank.__getitem__)
            forward.sort(key=rank.__getitem__)
            moved = backward + forward
            for node, place in zip(moved, sorted(rank[n] for n in moved), strict=True):
                rank[node] = place
        self._after[u].add(v)
        self._before[v].add(u)
        return True

    def remove(self, u: int, v: int) -> None:
        """Take the edge from u to v out; the order stays right."""
        self._after[u].remove(v)
        self._before[v].remove(u)

    def _reach(self, start: int, steps: list[set[int]], low: int, high: int, stop: int) -> list[int] | None:
        """Collect nodes reached from ``start`` with rank in [low, high]; ``None`` if ``stop`` is one of them."""
        rank = self._rank
        seen = {start}
        found = [start]
        for n in found:
            for m in steps[n]:
                if m == stop:
                    return None
                if m not in seen and low <= rank[m] <= high:
                    seen.add(m)
                    found.append(m)
        return found
