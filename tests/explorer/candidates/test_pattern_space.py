"""How many patterns of networks with longer cycles are looked at."""

from __future__ import annotations

import numpy as np
import pytest

import neuromap as nm
from neuromap.explorer.candidates.pattern_space import affordable_patterns, pattern_space
from neuromap.explorer.candidates.schedules import graph_of
from neuromap.network import build_network


def all_joined(n):
    """An input and n nodes, each of which leads to all others."""
    inner = [f"H{k}" for k in range(n)]
    edges = [("I", "H0"), *((a, b) for a in inner for b in inner if a != b)]
    nodes = {"I": ((1, 1, 1), None), **dict.fromkeys(inner, ((1, 1, 1), 1))}
    return build_network(nodes, {edge: np.ones((1, 1), int) for edge in edges}, outputs=["H1"])


def test_the_denser_the_fewer():
    numbers = [affordable_patterns(all_joined(n)) for n in (2, 3, 6, 8, 10, 14, 16)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] == 20_000  # sparse ones are not cut
    assert min(numbers) == 150


@pytest.mark.parametrize("n", [6, 8])
def test_dense_networks_are_sampled_within_the_budget(n):
    net = all_joined(n)
    n_edges, in_block = len(net.edges), n * (n - 1)
    space = pattern_space(graph_of(net), [nm.RolloutPattern.streaming(net)])
    assert not space.is_complete
    assert space.n_patterns * (25 * n_edges + in_block**3 / 25) <= 20e6
    assert space.n_patterns == affordable_patterns(net)
