"""The search for paths that visit no node twice: every path of networkx, interpreted and compiled alike."""

import itertools

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.rollout.indexed_pattern import SimpleWalk

NONE = -(2**60)


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 7))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), unique=True, max_size=18))
    weights = {(u, v): draw(st.integers(-4, 4)) for u, v in pairs if u != v}
    out = [[(v, weight) for (u, v), weight in sorted(weights.items()) if u == node] for node in range(n)]
    return out, weights, draw(st.lists(st.sampled_from([NONE, -3, 0, 5]), min_size=n, max_size=n))


@given(graph=graphs(), compiled=st.booleans())
@settings(deadline=None, max_examples=150)
def test_the_best_of_all_paths_is_found(graph, compiled):
    out, weights, entering = graph
    drawn = nx.DiGraph(list(weights))
    drawn.add_nodes_from(range(len(out)))
    expected = [NONE] * len(out)
    for start, end in itertools.permutations(range(len(out)), 2):
        for path in nx.all_simple_paths(drawn, start, end) if entering[start] != NONE else ():
            expected[end] = max(expected[end], entering[start] + sum(weights[e] for e in itertools.pairwise(path)))
    found, left = SimpleWalk(out, NONE).best(entering, 100_000, compiled=compiled)
    assert (found, left >= 0) == (expected, True)


@given(graph=graphs(), steps=st.integers(0, 60))
@settings(deadline=None, max_examples=60)
def test_it_ends_at_the_same_step_interpreted_and_compiled(graph, steps):
    out, _, entering = graph
    walk = SimpleWalk(out, NONE)
    assert walk.best(entering, steps) == walk.best(entering, steps, compiled=True)
