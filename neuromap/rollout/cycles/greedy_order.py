"""A small set of streaming edges for blocks beyond exact search: a heuristic.

Eades, Lin and Smyth ("A fast and effective heuristic for the feedback arc set problem", 1993) order the nodes:
sinks to the back, sources to the front, else the node with most edges out less edges in to the front. Edges
backwards stream; then every one that closes no cycle is made sequential again, in the order of the file. Most of
them close a cycle of edges that lead forwards: these are told by bit sets, and never tried.
"""

from __future__ import annotations

from collections import defaultdict

from neuromap.rollout.cycles.cycle_structure import Block
from neuromap.rollout.cycles.incremental_order import IncrementalOrder

__all__ = ["greedy_values"]

_CHUNK = 8192
"""Nodes per bit set: bounds the memory to a kilobyte per node."""


def greedy_values(block: Block) -> tuple[int, ...]:
    """R of the block's edges: valid, no streaming edge could be sequential alone; not proven smallest."""
    index: dict[int, int] = {}
    for pair in block.pairs:
        for n in pair:
            index.setdefault(n, len(index))
    pairs = [(index[u], index[v]) for u, v in block.pairs]
    order = _greedy_order(len(index), pairs)
    rank = {n: i for i, n in enumerate(order)}
    ranked = [(rank[u], rank[v]) for u, v in pairs]
    values = [int(u > v) for u, v in ranked]
    lasting = _closing(len(index), ranked)
    if len(lasting) == sum(values):
        return tuple(values)
    graph = IncrementalOrder(len(index))
    for (u, v), r in zip(ranked, values, strict=True):
        if not r:
            graph.add(u, v)
    return tuple(int(r and (i in lasting or not graph.add(*ranked[i]))) for i, r in enumerate(values))


def _closing(n: int, pairs: list[tuple[int, int]]) -> set[int]:
    """Find the backward edges that close a cycle with forward edges alone; nodes are numbered in order."""
    after: list[list[int]] = [[] for _ in range(n)]
    back: list[list[int]] = [[] for _ in range(-(-n // _CHUNK))]
    for i, (u, v) in enumerate(pairs):
        if u < v:
            after[u].append(v)
        else:
            back[u // _CHUNK].append(i)
    found: set[int] = set()
    for chunk, edges in enumerate(back):
        # reach[v]: the nodes of this chunk that forward edges lead to from v, as bits.
        low, high = chunk * _CHUNK, min(n, (chunk + 1) * _CHUNK)
        reach = [0] * n
        for u in range(high - 1, -1, -1):
            bits = 1 << (u - low) if u >= low else 0
            for v in after[u]:
                bits |= reach[v]
            reach[u] = bits
        found.update(i for i in edges if reach[pairs[i][1]] >> (pairs[i][0] - low) & 1)
    return found


def _greedy_order(n: int, pairs: list[tuple[int, int]]) -> list[int]:
    after: list[list[int]] = [[] for _ in range(n)]
    before: list[list[int]] = [[] for _ in range(n)]
    for u, v in pairs:
        after[u].append(v)
        before[v].append(u)
    out = [len(a) for a in after]
    into = [len(b) for b in before]
    # Buckets by (edges out - edges in); dicts keep the order in which nodes came, so the result is stable.
    bucket: dict[int, dict[int, None]] = defaultdict(dict)
    ends: dict[str, dict[int, None]] = {"sink": {}, "source": {}}
    there = [True] * n

    def file_node(v: int) -> None:
        if out[v] == 0:
            ends["sink"][v] = None
        elif into[v] == 0:
            ends["source"][v] = None
        bucket[out[v] - into[v]][v] = None

    def take(v: int) -> None:
        there[v] = False
        for kind in ends.values():
            kind.pop(v, None)
        bucket[out[v] - into[v]].pop(v)
        for neighbours, degree in ((after[v], into), (before[v], out)):
            for w in neighbours:
                if there[w]:
                    bucket[out[w] - into[w]].pop(w)
                    degree[w] -= 1
                    file_node(w)

    for v in range(n):
        file_node(v)
    front: list[int] = []
    back: list[int] = []
    best = n
    for _ in range(n):
        if ends["sink"]:
            v = next(iter(ends["sink"]))
            back.append(v)
        elif ends["source"]:
            v = next(iter(ends["source"]))
            front.append(v)
        else:
            while not bucket[best]:
                best -= 1
            v = next(iter(bucket[best]))
            front.append(v)
        take(v)
        # Losing one neighbour raises a difference by at most one per edge; two for an edge each way.
        best = min(best + 2, n)
    return front + back[::-1]
