"""Lemma 1: bounds on the number of valid rollout patterns, in corrected form.

1 <= n <= number of valid patterns <= 2^(|E| - |self-edges|), with n = 2^(edges on no cycle), or n = product of
(2^|p| - 1) over simple cycles p that share no edge and whose union contains no further simple cycle. The paper lets the
cycles be edge-disjoint closed trails; that is false, see ``docs/errata.md``. Here the cycles share no node within a
block (biconnected component); no simple cycle leaves its block, so they satisfy the condition.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice

import networkx as nx
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.cycles.cycle_structure import cycle_structure


@dataclass(frozen=True)
class Lemma1Bounds(Card):
    """Bounds of Lemma 1 (Fischer, Köhler, Pfeil 2018, corrected).

    Attributes
    ----------
    forward_bound : int
        2 to the number of edges on no cycle: a lower bound.
    cycle_bound : int
        Product of 2^|p| - 1 over ``cycles``: a lower bound.
    upper_bound : int
        2 to the number of edges other than self-edges.
    cycles : tuple of tuple of str
        The simple cycles behind ``cycle_bound``, each as its nodes in order; those of one block share no node.
        Self-edges, cycles of length 1 with factor 1, are left out.
    cycle_bound_proven : bool
        Whether no choice of cycles that share no node within a block gives more; it is a bound in any case.
    """

    forward_bound: int
    cycle_bound: int
    upper_bound: int
    cycles: tuple[tuple[str, ...], ...]
    cycle_bound_proven: bool


def lemma1_bounds(network: Network) -> Lemma1Bounds:
    """Bound the number of valid rollout patterns of a network from both sides.

    The best choice of cycles is NP-hard; it is found up to :data:`MAX_SUBSET_NODES` nodes or :data:`MAX_CYCLES` cycles.
    """
    structure = cycle_structure(network)
    names = list(network.nodes)
    cycles = []
    proven = True
    for pairs in sorted(sorted(block.pairs) for block in structure.blocks):
        chosen, best = pack_cycles(nx.DiGraph(pairs))
        cycles += chosen
        proven = proven and best
    return Lemma1Bounds(
        forward_bound=1 << len(structure.forward),
        cycle_bound=math.prod((1 << len(c)) - 1 for c in cycles),
        upper_bound=1 << (len(network.edges) - len(structure.self_edges)),
        cycles=tuple(tuple(names[i] for i in cycle) for cycle in cycles),
        cycle_bound_proven=proven,
    )


# Pairwise node-disjoint simple cycles p with the largest product of (2^|p| - 1).
#
# NP-hard. Three ways for each strongly connected component, tried in this order:
#
# 1. A cycle cover that touches the most nodes, by bipartite matching. If it is a single cycle it is best: the product
# is at most 2^(nodes touched) - 1. 2. Exact: over subsets of the nodes, up to :data:`MAX_SUBSET_NODES`; or over the
# simple cycles, up to :data:`MAX_CYCLES` of them in a component of at most :data:`MAX_CYCLE_NODES` nodes. 3. Else the
# cover of 1., not proven best.


MAX_SUBSET_NODES = 12
MAX_CYCLES = 1000
MAX_CYCLE_NODES = 100
_MAX_STEPS = 1_000_000
Cycle = tuple[int, ...]


def pack_cycles(graph: nx.DiGraph[int]) -> tuple[list[Cycle], bool]:
    """Choose node-disjoint simple cycles of one strongly connected component."""
    # graph: strongly connected, at least two nodes, without self-edges
    # returns the nodes of each cycle, in the order of its edges, and whether the choice is proven best
    cover = _cover(graph)
    if len(cover) == 1:
        return cover, True
    if len(graph) <= MAX_SUBSET_NODES:
        best = _best_of(_cycles_by_subset(graph), list(graph))
        assert best is not None, "the subsets of so few nodes take fewer steps than allowed"
        return best, True
    if len(graph) <= MAX_CYCLE_NODES:
        some = list(islice(nx.simple_cycles(graph), MAX_CYCLES + 1))
        if len(some) <= MAX_CYCLES:
            order = list(nx.utils.reverse_cuthill_mckee_ordering(graph.to_undirected()))
            best = _best_of({frozenset(c): tuple(c) for c in some}, order)
            if best is not None:
                return best, True
    return cover, False


def _cover(graph: nx.DiGraph[int]) -> list[Cycle]:
    """Cycles that together touch the most nodes: match every node with a successor or, at a higher cost, itself."""
    nodes = list(graph)
    index = {n: i for i, n in enumerate(nodes)}
    rows = [index[u] for u, _ in graph.edges] + list(range(len(nodes)))
    columns = [index[v] for _, v in graph.edges] + list(range(len(nodes)))
    weights = np.concatenate([np.ones(graph.number_of_edges()), np.full(len(nodes), 2.0)])
    matrix = csr_array((weights, (rows, columns)), shape=(len(nodes), len(nodes)))
    after = dict(zip(*(m.tolist() for m in min_weight_full_bipartite_matching(matrix)), strict=True))
    cycles = []
    seen: set[int] = set()
    for start in range(len(nodes)):
        way = []
        while start not in seen:
            seen.add(start)
            way.append(nodes[start])
            start = after[start]
        if len(way) > 1:
            cycles.append(tuple(way))
    return cycles


def _cycles_by_subset(graph: nx.DiGraph[int]) -> dict[frozenset[int], Cycle]:
    """One simple cycle for every set of nodes that has one."""
    nodes = list(graph)
    index = {n: i for i, n in enumerate(nodes)}
    found: dict[frozenset[int], Cycle] = {}
    for low in range(len(nodes)):  # cycles whose first node is nodes[low]
        paths: dict[tuple[int, int], Cycle] = {(1 << low, low): (low,)}
        while paths:
            longer: dict[tuple[int, int], Cycle] = {}
            for (used, end), path in paths.items():
                for successor in graph[nodes[end]]:
                    v = index[successor]
                    if v == low and len(path) > 1:
                        cycle = tuple(nodes[i] for i in path)
                        found.setdefault(frozenset(cycle), cycle)
                    elif v > low and not used >> v & 1:
                        longer.setdefault((used | 1 << v, v), (*path, v))
            paths = longer
    return found


def _best_of(cycles: dict[frozenset[int], Cycle], order: list[int]) -> list[Cycle] | None:
    """Best choice of disjoint cycles among the given ones; ``None`` if the search takes too long."""
    # Nodes are removed in the given order, each alone or with a cycle through it; the rest is memoised.
    bit = {n: 1 << i for i, n in enumerate(order)}
    through: dict[int, list[tuple[int, Cycle]]] = {i: [] for i in range(len(order))}
    for nodes, cycle in cycles.items():
        mask = sum(bit[n] for n in nodes)
        through[(mask & -mask).bit_length() - 1].append((mask, cycle))
    best: dict[int, tuple[int, int, Cycle]] = {0: (1, 0, ())}  # by the nodes left: product, those removed, cycle or ()
    everything = (1 << len(order)) - 1
    steps = 0

    def solve(left: int) -> int:
        nonlocal steps
        if left not in best and steps <= _MAX_STEPS:
            low = left & -left
            options: list[tuple[int, Cycle]] = [(low, ())]
            options += [(m, c) for m, c in through[low.bit_length() - 1] if m & left == m]
            steps += len(options)
            scored = [(solve(left ^ m) * ((1 << len(c)) - 1 if c else 1), m, c) for m, c in options]
            best[left] = max(scored, key=lambda s: s[0])
        return best.get(left, (0,))[0]

    solve(everything)  # as deep as there are nodes, and these are few
    if steps > _MAX_STEPS:
        return None
    chosen = []
    left = everything
    while left:
        _, mask, cycle = best[left]
        if cycle:
            chosen.append(cycle)
        left ^= mask
    return chosen
