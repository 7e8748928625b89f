"""Random networks and patterns that the tests of rollouts share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout.patterns.pattern import RolloutPattern


@st.composite
def _rollouts(draw, max_nodes=6, max_extra=8):
    """A random network (cycles, self-edges, skips, several inputs) and one of its valid patterns."""
    n = draw(st.integers(2, max_nodes))
    n_inputs = draw(st.integers(1, min(3, n - 1)))
    edges = {(draw(st.integers(0, v - 1)), v): None for v in range(n_inputs, n)}
    for u in range(n_inputs):
        edges[u, draw(st.integers(n_inputs, n - 1))] = None
    pairs = st.tuples(st.integers(0, n - 1), st.integers(n_inputs, n - 1))
    edges.update(dict.fromkeys(draw(st.lists(pairs, max_size=max_extra))))
    order = draw(st.permutations(range(n)))
    bits = draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges)))
    values = [int(bit or order[u] >= order[v]) for (u, v), bit in zip(edges, bits, strict=True)]
    net = Network.from_edges((f"n{u}", f"n{v}") for u, v in edges)
    return net, RolloutPattern(net, tuple(values))


@pytest.fixture(scope="session")
def rollouts() -> Callable[..., st.SearchStrategy[tuple[Network, RolloutPattern]]]:
    """The strategy of networks with a valid pattern each: ``data.draw(rollouts(max_nodes=7))``."""
    return _rollouts
