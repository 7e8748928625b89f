"""Theorem 1: its four statements are true together or false together."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import PatternError
from neuromap.network.network import Network
from neuromap.rollout.behaviour import enumerate_valid
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.theorem1 import check_theorem1, least_tableau


@st.composite
def networks(draw):
    n = draw(st.integers(1, 4))
    pairs = [(f"n{u}", f"n{v}") for u in range(n) for v in range(n)]
    inner = draw(st.lists(st.sampled_from(pairs), max_size=7, unique=True))
    touched = sorted({v for p in inner for v in p} | {"n0"})
    fed = draw(st.sets(st.sampled_from(touched)))
    edges = [("I", v) for v in touched if v in fed or not any(p[1] == v and p[0] < v for p in inner)]
    return Network.from_edges(draw(st.permutations(edges + inner)))


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(1, 4), st.data())
def test_the_four_statements_are_equivalent(net, window, data):
    valid = list(enumerate_valid(net))
    for p in {RolloutPattern.streaming(net), data.draw(st.sampled_from(valid)), valid[0]}:
        by_brute_force = check_theorem1(p, window, others=valid)
        assert by_brute_force.agrees
        assert check_theorem1(p, window) == by_brute_force


@settings(max_examples=40, deadline=None)
@given(networks(), st.integers(1, 5))
def test_streaming_reaches_the_least_tableau_and_no_pattern_beats_it(net, window):
    streaming = RolloutPattern.streaming(net)
    least = least_tableau(streaming, window)
    assert streaming.tableau(window) == least
    for p in enumerate_valid(net):
        assert all(t >= least[n] for n, t in p.tableau(window).items())


def test_only_edges_of_inputs_may_differ():
    net = Network.from_edges([("I", "a"), ("a", "b"), ("I", "b"), ("b", "b")])
    from_inputs = RolloutPattern.from_streaming_edges(net, [("a", "b"), ("b", "b")])
    assert check_theorem1(from_inputs).statements == (True, True, True, True)
    sequential = RolloutPattern.sequential(net)
    assert check_theorem1(sequential).statements == (False, False, False, False)


def test_invalid_patterns_are_refused():
    net = Network.from_edges([("I", "a"), ("a", "a")])
    with pytest.raises(PatternError, match="a -> a"):
        check_theorem1(RolloutPattern.from_streaming_edges(net, []))
