r"""Exact acyclic sums of small blocks, over subsets of their nodes.

Counting. Let A(S) be the sum over the acyclic choices inside the node set S. Every acyclic choice has nodes
without a sequential edge into them; inclusion and exclusion over a nonempty set T of such nodes gives

.. math:: A(S) = \sum_{\emptyset \ne T \subseteq S} (-1)^{|T|+1} \, b(T, T) \, b(S \setminus T, T)
          \, (a+b)(T, S \setminus T) \, A(S \setminus T)

with products over the edges from the first set to the second: 3^n steps. Lightest sets: order the nodes,
every edge backwards costs b; the best order of S ends in some node: n 2^n steps.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from neuromap.rollout.cycles.blocks import Pair

__all__ = ["MAX_COUNTED_NODES", "MAX_ORDERED_NODES", "count_block", "lightest_block", "lightest_count_block"]

MAX_COUNTED_NODES = 14
"""Largest block, after reduction, that is counted over subsets of its nodes."""

MAX_ORDERED_NODES = 16
"""Largest block, after reduction, whose lightest set is found over subsets of its nodes."""

_MAX_BIT_STEPS = 2_000_000_000


def _numbered(pairs: dict[Pair, tuple[int, int]]) -> tuple[int, dict[Pair, tuple[int, int]]]:
    index: dict[int, int] = {}
    for p in pairs:
        for n in p:
            index.setdefault(n, len(index))
    return len(index), {(index[u], index[v]): w for (u, v), w in pairs.items()}


def count_block(weights: dict[Pair, tuple[int, int]], bits: int | None = None) -> int:
    """Acyclic sum of a block in the integers."""
    # gives the sum, never negative
    n, edges = _numbered(weights)
    mask = None if bits is None else (1 << bits) - 1
    across = [[1] * n for _ in range(n)]  # [t][u]: (a + b)(t, u) b(u, t), for t in T and u in S \ T
    inside = [[1] * n for _ in range(n)]  # [t][u]: b(t, u), for t and u in T
    for (u, v), (a, b) in edges.items():
        across[u][v] *= a + b
        across[v][u] *= b
        inside[u][v] *= b
    signed = _signed_products(inside, mask)
    sums = np.zeros(1 << n, dtype=object)  # A(S), complete once all sets before S, as numbers, were gone through
    sums[0] = 1
    everything = (1 << n) - 1
    # beside[S][t]: product of across[t][u] over u in S; made from the set without its highest node, then dropped.
    beside: list[list[int] | None] = [None] * (1 << n)
    beside[0] = [1] * n
    for done in range(everything):  # S \ T; its part in A(S) is added for all T at once
        ratio = beside[done]
        assert ratio is not None
        beside[done] = None
        sets = np.zeros(1, dtype=np.int64)
        terms = np.array([sums[done]], dtype=object)
        for t in range(n):
            if done >> t & 1:
                continue
            sets = np.concatenate([sets, sets | 1 << t])
            terms = np.concatenate([terms, _cut(terms * ratio[t], mask)])
            if done >> t == 0:
                grown = [r * row[t] for r, row in zip(ratio, across, strict=True)]
                beside[done | 1 << t] = grown if mask is None else [g & mask for g in grown]
        sets, terms = sets[1:], terms[1:]  # T is not empty
        sums[sets | done] += _cut(terms * signed[sets], mask)
    total = int(sums[everything])
    return total if mask is None else total & mask


def _signed_products(inside: list[list[int]], mask: int | None) -> NDArray[np.object_]:
    """Give (-1)^(|T| + 1) b(T, T) for every set T of nodes, sets as bits."""
    n = len(inside)
    signed = np.empty(1 << n, dtype=object)
    signed[0] = -1
    for t in range(n):
        with_t = np.empty(1 << t, dtype=object)  # what t multiplies the product of every set of lower nodes by
        with_t[0] = -1
        for u in range(t):
            with_t[1 << u : 2 << u] = with_t[: 1 << u] * (inside[t][u] * inside[u][t])
        signed[1 << t : 2 << t] = _cut(signed[: 1 << t] * with_t, mask)
    return signed


def _cut(values: NDArray[np.object_], mask: int | None) -> NDArray[np.object_]:
    return values if mask is None else values & mask


def lightest_block(weights: dict[Pair, tuple[int, int]]) -> int:
    """Weight of the lightest set of edges without which a block has no cycle."""
    n, edges = _numbered(weights)
    # best[S]: lightest over the orders of S. The last of S costs its edges back into S; sets by their size.
    total = sum(b for _, b in edges.values())
    dtype = np.dtype(np.int64) if total < 2**62 else np.dtype(object)
    back = [[0] * n for _ in range(n)]
    for (u, v), (_, b) in edges.items():
        back[u][v] = b
    size = 1 << n
    cost = []  # cost[v][S]: edges from v back into S
    for v in range(n):
        row = np.zeros(size, dtype=dtype)
        for u in range(n):
            row[1 << u : 2 << u] = row[: 1 << u] + back[v][u]
        cost.append(row)
    sets = np.arange(size)
    count = np.zeros(size, dtype=np.int64)
    for u in range(n):
        count[1 << u : 2 << u] = count[: 1 << u] + 1
    by_count = np.argsort(count, kind="stable")
    ends = np.searchsorted(count[by_count], np.arange(n + 2))
    best = np.full(size, total, dtype=dtype)
    best[0] = 0
    for k in range(1, n + 1):
        layer = sets[by_count[ends[k] : ends[k + 1]]]
        for v in range(n):
            here = layer[layer >> v & 1 == 1]
            rest = here ^ (1 << v)
            best[here] = np.minimum(best[here], best[rest] + cost[v][rest])
    return int(best[-1])


def lightest_count_block(weights: dict[Pair, tuple[tuple[int, int], tuple[int, int]]]) -> tuple[int, int] | None:
    """Weight and number of the lightest sets of a block."""
    # The weights become monomials c y^d; the acyclic sum is taken modulo y^(k+1), where k is the lightest weight, at y
    # = a power of 2 large enough to keep coefficients apart.
    # gives ``None`` where the numbers grow too long to be handled in seconds
    k = lightest_block({p: (0, b[0]) for p, (_, b) in weights.items()})
    width = math.prod(ways + c for (_, ways), (_, c) in weights.values()).bit_length() + 1
    bits = width * (k + 1)
    nodes = len({n for p in weights for n in p})
    if 3**nodes * bits > _MAX_BIT_STEPS:
        return None
    powers = {p: (ways, c << (width * d) if d <= k else 0) for p, ((_, ways), (d, c)) in weights.items()}
    return k, count_block(powers, bits) >> (width * k)
