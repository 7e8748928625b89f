"""Smallest sets of streaming edges of one block (minimum feedback arc sets), first in lexicographic order.

Finding the size is NP-hard. Three ways, tried in this order: acyclic sums in (min, +) (after reduction at most
:data:`~neuromap.rollout.cycles.dense_blocks.MAX_ORDERED_NODES` nodes, or a narrow sweep); an integer linear program
with cycles added lazily, up to :data:`MAX_PROGRAM_EDGES` edges; a heuristic, not proven (``greedy_order.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from neuromap.errors import NotSupportedError
from neuromap.rollout.cycles.acyclic_sums import LIGHTEST_COUNT, Semiring, reduce_graph
from neuromap.rollout.cycles.blocks import Block, Pair
from neuromap.rollout.cycles.dense_blocks import (
    MAX_COUNTED_NODES,
    MAX_ORDERED_NODES,
    lightest_block,
    lightest_count_block,
)
from neuromap.rollout.cycles.frontier import sweep_block

__all__ = ["MAX_PROGRAM_EDGES", "IntegerProgram", "OrderSearch", "count_smallest"]

MAX_PROGRAM_EDGES = 256
"""Largest block that is given to the integer linear program."""

_MAX_ROUNDS = 200
_MAX_SEARCH_NODES = 2000
Values = tuple[int, ...]


def count_smallest(block: Block) -> int | None:
    """Count the smallest sets of streaming edges of a block; ``None`` where it is too large."""
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
"""A set of streaming edges: its size, and its edges' negated indices, ascending edges first.

Of two sets of one size the smaller tuple is the earlier R in lexicographic order.
"""

FIRST_LIGHTEST: Semiring[Chosen] = Semiring(
    min, lambda x, y: (x[0] + y[0], tuple(sorted(x[1] + y[1], reverse=True))), (0, ())
)
_NEVER = 1 << 60


@dataclass(frozen=True)
class OrderSearch:
    """Smallest sets of a block by acyclic sums, over sets compared by size, then by lexicographic order."""

    block: Block

    @cached_property
    def smallest(self) -> Values | None:
        """Lexicographically first of the smallest sets, as R of the block's edges; ``None``: too large."""
        return self._search(())

    def first_with(self, prefix: Values) -> Values | None:
        """First of the smallest sets that begins with ``prefix``; ``None`` if there is none."""
        if self.smallest is None or sum(prefix) > sum(self.smallest):
            return None
        found = self._search(prefix)
        return found if found is not None and sum(found) == sum(self.smallest) else None

    def _search(self, prefix: Values) -> Values | None:
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
        for i in chosen:
            values[-i] = 1
        return tuple(values)


def _lightest_chosen(part: dict[Pair, tuple[Chosen, Chosen]]) -> Chosen:
    """Solve a small block in integers.

    Of the k edges that occur, the i-th weighs 2^k + 2^(k-1-i): sums compare by size, then by lexicographic
    order, and the low k bits of a sum spell the set.
    """
    edges = sorted({i for _, (_, chosen) in part.values() for i in chosen}, reverse=True)
    k = len(edges)
    weight = {i: (1 << k) + (1 << (k - 1 - place)) for place, i in enumerate(edges)}
    never = (k + 2) << k
    total = lightest_block(
        {
            pair: (0, never if size >= _NEVER else sum(weight[i] for i in chosen))
            for pair, (_, (size, chosen)) in part.items()
        }
    )
    if total >= never:
        return (_NEVER, ())
    return total >> k, tuple(i for place, i in enumerate(edges) if total >> (k - 1 - place) & 1)


class IntegerProgram:
    """Smallest sets of a block as a set cover of its cycles, solved by HiGHS through SciPy.

    Mutable engine: cycles that a solution misses become rows, until none is missed, and rows are kept between
    calls.

    Parameters
    ----------
    block : Block
        Any block.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._index = {pair: i for i, pair in enumerate(block.pairs)}
        self._rows: list[list[int]] = []

    @cached_property
    def smallest(self) -> Values | None:
        """Lexicographically first of the smallest sets.

        Raises
        ------
        NotSupportedError
            If the search takes too long; so do all searches of this class.
        """
        best = self._solve((), len(self._block.pairs))
        return None if best is None else self._first((), best)

    def first_with(self, prefix: Values) -> Values | None:
        """First of the smallest sets that begins with ``prefix``; ``None`` if there is none."""
        if self.smallest is None or sum(prefix) > sum(self.smallest):
            return None
        found = self._solve(prefix, sum(self.smallest))
        return None if found is None else self._first(prefix, found)

    def _first(self, prefix: Values, found: Values) -> Values:
        """Move a smallest set to the lexicographic front, edge by edge."""
        for i in range(len(prefix), len(found)):
            if found[i]:
                found = self._solve((*found[:i], 0), sum(found)) or found
        return found

    def _solve(self, prefix: Values, most: int) -> Values | None:
        m = len(self._block.pairs)
        low, high = np.zeros(m), np.ones(m)
        low[: len(prefix)] = high[: len(prefix)] = prefix
        for _ in range(_MAX_ROUNDS):
            values = self._cover(low, high)
            if values is None or sum(values) > most:
                return None
            missed = self._missed(values)
            if not missed:
                return values
            self._rows.extend(missed)
        raise self._too_long()

    def _cover(self, low: np.ndarray, high: np.ndarray) -> Values | None:
        m = len(low)
        rows = self._rows
        matrix = csr_array(
            (
                np.ones(sum(map(len, rows))),
                np.array([e for row in rows for e in row], dtype=np.int64),
                np.cumsum([0, *map(len, rows)]),
            ),
            shape=(len(rows), m),
        )
        result = milp(
            np.ones(m),
            integrality=np.ones(m, dtype=np.int64),
            bounds=Bounds(low, high),
            constraints=LinearConstraint(matrix, lb=1) if rows else None,
            options={"node_limit": _MAX_SEARCH_NODES, "mip_rel_gap": 0.0},
        )
        if result.status == 2:
            return None
        if result.status != 0:
            raise self._too_long()
        return tuple(int(x > 0.5) for x in result.x)

    def _too_long(self) -> NotSupportedError:
        return NotSupportedError(
            f"block of {len(self._block.pairs)} edges: the search for its next smallest set of streaming edges takes "
            f"too long (more than {_MAX_ROUNDS} rounds, or {_MAX_SEARCH_NODES} nodes in one); give a smaller limit"
        )

    def _missed(self, values: Values) -> list[list[int]]:
        """Edge-disjoint short cycles of the edges that a solution leaves sequential."""
        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_edges_from(p for p, r in zip(self._block.pairs, values, strict=True) if not r)
        cycles = []
        for start in list(graph):
            way = _short_cycle(graph, start)
            if way:
                pairs = list(zip(way, way[1:] + way[:1], strict=True))
                graph.remove_edges_from(pairs)
                cycles.append(sorted(self._index[p] for p in pairs))
        return cycles


def _short_cycle(graph: nx.DiGraph[int], start: int) -> list[int]:
    """Shortest cycle through a node, or nothing."""
    came: dict[int, int] = {}
    queue = [start]
    for u in queue:
        for v in graph[u]:
            if v == start:
                way = [u]
                while way[-1] != start:
                    way.append(came[way[-1]])
                return way[::-1]
            if v not in came:
                came[v] = u
                queue.append(v)
    return []
