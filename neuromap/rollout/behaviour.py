"""Behaviour classes of patterns, and counts of valid patterns.

Two patterns R, R' of a network are *equivalent* iff integers rho(v) exist, 0 on all inputs, with
R'(u, v) = R(u, v) + rho(v) - rho(u) on every edge from which a path leads to an output. There x'_v[i] = x_v[i - rho(v)]
solves the equations of R' (Leiserson and Saxe's retiming); the rest of the network does not matter. Definition and
examples: ``docs/behaviour-classes.md``; proofs: ``docs/theorems/same-function.md``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

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
    neighbours_of,
    node_numbers,
    sweep,
    sweep_block,
)
from neuromap.rollout.cycles.indexed_network import COUNTING, Pair, indexed_network, reduce_graph, split_at_nodes
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
    q = RolloutPattern.from_values(p.network, dict(q.items()))  # edges in the order of p
    if _shifted(p) != _shifted(q):
        return None
    nodes = zip(p.network.nodes, _shifts(p), _shifts(q), indexed_network(p.network).reaches_output, strict=True)
    return {name: mine - its for name, mine, its, seen in nodes if seen}


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
        index = node_numbers(map(sorted, block))
        yield len(index), [(index[u], index[v]) for u, v in block]


def _shifts(pattern: RolloutPattern) -> list[int]:
    """Shift of every node that makes the spanning forest sequential."""
    graph = indexed_network(pattern.network)
    shift = [0] * graph.n
    for e in graph.tree:
        shift[graph.targets[e]] = shift[graph.sources[e]] - pattern.values[e]
    return shift


def _shifted(pattern: RolloutPattern) -> tuple[int, ...]:
    """R of the edges that the outputs see, shifted so that the spanning forest is sequential."""
    graph, shift = indexed_network(pattern.network), _shifts(pattern)
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


def connected_acyclic_sets(n: int, edges: Sequence[tuple[int, int]]) -> int | None:
    """Count the edge sets that have no directed cycle and, directions disregarded, connect all nodes."""
    # gives ``None`` where the graph is too large and too dense
    if n == 2:
        forward = sum(u < v for u, v in edges)
        return (1 << forward) + (1 << (len(edges) - forward)) - 2
    # Of k parallel edges, some are chosen in one of 2^k - 1 ways, or none is.
    weights = {pair: ((1 << k) - 1, 1) for pair, k in Counter(edges).items()}
    return _by_subsets(n, weights) if n <= SUBSET_NODES else _by_frontier(n, weights)


def _by_subsets(n: int, weights: dict[Pair, tuple[int, int]]) -> int:
    """For every node set s with node 0, count all acyclic edge sets minus those that do not connect s."""
    # An edge set that does not connect s splits it into the component of node 0, on t and node 0, and the rest.
    acyclic = acyclic_sums(n, weights).tolist()
    connected = [0] * (1 << n)
    for s in range(1, 1 << n, 2):
        count = acyclic[s]
        others = t = s ^ 1
        while t:
            t = (t - 1) & others  # the next smaller subset, down to none
            count -= connected[t | 1] * acyclic[others ^ t]
        connected[s] = count
    return connected[-1]


def _by_frontier(n: int, weights: dict[Pair, tuple[int, int]]) -> int | None:
    """Add nodes one by one, with their edges to earlier nodes; keep only the connectivity of the frontier."""
    # The frontier consists of the placed nodes with a neighbour still to come. Edge choices that give it the same
    # components and the same reachability are counted together.
    neighbours = [set(near) for _, near in sorted(neighbours_of(weights).items())]
    order = _narrow_order(neighbours)
    return None if order is None else sweep(weights, COUNTING, order, FRONTIER_STEPS, FRONTIER_STEPS, connected=True)


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
