"""R of the most sequential patterns, as plain values in edge order.

The streaming edges of a most sequential pattern are all self-edges and, in every block, a smallest set without which
the block has no cycle. The problem is NP-hard and solved exactly up to a size; a solver's result is proven if integer
arithmetic certifies it (:func:`is_least`). Beyond that size the values come from a heuristic (:func:`greedy_values`)
and are not proven.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import networkx as nx
import numpy as np

from neuromap.errors import NotSupportedError
from neuromap.network.network import Network
from neuromap.rollout.cycles.cycle_structure import (
    Block,
    CycleStructure,
    IncrementalOrder,
    OrderSearch,
    Values,
    count_smallest,
    cycle_structure,
    node_numbers,
)
from neuromap.rollout.cycles.indexed_network import once_per_network

# Smallest sets of streaming edges of blocks beyond the reach of acyclic sums: an integer linear program.
#
# Every cycle needs a streaming edge: a set cover. There are many cycles, so each is added as a row only when a solution
# misses it. Still larger blocks, with more than :data:`MAX_PROGRAM_EDGES` edges, are left to :func:`greedy_values`.
Row = tuple[dict[int, int], float, float]
"""Coefficients of variables, and lower and upper bound of their sum; integers, or infinite."""
MAX_PROGRAM_EDGES = 256
"""Largest block that is given to the integer linear program."""
_MAX_ROUNDS = 200
_MAX_CERTIFIED_BOXES = 300
"""Limit for all proofs of one block together: about a second."""


class IntegerProgram:
    """Smallest sets of a block as a set cover of its cycles, solved by HiGHS through SciPy."""

    # Mutable: cycles that a solution misses become rows until none is missed; rows are kept between calls.

    def __init__(self, block: Block) -> None:
        self._block = block
        self._index = {pair: i for i, pair in enumerate(block.pairs)}
        self._rows: list[Row] = []

    @cached_property
    def smallest(self) -> Values | None:
        """Lexicographically first of the smallest sets."""
        best = self._solve((), len(self._block.pairs))
        return None if best is None else self._first((), best)

    @cached_property
    def is_certified(self) -> bool:
        """Whether integer arithmetic proves that no set is smaller than :attr:`smallest`, or as small and before it."""
        found = self.smallest
        if found is None or self._missed(found):
            return False
        size, left = sum(found), _MAX_CERTIFIED_BOXES
        claims = [((), size)] + [((*found[:i], 0), size + 1) for i, r in enumerate(found) if r]
        for prefix, least in claims:
            box = [(r, r) for r in prefix] + [(0, 1)] * (len(found) - len(prefix))
            proven, looked = is_least([1] * len(found), self._rows, box, least, left)
            left -= looked
            if not proven:
                return False
        return True

    def first_with(self, prefix: Values) -> Values | None:
        """First of the smallest sets that begins with ``prefix``; ``None`` if none does."""
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
        box = [(r, r) for r in prefix] + [(0, 1)] * (m - len(prefix))
        for _ in range(_MAX_ROUNDS):
            found = solve_whole([1] * m, self._rows, box)
            if found.status == 2:  # there is none
                return None
            if found.status != 0:
                break
            values = tuple(int(x > 0.5) for x in found.x)
            if sum(values) > most:
                return None
            missed = self._missed(values)
            if not missed:
                return values
            self._rows += [(dict.fromkeys(cycle, 1), 1, math.inf) for cycle in missed]
        raise NotSupportedError(
            f"block of {len(self._block.pairs)} edges: the search for its next smallest set of streaming edges takes "
            f"too long (more than {_MAX_ROUNDS} rounds, or {MAX_SEARCH_NODES} nodes in one); give a smaller limit"
        )

    def _missed(self, values: Values) -> list[list[int]]:
        """Edge-disjoint short cycles among the edges that a solution leaves sequential."""
        graph = nx.DiGraph([p for p, r in zip(self._block.pairs, values, strict=True) if not r])
        cycles = []
        for start in list(graph):
            way = _short_cycle(graph, start)
            if way:
                pairs = list(zip(way, way[1:] + way[:1], strict=True))
                graph.remove_edges_from(pairs)
                cycles.append(sorted(self._index[p] for p in pairs))
        return cycles


def _short_cycle(graph: nx.DiGraph[int], start: int) -> list[int]:
    """Shortest cycle through a node; empty if there is none."""
    came = {v: u for u, v in nx.bfs_edges(graph, start)}
    last = next((u for u in (start, *came) if graph.has_edge(u, start)), None)
    way = [] if last is None else [last]
    while way and way[-1] != start:
        way.append(came[way[-1]])
    return way[::-1]


Search: TypeAlias = OrderSearch | IntegerProgram


def _search(block: Block) -> Search | None:
    """Choose an exact search that solves a block; ``None`` if none does."""
    searches: list[Search] = [OrderSearch(block)]
    if len(block.pairs) <= MAX_PROGRAM_EDGES:
        searches.append(IntegerProgram(block))
    with contextlib.suppress(NotSupportedError):  # it takes too long
        return next((search for search in searches if search.smallest is not None), None)
    return None


@once_per_network
def first_sequential_values(network: Network) -> tuple[Values, bool]:
    """Find the most sequential values and whether they are proven; searched once per network."""
    structure = cycle_structure(network)
    values = _only_self_edges(structure, len(network.edges))
    proven = True
    for block in structure.blocks:
        search = _search(block)
        _write(values, block, greedy_values(block) if search is None else _found(search.smallest))
        proven = proven and search is not None and search.is_certified
    return tuple(values), proven


def count_sequential_values(network: Network) -> int | None:
    """Count the most sequential patterns; ``None`` if the first one is not proven or a block is too large."""
    _, proven = first_sequential_values(network)
    count: int | None = 1 if proven else None
    for block in cycle_structure(network).blocks:
        number = None if count is None else count_smallest(block)
        count = None if count is None or number is None else count * number
    return count


def enumerate_sequential_values(network: Network) -> Iterator[Values] | None:
    """Yield the most sequential values in lexicographic order, lazily."""
    # ``None`` if a block is beyond exact search.
    structure = cycle_structure(network)
    searches: list[Search] = []
    for block in structure.blocks:
        search = _search(block)
        if search is None:
            return None
        searches.append(search)
    return _in_order(structure, searches, len(network.edges))


def _in_order(structure: CycleStructure, searches: Sequence[Search], n_edges: int) -> Iterator[Values]:
    """Count like an odometer: the last edge that can turn from 0 to 1 turns, and all later ones restart."""
    values = _only_self_edges(structure, n_edges)
    for block, search in zip(structure.blocks, searches, strict=True):
        _write(values, block, _found(search.smallest))
    home = {e: b for b, block in enumerate(structure.blocks) for e in block.edges}
    edges = sorted(home, reverse=True)
    while True:
        yield tuple(values)
        for turn in edges:
            if values[turn]:
                continue
            block, search = structure.blocks[home[turn]], searches[home[turn]]
            turned = search.first_with((*(values[e] for e in block.edges if e < turn), 1))
            if turned is not None:
                break
        else:
            return
        _write(values, block, turned)
        for other, again in zip(structure.blocks, searches, strict=True):
            if other is not block and other.edges[-1] > turn:
                _write(values, other, _found(again.first_with(tuple(values[e] for e in other.edges if e < turn))))


def _found(values: Values | None) -> Values:
    assert values is not None, "smallest values exist, and begin with their own beginning"
    return values


def _only_self_edges(structure: CycleStructure, n_edges: int) -> list[int]:
    values = [0] * n_edges
    for e in structure.self_edges:
        values[e] = 1
    return values


def _write(values: list[int], block: Block, chosen: Values) -> None:
    for e, r in zip(block.edges, chosen, strict=True):
        values[e] = r


# A small set of streaming edges for blocks beyond exact search: a heuristic.
#
# Eades, Lin and Smyth ("A fast and effective heuristic for the feedback arc set problem", 1993) order the nodes:
# sinks to the back, sources to the front, else the node with the greatest out-degree minus in-degree to the front.
# Backward edges stream; then every one that closes no cycle is made sequential again, in the order of the file. Most
# close a cycle with forward edges alone: these are found with bit sets, and never tried.
_CHUNK = 8192
"""Nodes per bit set: limits memory to a kilobyte per node."""


def greedy_values(block: Block) -> tuple[int, ...]:
    """R of the block's edges: valid, no single streaming edge can be made sequential; not proven smallest."""
    index = node_numbers(block.pairs)
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
        # reach[v]: nodes of this chunk that v reaches over forward edges, as bits
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
    # Buckets by (edges out - edges in); dicts keep insertion order, so the result is stable.
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


# Mixed-integer programs, solved without output on the terminal.
MAX_SEARCH_NODES = 2000
"""Limit of a search: a count of nodes, so that the answer does not depend on the machine."""


def solve_whole(
    price: Sequence[int],
    rows: Sequence[tuple[Mapping[int, float], float, float]],
    box: Sequence[tuple[int, int]],
    **options: Any,
) -> Any:
    """Minimise the cost over the integers in a box that satisfy all rows, with HiGHS through SciPy."""
    # the result is no proof, as HiGHS computes with floating-point numbers
    # options: of HiGHS, overriding those set here
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import
    from scipy.sparse import csr_array

    terms, lows, highs = zip(*rows, strict=True) if rows else ((), (), ())
    factors = np.array([factor for row in terms for factor in row.values()], float)
    columns = np.array([j for row in terms for j in row], np.int64)
    matrix = csr_array((factors, columns, np.cumsum([0, *map(len, terms)])), shape=(len(rows), len(price)))
    told: Any = {"node_limit": MAX_SEARCH_NODES, "mip_rel_gap": 0.0, "presolve": False, **options}
    with quiet_solver():
        return milp(
            np.array(price, float),
            integrality=np.ones(len(price), np.int64),
            bounds=Bounds(*np.array(box, float).T),
            constraints=LinearConstraint(matrix, np.array(lows, float), np.array(highs, float)) if rows else None,
            options=told,
        )


# HiGHS, as bundled with SciPy 1.17, now and then writes a line to the standard output of the process, whatever its
# options: between the lines of a report, or into a document. So standard output is redirected while it works.
@contextlib.contextmanager
def quiet_solver() -> Iterator[None]:
    """Discard standard output for the milliseconds of a solution."""
    # What Python has buffered is written afterwards; what other threads write meanwhile is lost.
    try:
        kept = os.dup(1)
    except OSError:  # the process has no standard output
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nowhere:
            _flush()
            os.dup2(nowhere.fileno(), 1)
            try:
                yield
            finally:
                _flush()
                os.dup2(kept, 1)
    finally:
        os.close(kept)


def _flush() -> None:
    """Flush the buffers of the C library."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).fflush(None)


# Proven lower bounds on the cost of an integer program: a solver proposes multipliers, integer arithmetic decides.
#
# HiGHS computes with floating-point numbers, and has called a set of 4 the smallest where there is one of 3. So its
# word is no proof. For any multipliers y, z >= 0 of rows ``low <= a x <= high`` and any x in a box that satisfies them,
#
#     c x  >=  sum of (y low - z high)  +  the least of (c - y a + z a) x over the box,
#
# which is a sum of integers once y and z are rounded (weak duality; as the box is bounded, every rounding is valid).
# If the bound does not suffice, the box is cut in two. The result is a proof, or no answer.


_SCALE = 1 << 24
"""Multipliers are integers in units of 1 / ``_SCALE``."""
_NEAR = 1e-6


def is_least(
    price: Sequence[int],
    rows: Sequence[Row],
    box: Sequence[tuple[int, int]],
    least: int,
    most_boxes: int,
) -> tuple[bool, int]:
    """Try to prove that no integers in a box that satisfy all rows cost less than ``least``."""
    # most_boxes: greatest number of boxes to examine
    # returns whether it is proven, and the number of boxes examined
    relaxed = Relaxed(price, rows, least)
    boxes = [list(box)]
    looked = 0
    while boxes:
        here = boxes.pop()
        if looked == most_boxes:
            return False, looked
        looked += 1
        x, bound = relaxed.bound(here)
        if bound >= least:
            continue
        open_ = [j for j, (low, high) in enumerate(here) if low < high]
        if not open_ or not len(x):
            return False, looked
        j = max(open_, key=lambda j: (round(abs(x[j] - round(x[j])), 6), here[j][1] - here[j][0]))
        at = min(max(math.floor(x[j] + _NEAR), here[j][0]), here[j][1] - 1)
        for part in ((here[j][0], at), (at + 1, here[j][1])):
            boxes.append([*here[:j], part, *here[j + 1 :]])
    return True, looked


class Relaxed:
    """The linear program of a box, with rows relaxed at a penalty: always feasible, and yields multipliers."""

    def __init__(self, price: Sequence[int], rows: Sequence[Row], least: int) -> None:
        from scipy import sparse

        sided = [(terms, 1, low) for terms, low, _ in rows if math.isfinite(low)]
        sided += [(terms, -1, -high) for terms, _, high in rows if math.isfinite(high)]
        entries = [(k, j, sign * f) for k, (terms, sign, _) in enumerate(sided) for j, f in terms.items()]
        n, m = len(price), len(sided)
        dear = 4.0 * (abs(least) + sum(map(abs, price)) + 1)
        row, column, factor = (np.array(part) for part in zip(*entries, strict=True)) if entries else ([], [], [])
        kept = sparse.csr_array((np.asarray(factor, float), (row, column)), shape=(m, n))
        self._rows = sparse.hstack([-kept, -sparse.eye_array(m)], format="csr") if m else None
        self._limits = -np.array([limit for _, _, limit in sided], float)
        self._prices = np.concatenate([np.array(price, float), np.full(m, dear)])
        self._of = price, rows

    def bound(self, box: Sequence[tuple[int, int]]) -> tuple[Sequence[float], int]:
        """Return a fractional solution (empty if the solver gave up), and a lower bound on the cost of integer ones."""
        from scipy.optimize import linprog

        bounds = [*box, *[(0, None)] * len(self._limits)]
        found: Any = linprog(
            self._prices, A_ub=self._rows, b_ub=self._limits if len(self._limits) else None, bounds=bounds
        )
        is_solved = found.status == 0
        marginals = found.ineqlin.marginals if is_solved and len(self._limits) else np.zeros(len(self._limits))
        multipliers = [max(0, round(-float(y) * _SCALE)) for y in marginals]
        return found.x if is_solved else (), -(-_bound(*self._of, box, multipliers) // _SCALE)


def _bound(
    price: Sequence[int], rows: Sequence[Row], box: Sequence[tuple[int, int]], multipliers: Sequence[int]
) -> int:
    """Lower bound on the cost in a box, times ``_SCALE``; in integer arithmetic throughout."""
    left = [c * _SCALE for c in price]
    bound = 0
    sides = iter(multipliers)
    for sign, limits in ((1, [(t, low) for t, low, _ in rows]), (-1, [(t, high) for t, _, high in rows])):
        for terms, limit in limits:
            if math.isfinite(limit) and (y := next(sides)):
                bound += sign * y * int(limit)
                for j, factor in terms.items():
                    left[j] -= sign * y * factor
    return bound + sum(min(c * low, c * high) for c, (low, high) in zip(left, box, strict=True))
