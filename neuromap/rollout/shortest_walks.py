"""Shortest walks from several nodes at once, where no edge has a negative length (Dijkstra)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", int, str)


def shortest_walks(
    starts: Mapping[Node, int], leaving: Callable[[Node], Iterable[tuple[Node, int]]]
) -> dict[Node, int]:
    """Find the least length of a walk to every node that is reached."""
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
