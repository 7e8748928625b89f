"""Paths with most streaming edges among those that visit no node twice.

The problem is NP-hard, but only inside blocks: a path crosses the strongly connected components in
topological order, and inside one it crosses the *blocks* (maximal parts that no single node separates) as
their tree prescribes. Each block is searched on its own (``block_paths.py``): exactly where it has few nodes or few
paths, else between a path that was found and a bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuromap.rollout.block_paths import NO_PATH, BlockPaths, Bounds, SearchBudget
from neuromap.rollout.indexed_pattern import IndexedPattern

__all__ = ["longest_paths"]

_NONE: Bounds = (NO_PATH, NO_PATH)


def longest_paths(pattern: IndexedPattern, starts: Mapping[int, int], period: int) -> tuple[list[int], list[int]]:
    """Greatest start value plus P times the streaming edges, over paths that visit no node twice."""
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
    """From the values at which paths enter a component to the greatest with which they end at each of its nodes."""
    # The blocks are a tree: two of them share at most one node, and a path that has left a block never comes back. So
    # the best path that ends at a node and whose last block is b starts at another node of b, with the best value that
    # comes *there* from anywhere but b. All such values are found by *rerooting*: the tree is hung up at its first
    # block and swept twice, from the leaves to the root and back. Each sweep asks every block once.
    order, gate = _hang_up(blocks)
    below, sisters = _sweep_up(blocks, order, gate, values)
    above = dict.fromkeys(below, _NONE)
    # Down to the leaves: what every block gives the nodes under it. Through its gate it takes what comes from above
    # and from its sisters, but not from below, which is its own.
    for b in order:
        entering = {v: below[v] for v in blocks[b].nodes}
        if b in gate:
            g = gate[b]
            from_outside, from_above, from_sisters = values[g], above[g], sisters[b]
            entering[g] = _larger(_larger(from_outside, from_above), from_sisters)
        for v, given in blocks[b].through(entering).items():
            if v != gate.get(b):  # so in one block only: every other that holds the node hangs at it
                above[v] = given
    return {v: _larger(value, above[v]) for v, value in below.items()}


def _hang_up(blocks: Sequence[BlockPaths]) -> tuple[list[int], dict[int, int]]:
    """Hang the tree of blocks up at block 0."""
    blocks_at: dict[int, list[int]] = {}
    for b, block in enumerate(blocks):
        for v in block.nodes:
            blocks_at.setdefault(v, []).append(b)
    order, gate, seen = [0], {}, {0}
    for b in order:  # grows while it is read
        for v in blocks[b].nodes:
            for c in blocks_at[v]:
                if c not in seen:
                    seen.add(c)
                    gate[c] = v
                    order.append(c)
    return order, gate


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
    """For every block the best of what the others give: of those before it and of those behind it, in two passes."""
    others = dict.fromkeys((b for b, _ in given), _NONE)
    for one_way in (given, given[::-1]):
        best = _NONE
        for b, value in one_way:
            others[b] = _larger(others[b], best)
            best = _larger(best, value)
    return others
