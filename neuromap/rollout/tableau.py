"""The tableau of a pattern, and the cycle of sequential edges that rules it out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from neuromap.errors import PatternError
from neuromap.network.edge import EdgeKey


def find_cycle(waiting: Sequence[str], sequential_edges: Sequence[EdgeKey]) -> tuple[str, ...]:
    """Find a cycle of sequential edges among the nodes without a topological order."""
    # Every waiting node waits for another waiting node, so a backward walk must repeat a node.
    left = set(waiting)
    before = {v: u for u, v in reversed(sequential_edges) if u in left and v in left}
    node = waiting[0]
    place: dict[str, int] = {}
    walk: list[str] = []
    while node not in place:
        place[node] = len(walk)
        walk.append(node)
        node = before[node]
    cycle = walk[place[node] :][::-1]
    rank = {n: i for i, n in enumerate(waiting)}
    first = min(range(len(cycle)), key=lambda i: rank[cycle[i]])
    return tuple(cycle[first:] + cycle[:first])


def tableau_frames(
    nodes: Collection[str], order: Iterable[str], values: Iterable[tuple[EdgeKey, int]], window: int
) -> list[dict[str, int]]:
    """Update step T((i, v)) at which each node of the window is known, frame by frame."""
    # T is 0 in frame 0, in all frames before it, and on inputs, elsewhere 1 + the maximum over the sources (the tableau
    # of Fischer, Köhler, Pfeil 2018).
    into: dict[str, list[tuple[str, int]]] = {n: [] for n in nodes}
    for (u, v), r in values:
        into[v].append((u, r))
    order = tuple(order)
    frames = [dict.fromkeys(nodes, 0)]
    for i in range(1, window + 1):
        now = dict.fromkeys(nodes, 0)
        frames.append(now)
        for v in order:
            if into[v]:
                now[v] = 1 + max(frames[max(i - r, 0)][u] for u, r in into[v])
    return frames


def check_window(window: int) -> None:
    """Refuse a window size below 1."""
    if isinstance(window, bool) or not hasattr(window, "__index__") or window < 1:
        raise PatternError(f"rollout window: size {window!r}; a window has size 1 or more")
