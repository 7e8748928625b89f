"""Smallest sets of streaming edges of one block (minimum feedback arc sets), first in lexicographic order.

Finding the size is NP-hard. Here by acyclic sums over sets of edges, compared by size, then by lexicographic order:
after reduction blocks of at most :data:`~neuromap.rollout.cycles.dense_blocks.MAX_ORDERED_NODES` nodes, or with a
narrow sweep. What is larger goes to ``integer_program.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from neuromap.rollout.cycles.acyclic_sums import LIGHTEST_COUNT, Semiring, reduce_graph
from neuromap.rollout.cycles.blocks import Pair
from neuromap.rollout.cycles.cycle_structure import Block
from neuromap.rollout.cycles.dense_blocks import (
    MAX_COUNTED_NODES,
    MAX_ORDERED_NODES,
    lightest_block,
    lightest_count_block,
)
from neuromap.rollout.cycles.frontier import sweep_block

__all__ = ["OrderSearch", "Values", "count_smallest"]

Values = tuple[int, ...]
"""R of edges, 0 or 1, in edge order."""


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
"""The first of the smallest sets as an acyclic sum: the sum of two is the better one, the product their union."""

_NEVER = 1 << 60
"""Size of a set that must not be: beyond all sizes that sums can have."""


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
        """First of the smallest sets with this prefix: what it streams is left out, what it does not may not stream."""
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
    # Of the k edges that occur, the i-th weighs 2^k + 2^(k-1-i): sums compare by size, then by lexicographic order, and
    # the low k bits of a sum spell the set.
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
