"""Phases with fewest relays are as hard as vertex covers and cuts (docs/theorems)."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout.schedule.rollout import Rollout


def fewest_relays(network, tree, longest, period):
    """Over all phases, streaming: as many as the longest delay of every source needs, and as all delays need."""
    # the first node is at 0, as only differences count; over an edge with one back they are below the period
    steps = np.array(list(product(range(1 - period, period), repeat=len(tree))), np.int64).T
    phases = {"n0": np.zeros(steps.shape[1], np.int64)}
    for (u, v), step in zip(tree, steps, strict=True):
        phases[f"n{v}"] = phases[f"n{u}"] + step
    legal, relays, unshared = True, dict.fromkeys(phases, 0), 0
    for u, v in network.edges:
        # the input has one edge and is sampled one step before its target
        if u in phases:
            delay = phases[v] - phases[u] + period
            legal = legal & (delay >= 1)
            relays[u] = np.maximum(relays[u], -(-delay // longest) - 1)
            unshared = unshared + -(-delay // longest) - 1
    return int(sum(relays.values())[legal].min()), int(unshared[legal].min())


def vertex_cover(n, pairs):
    sets = (set(chosen) for k in range(n + 1) for chosen in combinations(range(n), k))
    return len(next(chosen for chosen in sets if all(u in chosen or v in chosen for u, v in pairs)))


def uncut(n, pairs, colours):
    """The fewest edges whose ends have one colour."""
    return min(sum(chosen[u] == chosen[v] for u, v in pairs) for chosen in product(range(colours), repeat=n))


@st.composite
def connected_graphs(draw, n):
    """A spanning tree, and all edges."""
    tree = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    return tree, sorted({*tree} | draw(st.sets(st.sampled_from(list(combinations(range(n), 2))))))


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_fewest_relays_are_a_least_vertex_cover_and_unshared_a_greatest_cut(data):
    longest = data.draw(st.integers(2, 4))
    n = data.draw(st.integers(2, 6 if longest == 2 else 5 if longest == 3 else 4))
    tree, pairs = data.draw(connected_graphs(n))
    edges = [(f"n{u}", f"n{v}") for pair in pairs for u, v in (pair, pair[::-1])]
    network = Network.from_edges([("I", "n0"), *edges])
    assert Rollout(network, "streaming", f"pipelined:{longest + 1}").frame_period == longest + 1
    shared, unshared = fewest_relays(network, tree, longest, longest + 1)
    assert shared == vertex_cover(n, pairs)
    assert unshared == len(pairs) + uncut(n, pairs, longest)
