"""Random networks and patterns that the tests of rollouts share."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern


@st.composite
def _rollouts(draw, max_nodes=6, max_extra=8, most=3):
    """A random network (cycles, self-edges, skips, several inputs) and one of its valid patterns, R up to a number."""
    n = draw(st.integers(2, max_nodes))
    n_inputs = draw(st.integers(1, min(3, n - 1)))
    edges = {(draw(st.integers(0, v - 1)), v): None for v in range(n_inputs, n)}
    for u in range(n_inputs):
        edges[u, draw(st.integers(n_inputs, n - 1))] = None
    pairs = st.tuples(st.integers(0, n - 1), st.integers(n_inputs, n - 1))
    edges.update(dict.fromkeys(draw(st.lists(pairs, max_size=max_extra))))
    net = Network.from_edges((f"n{u}", f"n{v}") for u, v in edges)
    return net, draw(_valid_patterns(net, most))


@st.composite
def _valid_patterns(draw, net, most=1):
    """Any valid pattern of a network: its edges against a random order of the nodes have R >= 1, others as drawn."""
    rank = {v: k for k, v in enumerate(draw(st.permutations(list(net.nodes))))}
    bits = draw(st.lists(st.booleans(), min_size=len(net.edges), max_size=len(net.edges)))
    values = [int(bit or rank[u] >= rank[v]) for (u, v), bit in zip(net.edges, bits, strict=True)]
    bridged = draw(st.lists(st.integers(1, most), min_size=len(values), max_size=len(values)))
    return RolloutPattern(net, tuple(r * more for r, more in zip(values, bridged, strict=True)))


@st.composite
def _with_outputs(draw, drawn):
    """The same with any outputs, so that some nodes may reach none."""
    net, pattern = draw(drawn)
    outputs = draw(st.lists(st.sampled_from([v for v in net.nodes if v not in net.inputs]), unique=True))
    net = Network.from_edges(net.edges, outputs=outputs)
    return net, RolloutPattern(net, pattern.values)


@st.composite
def _relatives(draw, pattern):
    """A pattern of the same class: nodes moved by a frame, again and again; any values where no output sees them."""
    net, most = pattern.network, max(1, *pattern.values)
    values = dict(pattern.items())
    for moved in draw(st.lists(st.sets(st.sampled_from([v for v in net.nodes if v not in net.inputs])), max_size=5)):
        for sign in draw(st.permutations((-1, 1))):
            after = {(u, v): r + sign * ((v in moved) - (u in moved)) for (u, v), r in values.items()}
            values = after if set(after.values()) <= set(range(most + 1)) else values
    seen = set(net.outputs)
    for _ in net.nodes:
        seen |= {u for u, v in net.edges if v in seen}
    other = draw(_valid_patterns(net))
    values = {(u, v): r if v in seen else other[u, v] for (u, v), r in values.items()}
    return RolloutPattern(net, tuple(values.values()))


@st.composite
def _digraphs(draw, largest=6, most=10, loops=True):
    """Edges of a random directed graph, as pairs of integers."""
    n = draw(st.integers(2, largest))
    pairs = [(u, v) for u in range(n) for v in range(n) if loops or u != v]
    return draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=most, unique=True))


@st.composite
def _cyclic_networks(draw):
    """A random network of few nodes and, mostly, many cycles."""
    n = draw(st.integers(2, 5))
    pairs = [(f"n{u}", f"n{v}") for u in range(n) for v in range(n)]
    inner = draw(st.lists(st.sampled_from(pairs), max_size=9, unique=True))
    touched = sorted({v for p in inner for v in p} | {"n0"})
    return Network.from_edges(draw(st.permutations([("I", touched[0]), *inner] + [("J", v) for v in touched])))


@pytest.fixture(scope="session")
def rollouts() -> Callable[..., st.SearchStrategy[tuple[Network, RolloutPattern]]]:
    """The strategy of networks with a valid pattern each: ``data.draw(rollouts(max_nodes=7))``."""
    return _rollouts


@pytest.fixture(scope="session")
def valid_patterns() -> Callable[[Network], st.SearchStrategy[RolloutPattern]]:
    """The strategy of the valid patterns of a network: ``data.draw(valid_patterns(net))``."""
    return _valid_patterns


@pytest.fixture(scope="session")
def with_outputs() -> Callable[..., st.SearchStrategy[tuple[Network, RolloutPattern]]]:
    """The strategy of the same rollouts with any outputs: ``data.draw(with_outputs(rollouts(max_nodes=7)))``."""
    return _with_outputs


@pytest.fixture(scope="session")
def relatives() -> Callable[[RolloutPattern], st.SearchStrategy[RolloutPattern]]:
    """The strategy of the patterns of a pattern's class: ``data.draw(relatives(pattern))``."""
    return _relatives


@pytest.fixture(scope="session")
def digraphs() -> Callable[..., st.SearchStrategy[list[tuple[int, int]]]]:
    """The strategy of directed graphs as lists of edges: ``data.draw(digraphs(largest=6, loops=False))``."""
    return _digraphs


@pytest.fixture(scope="session")
def cyclic_networks() -> Callable[..., st.SearchStrategy[Network]]:
    """The strategy of networks with many cycles: ``data.draw(cyclic_networks())``."""
    return _cyclic_networks


@pytest.fixture(scope="session")
def large_edges() -> Callable[..., list[tuple[int, int]]]:
    """Ten random edges a node between n nodes, of which node 0 reaches all; with cycles or without."""

    def make(rng: random.Random, cyclic: bool, n: int = 10_000) -> list[tuple[int, int]]:
        edges = {(rng.randrange(v), v): None for v in range(1, n)}
        while len(edges) < 10 * n:
            u, v = rng.randrange(n), rng.randrange(1, n)
            if cyclic or u < v:
                edges[u, v] = None
        return list(edges)

    return make


@pytest.fixture(scope="session")
def large_rollout(large_edges) -> Callable[[bool], tuple[Network, RolloutPattern]]:
    """A network of those edges, with cycles or without, and one of its patterns: a mixed one."""

    @cache
    def make(cyclic: bool) -> tuple[Network, RolloutPattern]:
        rng = random.Random(2018)
        edges = large_edges(rng, cyclic)
        net = Network.from_edges([(str(u), str(v)) for u, v in edges], outputs=["9999"])
        return net, RolloutPattern(net, tuple(int(u >= v or rng.random() < 0.2) for u, v in edges))

    return make
