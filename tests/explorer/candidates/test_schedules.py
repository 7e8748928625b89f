"""Times of many patterns at once equal those of ``Rollout``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.explorer.candidates.pattern_space import pattern_space
from neuromap.explorer.candidates.schedules import graph_of, schedules_of


def check(net, values, execution):
    graph = graph_of(net)
    found = schedules_of(graph, values, execution)
    for k, row in enumerate(values.tolist()):
        rollout = nm.Rollout(net, nm.RolloutPattern(net, tuple(row)), execution)
        assert found.period[k] == rollout.frame_period
        assert found.phases[k].tolist() == list(rollout.phases.values())
        assert found.delays[k].tolist() == list(rollout.delays.values())
        assert found.first[k] == min(rollout.first_responses.values())
        assert found.slowest[k] == rollout.slowest_response()
        assert found.full[k] == max(full.steps for full in rollout.full_responses.values())
        assert found.exact[k] == all(full.is_exact for full in rollout.full_responses.values())
    return graph


@st.composite
def ordered_networks(draw):
    """No cycle but self-edges; nodes in any order, several inputs and outputs."""
    n = draw(st.integers(2, 7))
    n_inputs = draw(st.integers(1, min(3, n - 1)))
    edges = {(draw(st.integers(0, v - 1)), v) for v in range(n_inputs, n)}
    edges |= {(u, draw(st.integers(n_inputs, n - 1))) for u in range(n_inputs)}
    pairs = st.tuples(st.integers(0, n - 1), st.integers(n_inputs, n - 1)).filter(lambda pair: pair[0] <= pair[1])
    edges |= set(draw(st.lists(pairs, max_size=8)))
    label = draw(st.permutations(range(n)))
    chosen = draw(st.permutations(sorted(edges)))
    outputs = draw(st.lists(st.sampled_from(range(n_inputs, n)), unique=True))
    return nm.Network.from_edges(
        [(f"n{label[u]}", f"n{label[v]}") for u, v in chosen], outputs=[f"n{label[o]}" for o in outputs]
    )


@settings(deadline=None, max_examples=150)
@given(data=st.data())
@pytest.mark.parametrize("execution", ["windowed", "pipelined"])
def test_one_order_serves_all_patterns(execution, data):
    net = data.draw(ordered_networks())
    space = pattern_space(graph_of(net), [nm.RolloutPattern.streaming(net)])
    values = np.concatenate(list(space.chunks()))
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=20, unique=True))
    assert check(net, values[rows], execution).is_ordered


@settings(deadline=None, max_examples=100)
@given(data=st.data())
@pytest.mark.parametrize("execution", ["windowed", "pipelined"])
def test_networks_with_cycles(execution, data, networks):
    net = data.draw(networks(most_inner=5, most_extra=6, most_edges=9))
    space = pattern_space(graph_of(net), [nm.RolloutPattern.streaming(net)])
    values = np.concatenate(list(space.chunks()))
    check(net, values[:: max(1, len(values) // 10)], execution)


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_streaming_is_fastest_in_update_steps(data, networks):
    """No pattern in any execution responds earlier, or samples more often."""
    net = data.draw(networks(most_inner=5, most_edges=8))
    graph = graph_of(net)
    space = pattern_space(graph, [nm.RolloutPattern.streaming(net)])
    values = np.concatenate(list(space.chunks()))
    best = schedules_of(graph, np.ones((1, len(net.edges)), np.uint8), "windowed")
    assert best.period[0] == 1
    for execution in ("windowed", "pipelined"):
        found = schedules_of(graph, values, execution)
        assert (found.delays >= 1).all()
        assert (found.first >= best.first[0]).all()
        assert (found.slowest >= best.slowest[0]).all()
        assert (found.full >= best.full[0]).all()
        assert (found.slowest + found.period >= best.slowest[0] + 1).all()
        assert (found.period >= 1).all()


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_windows_are_no_quicker_than_the_pipeline(data, networks):
    """F is at least the pipelined period of the class."""
    net = data.draw(networks(most_inner=5, most_edges=8))
    graph = graph_of(net)
    values = np.concatenate(list(pattern_space(graph, [nm.RolloutPattern.streaming(net)]).chunks()))
    windowed, pipelined = (schedules_of(graph, values, execution).period for execution in ("windowed", "pipelined"))
    assert (windowed >= pipelined).all()


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_a_space_holds_every_valid_pattern_once(data, networks):
    net = data.draw(networks(most_inner=5, most_extra=6, most_edges=9))
    space = pattern_space(graph_of(net), [nm.RolloutPattern.streaming(net)])
    found = [tuple(row) for chunk in space.chunks() for row in chunk.tolist()]
    assert sorted(found) == [pattern.values for pattern in nm.rollout.enumerate_valid(net)]
    assert space.is_complete
    assert space.n_patterns == space.n_valid == len(found)


@settings(deadline=None, max_examples=60)
@given(data=st.data(), most=st.integers(1, 12))
def test_a_sample_holds_valid_patterns_and_the_seeds(data, most, networks):
    net = data.draw(networks(most_inner=5, most_extra=6, most_edges=9))
    seeds = [nm.RolloutPattern.streaming(net)]
    space = pattern_space(graph_of(net), seeds, ordered=0, listed=most)
    found = [tuple(row) for chunk in space.chunks() for row in chunk.tolist()]
    assert seeds[0].values in found
    assert len(set(found)) == len(found) <= max(most, 1)
    assert all(nm.RolloutPattern(net, values).is_valid for values in found)
    assert space.is_complete == (len(found) == space.n_valid)
