"""Shortest walks from several nodes at once, where no edge has a negative length (Dijkstra)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

__all__ = ["shortest_walks"]

Node = TypeVar("Node", int, str)


def shortest_walks(
    starts: Mapping[Node, int], leaving: Callable[[Node], Iterable[tuple[Node, int]]]
) -> dict[Node, int]:
    """Find the least length of a walk to every node that is reached.

    Parameters
    ----------
    starts : mapping of node to int
        Nodes at which walks begin, each with a length to begin with; these may be negative.
    leaving : callable
        Node -> (target, length) of every edge that leaves it; lengths are 0 or more, in any unit.

    Returns
    -------
    dict of node to int
        In the unit of the lengths.
    """
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
