"""Stars are laid out at least cost: held against all layouts of small ones, and against what is searched."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.mapping.place.board import board_for, cost, wiring
from neuromap.mapping.place.place import star_layout


def star(weights):
    """Wires of the leaves 1, 2, ... to core 0."""
    leaves = np.repeat(np.arange(1, len(weights) + 1), weights)
    return leaves, np.zeros_like(leaves)


@settings(deadline=None, max_examples=20)
@given(weights=st.lists(st.integers(1, 9), min_size=1, max_size=4), alone=st.integers(0, 1))
def test_no_layout_of_a_star_is_cheaper(chip, weights, alone):
    n = 1 + len(weights) + alone
    spec = chip(cores=(5, 5))
    graph, board = wiring(n, star(weights)), board_for(n, spec, None)
    found = star_layout(graph, board)
    assert found is not None
    assert len(np.unique(found, axis=0)) == n
    places = [(x, y) for x in range(3) for y in range(3)]
    wired = 1 + len(weights)
    small = wiring(wired, star(weights))
    least = min(cost(np.array(layout), small, board) for layout in permutations(places, wired))
    assert cost(found, graph, board) == pytest.approx(least)


def test_what_is_no_star_is_searched(chip):
    spec = chip(cores=(5, 5))
    two_hubs = (np.array([1, 2, 3]), np.array([0, 0, 1]))
    assert star_layout(wiring(4, two_hubs), board_for(4, spec, None)) is None
