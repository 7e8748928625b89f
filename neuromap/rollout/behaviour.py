"""Behaviour classes of patterns, and counts of valid patterns.

Two patterns R, R' of a network are *equivalent* iff integers rho(v) exist, 0 on all inputs, with
R'(u, v) = R(u, v) + rho(v) - rho(u) on every edge from which a path leads to an output. There x'_v[i] = x_v[i - rho(v)]
solves the equations of R' (Leiserson and Saxe's retiming); the rest of the network does not matter. Definition and
examples: ``docs/behaviour-classes.md``; proofs: ``docs/theorems/same-function.md``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, PatternError
from neuromap.files.argument_checks import needs
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.cycles.cycle_structure import (
    MAX_COUNTED_NODES,
    MAX_STATES,
    IncrementalOrder,
    acyclic_sums,
    count_block,
    cycle_structure,
    sweep_block,
)
from neuromap.rollout.cycles.indexed_network import COUNTING, indexed_network, reduce_graph, split_at_nodes
from neuromap.rollout.pattern import RolloutPattern

PATTERN_LIMIT = 100_000
"""Default limit on the number of valid patterns to enumerate."""


def equivalent(p: RolloutPattern, q: RolloutPattern) -> dict[str, int] | None:
    """Decide whether two patterns compute the same function of the outputs, up to a shift by whole frames.

    Linear in the number of edges: the shift is followed along the edges from the inputs, then checked.

    Parameters
    ----------
    p, q : RolloutPattern
        Valid patterns of one network.

    Returns
    -------
    dict of str to int, or None
        For every node on which an output depends, the number of frames rho(v) by which q lags p: frame i of v under q
        is frame i - rho(v) under p, with rho = 0 on inputs. ``None`` if the patterns are not equivalent.

    Raises
    ------
    PatternError
        If a pattern is invalid (the message names the cycle), or the patterns belong to different networks, or to
        networks with different outputs.
    """
    needs("equivalent", p, RolloutPattern, PatternError)
    needs("equivalent", q, RolloutPattern, PatternError)
    if p.network is not q.network and set(p.network.edges) != set(q.network.edges):
        raise PatternError(
            f"patterns of networks {p.network.name} and {q.network.name}: the networks have different edges; "
            "compare patterns of one network"
        )
    if set(p.network.outputs) != set(q.network.outputs):
        mine, its = (", ".join(pattern.network.outputs) for pattern in (p, q))
        raise PatternError(
            f"patterns of networks {p.network.name} and {q.network.name}: the networks have different outputs, {mine} "
            f"and {its}; compare patterns of one network"
        )
    p.require_valid()
    q.require_valid()
    graph, edges = indexed_network(p.network), tuple(p.network.edges)
    shift = dict.fromkeys(p.network.roots, 0)
    for u, v in (edges[e] for e in graph.tree):
        shift[v] = shift[u] + q[u, v] - p[u, v]
    if any(q[u, v] - p[u, v] != shift[v] - shift[u] for u, v in (edges[e] for e in graph.seen)):
        return None
    return {name: shift[name] for name, seen in zip(p.network.nodes, graph.reaches_output, strict=True) if seen}


def class_key(pattern: RolloutPattern) -> tuple[int, ...]:
    """Key of a pattern's behaviour class: patterns of one network have equal keys iff they are equivalent."""
    # The key is R after the shift that makes a spanning forest sequential, one number for each edge that the outputs
    # see; linear in the number of edges.
    pattern.require_valid()
    return _shifted(pattern)


def behaviour_classes(network: Network, *, limit: int = PATTERN_LIMIT) -> list[list[RolloutPattern]]:
    """All valid patterns of a network with R of 0 and 1, grouped by what its outputs compute.

    Parameters
    ----------
    network : Network
        The network.
    limit : int
        Greatest number of valid patterns to enumerate.

    Returns
    -------
    list of list of RolloutPattern
        Every valid pattern once: class number 1 first (:mod:`neuromap.rollout.class_numbers`), the patterns
        of a class in the order of enumeration.

    Raises
    ------
    InputError
        If the network has more than ``limit`` valid patterns.
    """
    patterns = list(islice(enumerate_valid(network), limit + 1))
    if len(patterns) > limit:
        raise InputError(
            f"network {network.name}: has more than {limit} valid patterns, too many to list its behaviour "
            "classes; raise limit, or count them with count_behaviour_classes"
        )
    named = (RolloutPattern.named(network, name) for name in ("streaming", "sequential", *network.patterns))
    classes: dict[tuple[int, ...], list[RolloutPattern]] = {
        _shifted(p): [] for p in named if p.is_valid and not p.bridging_edges
    }
    for pattern in patterns:
        classes.setdefault(_shifted(pattern), []).append(pattern)
    return list(classes.values())


def count_behaviour_classes(network: Network) -> int | None:
    """Count the behaviour classes of a network's valid patterns, without listing them.

    Their number equals the number of acyclic edge sets that connect all nodes, in the part of the network that
    reaches an output and with all inputs merged into one node: a variant of Gioan's theorem on cocycle
    reversal classes (E. Gioan, Enumerating degree sequences in digraphs and a cycle-cocycle reversing system, 2007);
    proof in ``docs/theorems/number-of-classes.md``. The count is the product over the blocks of that part.

    Returns
    -------
    int or None
        Exact; ``None`` where a block is too large and too dense (more than
        :data:`~neuromap.rollout.behaviour.SUBSET_NODES` nodes and too many partial states).
    """
    count = 1
    for n, edges in _merged_blocks(network):
        ways = connected_acyclic_sets(n, edges)
        if ways is None:
            return None
        count *= ways
    return count


def _merged_blocks(network: Network) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Blocks of the part that outputs depend on, with all inputs merged: number of nodes and edges of each."""
    # Self-edges are left out: they stream in every valid pattern and in every shift of it.
    graph = indexed_network(network)
    number = dict.fromkeys(graph.inputs, -1)
    pairs = ((number.get(graph.sources[e], graph.sources[e]), graph.targets[e]) for e in graph.seen)
    for block in split_at_nodes((u, v) for u, v in pairs if u != v):
        block.sort(key=sorted)  # by its two nodes, whichever way the edge leads
        index: dict[int, int] = {}
        for pair in block:
            for n in sorted(pair):
                index.setdefault(n, len(index))
        yield len(index), [(index[u], index[v]) for u, v in block]


def _shifted(pattern: RolloutPattern) -> tuple[int, ...]:
    """R of the edges that the outputs see, shifted so that the spanning forest is sequential."""
    graph = indexed_network(pattern.network)
    shift = [0] * graph.n
    for e in graph.tree:
        shift[graph.targets[e]] = shift[graph.sources[e]] - pattern.values[e]
    r, u, v = pattern.values, graph.sources, graph.targets
    return tuple(r[e] + shift[v[e]] - shift[u[e]] for e in graph.seen)


# Exact counts of acyclic edge sets that connect all nodes.
#
# Their number is the number of behaviour classes (``docs/theorems/number-of-classes.md``). Small blocks are solved
# over all subsets of nodes, long and narrow ones by a frontier that moves through the graph; blocks both large and
# wide are not counted.
SUBSET_NODES = 13
"""Blocks of up to this many nodes are always counted (time 3^n)."""
FRONTIER_STEPS = 1_000_000
"""Larger blocks are counted if at most this many states of the frontier are visited."""
_FRONTIER_NODES = 12
_State: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""Per node of the frontier: the number of its component, and the frontier nodes it reaches, itself included."""


def connected_acyclic_sets(n: int, edges: Sequence[tuple[int, int]]) -> int | None:
    """Count the edge sets that have no directed cycle and, directions disregarded, connect all nodes."""
    # gives ``None`` where the graph is too large and too dense
    if n == 2:
        forward = sum(u < v for u, v in edges)
        return (1 << forward) + (1 << (len(edges) - forward)) - 2
    if n <= SUBSET_NODES:
        return _by_subsets(n, edges)
    return _by_frontier(n, edges)


def _by_subsets(n: int, edges: Sequence[tuple[int, int]]) -> int:
    """For every node set s with node 0, count all acyclic edge sets minus those that do not connect s."""
    # An edge set that does not connect s splits it into the component of node 0, on t and node 0, and the rest.
    # Of k parallel edges, some are chosen in one of 2^k - 1 ways, or none is.
    acyclic = acyclic_sums(n, {pair: ((1 << k) - 1, 1) for pair, k in Counter(edges).items()}).tolist()
    connected = [0] * (1 << n)
    for s in range(1, 1 << n, 2):
        count = acyclic[s]
        others = t = s ^ 1
        while t:
            t = (t - 1) & others  # the next smaller subset, down to none
            count -= connected[t | 1] * acyclic[others ^ t]
        connected[s] = count
    return connected[-1]


def _by_frontier(n: int, edges: Sequence[tuple[int, int]]) -> int | None:
    """Add nodes one by one, with their edges to earlier nodes; keep only the connectivity of the frontier."""
    # The frontier consists of the placed nodes with a neighbour still to come. Edge choices that give it the same
    # components and the same reachability are counted together.
    neighbours: list[set[int]] = [set() for _ in range(n)]
    between: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for u, v in edges:
        neighbours[u].add(v)
        neighbours[v].add(u)
        between[min(u, v), max(u, v)].append((u, v))
    order = _narrow_order(neighbours)
    if order is None:
        return None
    place = {node: position for position, node in enumerate(order)}
    last = [max(place[u] for u in near) for near in neighbours]  # position of the last neighbour
    # Without directed cycles, reachability need not be tracked.
    cyclic = not nx.is_directed_acyclic_graph(nx.DiGraph(edges))
    frontier: list[int] = []
    states: dict[_State, int] = {((), ()): 1}
    steps = 0
    for position, node in enumerate(order):
        for j in reversed(range(len(frontier))):
            if last[frontier[j]] < position:
                del frontier[j]
                states = _forget(states, j)
        k = len(frontier)
        states = {((*parts, k), (*reach, cyclic << k)): ways for (parts, reach), ways in states.items()}
        for j, other in enumerate(frontier):
            for u, _ in between[min(node, other), max(node, other)]:
                tail, head = (k, j) if u == node else (j, k)
                states = _choose(states, tail, head)
                steps += len(states)
                if steps > FRONTIER_STEPS:
                    return None
        frontier.append(node)
    return sum(ways for (parts, _), ways in states.items() if len(set(parts)) == 1)


def _narrow_order(neighbours: Sequence[set[int]]) -> list[int] | None:
    """Order the nodes so that the frontier stays narrow; ``None`` if it grows too wide."""
    n = len(neighbours)
    start = min(range(n), key=lambda v: len(neighbours[v]))
    order, placed = [start], {start}
    open_nodes = {start}
    while len(order) < n:
        border = {v for u in open_nodes for v in neighbours[u] if v not in placed}
        chosen = min(border, key=lambda v: (len(neighbours[v] - placed - border), len(neighbours[v] - placed), v))
        order.append(chosen)
        placed.add(chosen)
        open_nodes = {u for u in open_nodes | {chosen} if not neighbours[u] <= placed}
        if len(open_nodes) > _FRONTIER_NODES:
            return None
    return order


def _choose(states: dict[_State, int], tail: int, head: int) -> dict[_State, int]:
    """Extend every state without the edge and, if that closes no directed cycle, with it."""
    chosen: dict[_State, int] = defaultdict(int, states)
    for (parts, reach), ways in states.items():
        if reach[head] >> tail & 1:
            continue
        old, new = max(parts[tail], parts[head]), min(parts[tail], parts[head])
        joined = tuple(new if part == old else part for part in parts)
        longer = tuple(mask | reach[head] if mask >> tail & 1 else mask for mask in reach)
        chosen[joined, longer] += ways
    return chosen


def _forget(states: dict[_State, int], j: int) -> dict[_State, int]:
    """Drop a node from the frontier, and the states in which it is the last of its component: never connected."""
    kept: dict[_State, int] = defaultdict(int)
    low = (1 << j) - 1
    for (parts, reach), ways in states.items():
        others = parts[:j] + parts[j + 1 :]
        if parts[j] not in others:
            continue
        first: dict[int, int] = {}
        numbered = tuple(first.setdefault(part, len(first)) for part in others)
        masks = tuple((m & low) | (m >> 1 & ~low) for i, m in enumerate(reach) if i != j)
        kept[numbered, masks] += ways
    return kept


# Counting and enumerating the valid rollout patterns of a network, exactly.
#
# Counting is #P-hard in general. Edges on no cycle are free, self-edges must be streaming, and the blocks of the
# strongly connected components are independent: the number is a product over blocks. Every block is reduced (series,
# parallel) and then counted over subsets of its nodes, up to ``MAX_COUNTED_NODES`` nodes, or by a sweep while its
# frontier needs at most ``MAX_STATES`` states. A block beyond both is *not counted*.


@dataclass(frozen=True)
class Count(Card):
    """An exact count, or the reason why there is none.

    Attributes
    ----------
    value : int or None
        The count; ``None`` if not counted.
    reason : str
        Why it was not counted; empty if it was.
    """

    value: int | None
    reason: str = ""

    @property
    def proven(self) -> bool:
        """Whether there is a ``value``: every count is exact."""
        return self.value is not None


def count_valid(network: Network) -> int | None:
    """Count the valid rollout patterns of a network, exactly.

    Returns
    -------
    int or None
        ``None`` if a component is too large to count; :func:`count_valid_patterns` gives the reason.
    """
    return count_valid_patterns(network).value


def count_valid_patterns(network: Network) -> Count:
    """Count the valid rollout patterns of a network exactly, or give the reason why not."""
    structure = cycle_structure(network)
    free = len(structure.forward)
    if not structure.blocks:
        return Count(1 << free)
    reduced = [
        reduce_graph([(pair, (1, 1)) for pair in block.pairs], COUNTING, one_block=True) for block in structure.blocks
    ]
    value = COUNTING.product(part.factor for part in reduced)
    # Largest first, so that a block too large to count is found before time is spent on the rest.
    for block in sorted((b for part in reduced for b in part.blocks), key=len, reverse=True):
        nodes = len({n for pair in block for n in pair})
        number = count_block(block) if nodes <= MAX_COUNTED_NODES else sweep_block(block, COUNTING)
        if number is None:
            return Count(
                None,
                f"a block of {nodes} nodes and {len(block)} edges is left after reduction; counted are blocks "
                f"of at most {MAX_COUNTED_NODES} nodes, or with at most {MAX_STATES} states in a sweep",
            )
        value *= number
    return Count(value << free)


def enumerate_valid(network: Network) -> Iterator[RolloutPattern]:
    """Yield the valid rollout patterns of a network, lazily.

    Every prefix of a valid pattern can be extended (by streaming edges), so the search has no dead ends.

    Yields
    ------
    RolloutPattern
        In lexicographic order of R over the network's edges; the last one is streaming.
    """
    structure = cycle_structure(network)
    indexed = indexed_network(network)
    ends = list(zip(indexed.sources, indexed.targets, strict=True))
    on_cycle = [True] * len(ends)
    for e in structure.forward:
        on_cycle[e] = False
    graph = IncrementalOrder(indexed.n)
    values = [1] * len(ends)
    start = 0
    while True:
        for e in range(start, len(ends)):
            values[e] = int(on_cycle[e] and not graph.add(*ends[e]))
        yield RolloutPattern(network, tuple(values))
        e = len(ends) - 1
        while e >= 0 and values[e]:
            e -= 1
        if e < 0:
            return
        if on_cycle[e]:
            graph.remove(*ends[e])
        values[e] = 1
        start = e + 1


def every_choice(free: Sequence[int], n_edges: int, start: int, stop: int) -> NDArray[np.uint8]:
    """List patterns in the order of enumeration if every choice on the free edges is valid."""
    # free: edges that may be either, ascending; all others stream
    # shapes: returns (stop - start, n_edges)
    number = np.arange(start, stop, dtype=np.int64)
    values = np.ones((len(number), n_edges), np.uint8)
    for place, e in enumerate(reversed(free)):
        values[:, e] = (number >> place) & 1
    return values
