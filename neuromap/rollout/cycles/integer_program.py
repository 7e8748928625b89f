"""Smallest sets of streaming edges of blocks that are beyond acyclic sums: an integer linear program.

Every cycle needs a streaming edge: a set cover. Cycles are many, so they are added as rows only when a solution misses
them. Larger blocks still, with more than :data:`MAX_PROGRAM_EDGES` edges, are left to ``greedy_order.py``.
"""

from __future__ import annotations

import math
from functools import cached_property

import networkx as nx
import numpy as np

from neuromap.errors import NotSupportedError
from neuromap.rollout.cycles.certified_least import Row, is_least
from neuromap.rollout.cycles.cycle_structure import Block
from neuromap.rollout.cycles.feedback import Values
from neuromap.rollout.cycles.quiet_solver import quiet_solver

__all__ = ["MAX_PROGRAM_EDGES", "IntegerProgram"]

MAX_PROGRAM_EDGES = 256
"""Largest block that is given to the integer linear program."""

_MAX_ROUNDS = 200
_MAX_SEARCH_NODES = 2000
_MAX_CERTIFIED_BOXES = 300
"""Of all proofs of one block together: about a second."""


class IntegerProgram:
    """Smallest sets of a block as a set cover of its cycles, solved by HiGHS through SciPy."""

    # Mutable engine: cycles that a solution misses become rows, until none is missed, and rows are kept between calls.

    def __init__(self, block: Block) -> None:
        self._block = block
        self._index = {pair: i for i, pair in enumerate(block.pairs)}
        self._rows: list[list[int]] = []

    @cached_property
    def smallest(self) -> Values | None:
        """Lexicographically first of the smallest sets."""
        best = self._solve((), len(self._block.pairs))
        return None if best is None else self._first((), best)

    @cached_property
    def is_certified(self) -> bool:
        """Whether whole numbers prove that no set is smaller than :attr:`smallest`, or as small and before it."""
        found = self.smallest
        if found is None or self._missed(found):
            return False
        rows: list[Row] = [(dict.fromkeys(row, 1), 1, math.inf) for row in self._rows]
        size, left = sum(found), _MAX_CERTIFIED_BOXES
        claims = [((), size)] + [((*found[:i], 0), size + 1) for i, r in enumerate(found) if r]
        for prefix, least in claims:
            box = [(r, r) for r in prefix] + [(0, 1)] * (len(found) - len(prefix))
            proven, looked = is_least([1] * len(found), rows, box, least, left)
            left -= looked
            if not proven:
                return False
        return True

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
        from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import
        from scipy.sparse import csr_array

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
        with quiet_solver():
            result = milp(
                np.ones(m),
                integrality=np.ones(m, dtype=np.int64),
                bounds=Bounds(low, high),
                constraints=LinearConstraint(matrix, lb=1) if rows else None,
                options={"node_limit": _MAX_SEARCH_NODES, "mip_rel_gap": 0.0, "presolve": False},
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
