"""The cycles of a network: strongly connected components, blocks, feedback edges.

Smallest sets of streaming edges are NP-hard to find. Here they come from acyclic sums over sets of edges, compared by
size, then in lexicographic order: for blocks that, once reduced, have at most
:data:`~neuromap.rollout.cycles.cycle_structure.MAX_ORDERED_NODES` nodes or a narrow sweep. Larger ones go to
``sequential_values.py``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, chain
from typing import ClassVar, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neuromap.network.network import Network
from neuromap.rollout.cycles.indexed_network import (
    LIGHTEST_COUNT,
    Pair,
    Semiring,
    indexed_network,
    met,
    once_per_network,
    reduce_graph,
)


# Edges of a network, sorted by the cycles that they lie on.
@dataclass(frozen=True)
class Block:
    """A block of a strongly connected component, without self-edges; itself strongly connected."""

    pairs: tuple[Pair, ...]  # source and target of every edge, as indices of ``network.nodes``
    edges: tuple[int, ...]  # the same edges as indices of ``network.edges``, ascending


@dataclass(frozen=True)
class CycleStructure:
    """The edges of a network, sorted by the cycles that they lie on."""

    forward: tuple[int, ...]  # indices of the edges on no cycle
    self_edges: tuple[int, ...]  # indices of the edges from a node to itself
    blocks: tuple[Block, ...]  # all other edges; blocks by their first edges


@once_per_network
def cycle_structure(network: Network) -> CycleStructure:
    """Sort the edges of a network into edges on no cycle, self-edges and blocks; computed once per network."""
    # Linear in the number of edges.
    graph = indexed_network(network)
    pairs = tuple(zip(graph.sources, graph.targets, strict=True))
    blocks = sorted(tuple(sorted(edges)) for blocks in graph.blocks for edges in blocks)
    self_edges = tuple(e for e, (u, v) in enumerate(pairs) if u == v)
    cyclic = set(self_edges).union(*blocks)
    return CycleStructure(
        forward=tuple(e for e in range(len(pairs)) if e not in cyclic),
        self_edges=self_edges,
        blocks=tuple(Block(tuple(pairs[e] for e in edges), edges) for edges in blocks),
    )


Values = tuple[int, ...]
"""R of edges, 0 or 1, in edge order."""


def count_smallest(block: Block) -> int | None:
    """Count the smallest sets of streaming edges of a block; ``None`` if it is too large."""
    reduced = reduce_graph([(pair, ((0, 1), (1, 1))) for pair in block.pairs], LIGHTEST_COUNT, one_block=True)
    number = reduced.factor[1]
    for part in reduced.blocks:
        small = len({n for pair in part for n in pair}) <= MAX_COUNTED_NODES
        found = (lightest_count_block(part) if small else None) or sweep_block(part, LIGHTEST_COUNT)
        if found is None:
            return None
        number *= found[1]
    return number


Chosen = tuple[int, tuple[int, ...]]
"""A set of streaming edges: its size, and its edges' negated indices by ascending edge.

Of two sets of equal size, the smaller tuple has the earlier R in lexicographic order.
"""
FIRST_LIGHTEST: Semiring[Chosen] = Semiring(
    min, lambda x, y: (x[0] + y[0], tuple(sorted(x[1] + y[1], reverse=True))), (0, ())
)
"""The first of the smallest sets as an acyclic sum: the sum of two sets is the better one, the product their union."""
_NEVER = 1 << 60
"""Size of a forbidden set: beyond the size of any sum."""


@dataclass(frozen=True)
class OrderSearch:
    """Smallest sets of a block by acyclic sums, over sets compared by size, then by lexicographic order."""

    block: Block
    is_certified: ClassVar = True  # all arithmetic is on integers

    @cached_property
    def smallest(self) -> Values | None:
        """Lexicographically first of the smallest sets, as R of the block's edges; ``None`` if too large."""
        return self._search(())

    def first_with(self, prefix: Values) -> Values | None:
        """First of the smallest sets that begins with ``prefix``; ``None`` if none does."""
        if self.smallest is None or sum(prefix) > sum(self.smallest):
            return None
        found = self._search(prefix)
        return found if found is not None and sum(found) == sum(self.smallest) else None

    def _search(self, prefix: Values) -> Values | None:
        """First of the smallest sets with this prefix: drops its streaming edges, forbids its others to stream."""
        m = len(self.block.pairs)
        kept = [i for i in range(m) if i >= len(prefix) or not prefix[i]]
        cost = {i: (1 if i >= len(prefix) else _NEVER, (-i,)) for i in kept}
        edges = [(self.block.pairs[i], (FIRST_LIGHTEST.one, cost[i])) for i in kept]
        reduced = reduce_graph(edges, FIRST_LIGHTEST, one_block=len(kept) == m)
        found = [reduced.factor]
        for part in sorted(reduced.blocks, key=len, reverse=True):
            small = len({n for pair in part for n in pair}) <= MAX_ORDERED_NODES
            best = _lightest_chosen(part) if small else sweep_block(part, FIRST_LIGHTEST)
            if best is None:
                return None
            found.append(best)
        size, chosen = FIRST_LIGHTEST.product(found)
        if size >= _NEVER:
            return None
        values = [*prefix, *[0] * (m - len(prefix))]
        for negated in chosen:
            values[-negated] = 1
        return tuple(values)


def _lightest_chosen(part: dict[Pair, tuple[Chosen, Chosen]]) -> Chosen:
    """Solve a small block in integers."""
    # Of the k edges that occur, the i-th weighs 2^k + 2^(k-1-i): sums compare by size, then in lexicographic order, and
    # the low k bits of a sum encode the set.
    edges = sorted({i for _, (_, chosen) in part.values() for i in chosen}, reverse=True)
    k = len(edges)
    weight = {i: (1 << k) + (1 << (k - 1 - place)) for place, i in enumerate(edges)}
    never = (k + 2) << k
    costs = {
        pair: (0, never if size >= _NEVER else sum(weight[i] for i in chosen))
        for pair, (_, (size, chosen)) in part.items()
    }
    total = lightest_block(costs)
    if total >= never:
        return (_NEVER, ())
    return total >> k, tuple(i for place, i in enumerate(edges) if total >> (k - 1 - place) & 1)


# Exact acyclic sums of long, thin blocks: a sweep with a frontier.
#
# The nodes are taken one by one. A node is *open* while it has a neighbour still to come. All that matters about the
# choices so far is which open node reaches which over sequential edges; choices that agree on this are added up. Works
# in every semiring, on blocks of any size whose frontier stays narrow.
T = TypeVar("T")
State = tuple[int, ...]
MAX_STATES = 20_000
"""Most reachability states that the sweep keeps; it gives up if it needs more."""
MAX_OPEN = 64
"""Most open nodes at a time; with more there would be too many states, so the sweep does not start."""
_REACH = (1 << MAX_OPEN) - 1


def neighbours_of(pairs: Iterable[Pair]) -> dict[int, dict[int, None]]:
    """Neighbours of every node, directions disregarded, in the order in which they are met."""
    shape: dict[int, dict[int, None]] = {}
    for u, v in pairs:
        shape.setdefault(u, {})[v] = None
        shape.setdefault(v, {})[u] = None
    return shape


def sweep_block(weights: dict[Pair, tuple[T, T]], semiring: Semiring[T]) -> T | None:
    """Acyclic sum of a block by a sweep."""
    # returns ``None`` if it would need more than :data:`MAX_STATES` states, or more than :data:`MAX_OPEN` open nodes at
    # a time
    return sweep(weights, semiring, _narrow_order(neighbours_of(weights)), MAX_STATES)


def sweep(
    weights: dict[Pair, tuple[T, T]],
    semiring: Semiring[T],
    order: Sequence[int],
    most_states: int,
    most_steps: float = math.inf,
    *,
    connected: bool = False,
) -> T | None:
    """Acyclic sum over all choices or, if asked, over those that connect all nodes, directions disregarded."""
    # most_steps: states, summed over edges
    shape = neighbours_of(weights)
    rank = {n: i for i, n in enumerate(order)}
    last = {n: max(rank[m] for m in shape[n]) for n in order}
    opened = Counter(rank.values())
    opened.subtract(max(last[n], rank[n]) for n in order)
    if max(accumulate(opened[i] for i in range(len(order)))) > MAX_OPEN:
        return None
    # A state holds, for every slot, the slots that it reaches (itself included) as bits and, from bit ``MAX_OPEN`` on,
    # those of its component where that matters. Slots are reused. Without directed cycles, no reach is kept.
    itself = int(not nx.is_directed_acyclic_graph(nx.DiGraph(list(weights)))) | connected << MAX_OPEN
    slot: dict[int, int] = {}
    free: list[int] = []
    states: dict[State, T] = {(): semiring.one}
    steps = 0
    for n in order:
        if free:
            mine = free.pop()
            states = {(*s[:mine], itself << mine, *s[mine + 1 :]): value for s, value in states.items()}
        else:
            mine = len(slot)
            states = {(*s, itself << mine): value for s, value in states.items()}
        slot[n] = mine
        for m in shape[n]:
            for u, v in ((m, n), (n, m)):
                if m in slot and (u, v) in weights:
                    states = _decide(states, slot[u], slot[v], weights[u, v], semiring)
                    steps += len(states)
                    if len(states) > most_states or steps > most_steps:
                        return None
        for m in [m for m in slot if last[m] <= rank[n] < len(order) - 1]:
            gone = slot.pop(m)
            free.append(gone)
            states = _forget(states, gone, semiring)
    everything = sum(1 << place for place in slot.values())
    return reduce(semiring.add, (value for s, value in states.items() if s[mine] >> MAX_OPEN in (0, everything)))


def _narrow_order(shape: dict[int, dict[int, None]]) -> list[int]:
    """Order the nodes so that few are open at a time (reverse Cuthill-McKee)."""
    beside = {n: sorted(near, key=lambda m: (len(shape[m]), m)) for n, near in shape.items()}
    order: list[int] = []
    placed: set[int] = set()
    for start in sorted(shape, key=lambda n: (len(shape[n]), n)):
        if start in placed:
            continue
        part = [start]
        for _ in range(3):  # restart from the farthest node: soon an end of the graph
            part = [part[-1], *(m for m, _ in met(part[-1:], lambda n: ((m, n) for m in beside[n])))]
        order += part
        placed.update(part)
    return order[::-1]


def _decide(states: dict[State, T], u: int, v: int, weight: tuple[T, T], semiring: Semiring[T]) -> dict[State, T]:
    """Extend all states by the edge from slot u to slot v, streaming and sequential."""
    a, b = weight
    after: dict[State, T] = {}
    for state, value in states.items():
        options = [(state, semiring.mul(value, b))]
        if not state[v] >> u & 1:  # else a sequential edge would close a cycle
            longer = state
            if reach := state[v] & _REACH:
                longer = tuple(row | reach if row >> u & 1 else row for row in state)
            if (part := state[u] >> MAX_OPEN) and not part >> v & 1:
                part |= state[v] >> MAX_OPEN
                longer = tuple(row | part << MAX_OPEN if part >> i & 1 else row for i, row in enumerate(longer))
            options.append((longer, semiring.mul(value, a)))
        for key, term in options:
            after[key] = semiring.add(after[key], term) if key in after else term
    return after


def _forget(states: dict[State, T], slot: int, semiring: Semiring[T]) -> dict[State, T]:
    """Close a slot: it reaches no other slot and none reaches it; the last one of a component is never connected."""
    after: dict[State, T] = {}
    keep = ~(1 << slot | 1 << slot + MAX_OPEN)
    for state, value in states.items():
        if state[slot] >> MAX_OPEN == 1 << slot:
            continue
        key = tuple(0 if i == slot else row & keep for i, row in enumerate(state))
        after[key] = semiring.add(after[key], value) if key in after else value
    return after


# Exact acyclic sums of small blocks, over subsets of their nodes.
#
# Counting. Let A(S) be the sum over the acyclic choices inside the node set S. Every acyclic choice has nodes without
# an incoming sequential edge; inclusion-exclusion over a nonempty set T of such nodes gives
#
# .. math:: A(S) = \sum_{\emptyset \ne T \subseteq S} (-1)^{|T|+1} \, b(T, T) \, b(S \setminus T, T)
#           \, (a+b)(T, S \setminus T) \, A(S \setminus T)
#
# with products over the edges from the first set to the second: 3^n steps. Lightest sets: order the nodes, every edge
# backwards costs b; the best order of S ends in some node: n 2^n steps.
MAX_COUNTED_NODES = 14
"""Most nodes of a block, after reduction, that is counted over subsets of its nodes."""
MAX_ORDERED_NODES = 16
"""Most nodes of a block, after reduction, whose lightest set is found over subsets of its nodes."""
_MAX_BIT_STEPS = 2_000_000_000


def node_numbers(pairs: Iterable[Iterable[int]]) -> dict[int, int]:
    """Assign numbers to the nodes of edges, in the order in which they are met."""
    return {n: k for k, n in enumerate(dict.fromkeys(chain.from_iterable(pairs)))}


def _numbered(pairs: dict[Pair, tuple[int, int]]) -> tuple[int, dict[Pair, tuple[int, int]]]:
    index = node_numbers(pairs)
    return len(index), {(index[u], index[v]): w for (u, v), w in pairs.items()}


def count_block(weights: dict[Pair, tuple[int, int]], bits: int | None = None) -> int:
    """Acyclic sum of a block in the integers."""
    # bits: return the sum modulo 2^bits; never negative
    mask = None if bits is None else (1 << bits) - 1
    total = int(acyclic_sums(*_numbered(weights), mask)[-1])
    return total if mask is None else total & mask


def acyclic_sums(n: int, edges: Mapping[Pair, tuple[int, int]], mask: int | None = None) -> NDArray[np.object_]:
    """Acyclic sums of all sets of the nodes 0 to n - 1, sets as bits."""
    across = [[1] * n for _ in range(n)]  # [t][u]: (a + b)(t, u) b(u, t), for t in T and u in S \ T
    inside = [[1] * n for _ in range(n)]  # [t][u]: b(t, u), for t and u in T
    for (u, v), (a, b) in edges.items():
        across[u][v] *= a + b
        across[v][u] *= b
        inside[u][v] *= b
    signed = _signed_products(inside, mask)
    sums = np.zeros(1 << n, dtype=object)  # A(S), complete once all sets with smaller numbers are done
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
    return sums


def _signed_products(inside: list[list[int]], mask: int | None) -> NDArray[np.object_]:
    """Compute (-1)^(|T| + 1) b(T, T) for every set T of nodes, sets as bits."""
    n = len(inside)
    signed = np.empty(1 << n, dtype=object)
    signed[0] = -1
    for t in range(n):
        with_t = np.empty(1 << t, dtype=object)  # factor that t adds to the product of every set of lower nodes
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
    # best[S]: lightest over the orders of S; the last node of S costs its edges back into S. Sets in order of size.
    total = sum(b for _, b in edges.values())
    dtype = np.dtype(np.int64) if total < 2**62 else np.dtype(object)
    back = [[0] * n for _ in range(n)]
    for (u, v), (_, b) in edges.items():
        back[u][v] = b
    sets = np.arange(1 << n)
    cost = np.zeros((n, len(sets)), dtype)  # cost[v][S]: edges from v back into S
    for v, row in enumerate(cost):
        for u in range(n):
            row[1 << u : 2 << u] = row[: 1 << u] + back[v][u]
    sizes = np.bitwise_count(sets)
    best = np.full(len(sets), total, dtype)
    best[0] = 0
    for k in range(1, n + 1):
        layer = sets[sizes == k]
        for v in range(n):
            here = layer[layer >> v & 1 == 1]
            rest = here ^ (1 << v)
            best[here] = np.minimum(best[here], best[rest] + cost[v][rest])
    return int(best[-1])


def lightest_count_block(weights: dict[Pair, tuple[tuple[int, int], tuple[int, int]]]) -> tuple[int, int] | None:
    """Weight and number of the lightest sets of a block."""
    # The weights become monomials c y^d; the acyclic sum is taken modulo y^(k+1), where k is the lightest weight, at y
    # = a power of 2 large enough to keep coefficients apart.
    # returns ``None`` if the numbers grow too long to handle in seconds
    k = lightest_block({p: (0, b[0]) for p, (_, b) in weights.items()})
    width = math.prod(ways + c for (_, ways), (_, c) in weights.values()).bit_length() + 1
    bits = width * (k + 1)
    nodes = len({n for p in weights for n in p})
    if 3**nodes * bits > _MAX_BIT_STEPS:
        return None
    powers = {p: (ways, c << (width * d) if d <= k else 0) for p, ((_, ways), (d, c)) in weights.items()}
    return k, count_block(powers, bits) >> (width * k)


# An acyclic graph that grows edge by edge and refuses edges that would close a cycle.
#
# Pearce and Kelly's dynamic topological sort ("A dynamic topological sort algorithm for directed acyclic graphs", ACM
# JEA 2007): the nodes keep an order, and edges that agree with it cost nothing.


class IncrementalOrder:
    """Mutable acyclic graph on nodes 0 to n - 1, with a topological order of its nodes."""

    def __init__(self, n: int) -> None:
        self._rank = list(range(n))
        self._after: list[set[int]] = [set() for _ in range(n)]
        self._before: list[set[int]] = [set() for _ in range(n)]

    def add(self, u: int, v: int) -> bool:
        """Add the edge from u to v unless it closes a cycle; return whether it was added."""
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
        """Remove the edge from u to v; the order stays valid."""
        self._after[u].remove(v)
        self._before[v].remove(u)

    def _between(self, u: int, v: int) -> list[int] | None:
        """Nodes to reorder for an edge from u back to v, in their new order; ``None`` if v reaches u."""
        # Two searches, forward from v and backward from u, take turns: if there is a path, they soon meet.
        rank, low, high = self._rank, self._rank[v], self._rank[u]
        forward, backward = [v], [u]
        reached, reaching = {v}, {u}
        sides = (self._after, forward, reached, reaching), (self._before, backward, reaching, reached)
        at = 0
        while at < len(forward) or at < len(backward):
            for near, front, mine, others in sides:
                for m in near[front[at]] if at < len(front) else ():
                    if m in others:
                        return None
                    if m not in mine and low < rank[m] < high:
                        mine.add(m)
                        front.append(m)
            at += 1
        return sorted(backward, key=rank.__getitem__) + sorted(forward, key=rank.__getitem__)
