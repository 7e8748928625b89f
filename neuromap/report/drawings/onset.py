"""Which frames of which node an onset reaches, for the timeline."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from neuromap.network.edge import EdgeKey
from neuromap.rollout.patterns.pattern import RolloutPattern

__all__ = ["Reach", "longest_reach", "shortest_reach"]


@dataclass(frozen=True)
class Reach:
    """How the frames of the nodes depend on one input."""

    # frames between a frame of the input and the frame of the node that it reaches: streaming edges on the path that
    # was chosen. Nodes that the input does not reach are absent
    frames: dict[str, int]
    previous: dict[str, str]  # the node before, on that path

    def path(self, node: str) -> list[str]:
        """Nodes of the path from the input to a node."""
        way = [node]
        while way[-1] in self.previous:
            way.append(self.previous[way[-1]])
        return way[::-1]


def shortest_reach(pattern: RolloutPattern, source: str) -> Reach:
    """Frames after which each node first depends on an input: paths with fewest streaming edges."""
    outgoing = _outgoing(pattern.items())
    frames, previous = {source: 0}, {}
    number = {name: k for k, name in enumerate(pattern.network.nodes)}
    heap = [(0, number[source], source)]
    while heap:
        passed, _, u = heapq.heappop(heap)
        for v, r in outgoing.get(u, ()):
            if passed == frames[u] and (v not in frames or passed + r < frames[v]):
                frames[v] = passed + r
                previous[v] = u
                heapq.heappush(heap, (frames[v], number[v], v))
    return Reach(frames, previous)


def longest_reach(pattern: RolloutPattern, source: str) -> Reach | None:
    """Frames after which each node depends on nothing before the onset, self-edges masked."""
    # ``None`` where the network has cycles other than self-edges: there the longest path is a search, which is the
    # schedule's business.
    outgoing = _outgoing((key, r) for key, r in pattern.items() if key[0] != key[1])
    waiting: dict[str, int] = dict.fromkeys(pattern.network.nodes, 0)
    for targets in outgoing.values():
        for v, _ in targets:
            waiting[v] += 1
    ready = [name for name, count in waiting.items() if count == 0]
    frames, previous = {source: 0}, {}
    done = 0
    while ready:
        u = ready.pop()
        done += 1
        for v, r in outgoing.get(u, ()):
            if u in frames and frames[u] + r > frames.get(v, -1):
                frames[v] = frames[u] + r
                previous[v] = u
            waiting[v] -= 1
            if waiting[v] == 0:
                ready.append(v)
    return Reach(frames, previous) if done == len(waiting) else None


def _outgoing(edges: Iterable[tuple[EdgeKey, int]]) -> dict[str, list[tuple[str, int]]]:
    outgoing: dict[str, list[tuple[str, int]]] = {}
    for (u, v), r in edges:
        outgoing.setdefault(u, []).append((v, r))
    return outgoing
