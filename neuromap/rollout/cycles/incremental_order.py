"""An acyclic graph that grows edge by edge and refuses edges that would close a cycle.

Pearce and Kelly's dynamic topological sort ("A dynamic topological sort algorithm for directed acyclic graphs",
ACM JEA 2007): the nodes keep an order, and an edge that agrees with it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable


class IncrementalOrder:
    """Mutable engine for searches: an acyclic graph on nodes 0 to n - 1 and an order of its nodes."""

    # order: first order of the nodes; any order is right, a good one is quicker

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
            moved = self._between(u, v)
            if moved is None:
                return False
            for node, place in zip(moved, sorted(rank[n] for n in moved), strict=True):
                rank[node] = place
        self._after[u].add(v)
        self._before[v].add(u)
        return True

    def remove(self, u: int, v: int) -> None:
        """Take the edge from u to v out; the order stays right."""
        self._after[u].remove(v)
        self._before[v].remove(u)

    def _between(self, u: int, v: int) -> list[int] | None:
        """Nodes to reorder for an edge from u back to v, in their new order; ``None`` if v reaches u."""
        # Two searches, forward from v and backward from u, take turns: where there is a path they soon meet.
        rank, after, before = self._rank, self._after, self._before
        low, high = rank[v], rank[u]
        forward, backward = [v], [u]
        reached, reaching = {v}, {u}
        i = j = 0
        while i < len(forward) or j < len(backward):
            if i < len(forward):
                for m in after[forward[i]]:
                    if m in reaching:
                        return None
                    if m not in reached and rank[m] < high:
                        reached.add(m)
                        forward.append(m)
                i += 1
            if j < len(backward):
                for m in before[backward[j]]:
                    if m in reached:
                        return None
                    if m not in reaching and rank[m] > low:
                        reaching.add(m)
                        backward.append(m)
                j += 1
        return sorted(backward, key=rank.__getitem__) + sorted(forward, key=rank.__getitem__)
