"""Behaviour classes: which rollout patterns compute the same function up to a shift by whole frames.

Two patterns R, R' of a network are *equivalent* iff integers rho(v) exist, 0 on all inputs, with
R'(u, v) = R(u, v) + rho(v) - rho(u) on every edge from which a path leads to an output. There x'_v[i] = x_v[i - rho(v)]
solves the equations of R' (Leiserson and Saxe's retiming); what no output depends on does not matter. Definition and
examples: ``docs/behaviour-classes.md``; proofs: ``docs/theorems/same-function.md``.
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
    """Decide whether two patterns compute the same function of the outputs, up to a shift by whole frames.

    Linear in the number of edges: the shift is followed along the edges from the inputs, then checked.

    Parameters
    ----------
    p, q : RolloutPattern
        Valid patterns of one network.

    Returns
    -------
    dict of str to int, or None
        For every node on which an output depends the frames rho(v) by which q is later than p: frame i of v under q
        is frame i - rho(v) under p, with rho = 0 on inputs. ``None`` where the patterns are not equivalent.

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
    shift = dict.fromkeys(p.network.inputs, 0)
    for u, v in (edges[e] for e in graph.tree):
        shift[v] = shift[u] + q[u, v] - p[u, v]
    if any(q[u, v] - p[u, v] != shift[v] - shift[u] for u, v in (edges[e] for e in graph.seen)):
        return None
    return {name: shift[name] for name, seen in zip(p.network.nodes, graph.reaches_output, strict=True) if seen}


def class_key(pattern: RolloutPattern) -> tuple[int, ...]:
    """Tell the behaviour class of a pattern: two patterns of one network have equal keys iff they are equivalent."""
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
    classes: dict[tuple[int, ...], list[RolloutPattern]] = {
        _shifted(p): [] for p in named if p.is_valid and not p.bridging_edges
    }
    for pattern in patterns:
        classes.setdefault(_shifted(pattern), []).append(pattern)
    return list(classes.values())


def count_behaviour_classes(network: Network) -> int | None:
    """Count the behaviour classes of a network's valid patterns, without listing them.

    Their number equals the number of sets of edges that are acyclic and, all inputs taken as one node,
    connect every node, in the part of the network that reaches an output: a variant of Gioan's theorem on cocycle
    reversal classes (E. Gioan, Enumerating degree sequences in digraphs and a cycle-cocycle reversing system, 2007);
    proof in ``docs/theorems/number-of-classes.md``. The count is the product over the blocks of that part.

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
    """Blocks of what the outputs see, all inputs taken as one node: number of nodes, and edges between them."""
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
