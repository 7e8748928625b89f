"""Behaviour classes: which rollout patterns compute the same function up to a shift by whole frames.

Two patterns R, R' of a network are *equivalent* iff integers rho(v) exist, 0 on all inputs, with
R'(u, v) = R(u, v) + rho(v) - rho(u) on every edge. Then x'_v[i] = x_v[i - rho(v)] solves the equations of R'
(Leiserson and Saxe's retiming). Definition, proofs and examples: ``docs/behaviour-classes.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from neuromap.errors import InputError, PatternError
from neuromap.files.given import needs
from neuromap.network.network import Network
from neuromap.rollout.cycles.blocks import split_at_nodes
from neuromap.rollout.cycles.indexed_network import indexed_network
from neuromap.rollout.patterns.class_count import connected_acyclic_sets
from neuromap.rollout.patterns.counting import enumerate_valid
from neuromap.rollout.patterns.pattern import RolloutPattern

__all__ = ["PATTERN_LIMIT", "behaviour_classes", "class_key", "count_behaviour_classes", "equivalent"]

PATTERN_LIMIT = 100_000
"""Networks with more valid patterns are not enumerated unless the caller says so."""


def equivalent(p: RolloutPattern, q: RolloutPattern) -> dict[str, int] | None:
    """Decide whether two patterns compute the same function up to a shift by whole frames.

    Linear in the number of edges: the shift is followed along the edges from the inputs, then checked.

    Parameters
    ----------
    p, q : RolloutPattern
        Valid patterns of one network.

    Returns
    -------
    dict of str to int, or None
        For every node the frames rho(v) by which q is later than p: frame i of v under q is frame i - rho(v)
        under p, with rho = 0 on inputs. ``None`` where the patterns are not equivalent.

    Raises
    ------
    PatternError
        If a pattern is invalid (the message names the cycle), or the patterns belong to different networks.
    """
    needs("equivalent", p, RolloutPattern, PatternError)
    needs("equivalent", q, RolloutPattern, PatternError)
    if p.network is not q.network and set(p.network.edges) != set(q.network.edges):
        raise PatternError(
            f"patterns of networks {p.network.name} and {q.network.name}: the networks have different edges; "
            "compare patterns of one network"
        )
    p.require_valid()
    q.require_valid()
    shift = dict.fromkeys(p.network.inputs, 0)
    edges = tuple(p.network.edges)
    for u, v in (edges[e] for e in indexed_network(p.network).tree):
        shift[v] = shift[u] + q[u, v] - p[u, v]
    if any(q[u, v] - r != shift[v] - shift[u] for (u, v), r in p.items()):
        return None
    return {name: shift[name] for name in p.network.nodes}


def class_key(pattern: RolloutPattern) -> tuple[int, ...]:
    """Tell the behaviour class of a pattern: two patterns of one network have equal keys iff they are equivalent.

    The key is R after the shift that makes a spanning tree sequential, one number per edge; linear in their number.

    Raises
    ------
    PatternError
        If the pattern is invalid; the message names the cycle.
    """
    pattern.require_valid()
    return _shifted(pattern)


def behaviour_classes(network: Network, *, limit: int = PATTERN_LIMIT) -> list[list[RolloutPattern]]:
    """All valid patterns of a network, grouped by what they compute.

    Parameters
    ----------
    network : Network
        The network.
    limit : int
        Greatest number of valid patterns to enumerate.

    Returns
    -------
    list of list of RolloutPattern
        Every valid pattern once: class number 1 first (:mod:`neuromap.rollout.patterns.class_numbers`), the patterns
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
    classes: dict[tuple[int, ...], list[RolloutPattern]] = {_shifted(p): [] for p in named if p.is_valid}
    for pattern in patterns:
        classes.setdefault(_shifted(pattern), []).append(pattern)
    return list(classes.values())


def count_behaviour_classes(network: Network) -> int | None:
    """Count the behaviour classes of a network's valid patterns, without listing them.

    Their number equals the number of sets of edges that are acyclic and, all inputs taken as one node,
    connect every node: a variant of Gioan's theorem on cocycle reversal classes (E. Gioan, Enumerating
    degree sequences in digraphs and a cycle-cocycle reversing system, 2007); proof in
    ``docs/behaviour-classes.md``. The count is the product over the blocks of the network.

    Returns
    -------
    int or None
        Exact; ``None`` where a block is too large and too dense (more than
        :data:`~neuromap.rollout.patterns.class_count.SUBSET_NODES` nodes and too many partial states).
    """
    count = 1
    for n, edges in _merged_blocks(network):
        ways = connected_acyclic_sets(n, edges)
        if ways is None:
            return None
        count *= ways
    return count


def _merged_blocks(network: Network) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Blocks of the network with all inputs taken as one node: number of nodes, and edges between them.

    Self-edges are left out: they stream in every valid pattern and in every shift of it.
    """
    number = dict.fromkeys(network.inputs, 0)
    for name in network.nodes:
        number.setdefault(name, len(number))
    pairs = ((number[u], number[v]) for u, v in network.edges)
    for block in split_at_nodes((u, v) for u, v in pairs if u != v):
        block.sort(key=sorted)  # by its two nodes, whichever way the edge leads
        index: dict[int, int] = {}
        for pair in block:
            for n in sorted(pair):
                index.setdefault(n, len(index))
        yield len(index), [(index[u], index[v]) for u, v in block]


def _shifted(pattern: RolloutPattern) -> tuple[int, ...]:
    """R shifted so that the spanning tree is sequential."""
    graph = indexed_network(pattern.network)
    shift = [0] * graph.n
    for e in graph.tree:
        shift[graph.targets[e]] = shift[graph.sources[e]] - pattern.values[e]
    return tuple(r + shift[v] - shift[u] for u, v, r in zip(graph.sources, graph.targets, pattern.values, strict=True))
