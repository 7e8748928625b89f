"""The best pattern of a behaviour class, against all patterns of the class."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import PatternError
from neuromap.network.network import Network
from neuromap.rollout import behaviour_classes, best_in_class, equivalent, maximum_cycle_ratio
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.node_times import pipelined_period


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_no_listed_pattern_of_the_class_has_a_smaller_factor(rollouts, with_outputs, data):
    net, _ = data.draw(with_outputs(rollouts(max_nodes=7, max_extra=5)))
    for patterns in behaviour_classes(net):
        found = best_in_class(data.draw(st.sampled_from(patterns)))
        assert found in patterns
        assert found.inference_factor == min(p.inference_factor for p in patterns)
        assert best_in_class(patterns[0]) == best_in_class(patterns[-1]) == found


def bridging_patterns(pattern, most):
    """All patterns of a class with R up to a number, by every shift of every node."""
    net = pattern.network
    free = [v for v in net.nodes if v not in net.inputs]
    reach = range(-max(pattern.values) * len(free), most * len(free) + 1)  # sums of R along paths
    for shifts in product(reach, repeat=len(free)):
        rho = dict.fromkeys(net.inputs, 0) | dict(zip(free, shifts, strict=True))
        values = [r + rho[v] - rho[u] for (u, v), r in pattern.items()]
        if min(values) >= 0 and max(values) <= most:
            yield RolloutPattern(net, tuple(values))


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=1000)
def test_bridging_reaches_the_pipelined_period_and_nothing_less(rollouts, with_outputs, relatives, data):
    _, pattern = data.draw(with_outputs(rollouts(max_nodes=9, max_extra=8)))
    found = best_in_class(pattern, bridging=True)
    assert equivalent(pattern, found) is not None
    assert found.is_valid
    assert found.inference_factor == pipelined_period(maximum_cycle_ratio(found))
    assert best_in_class(data.draw(relatives(pattern)), bridging=True) == found


@pytest.mark.theorem
@given(data=st.data())
@settings(deadline=None, max_examples=300)
def test_no_bridging_pattern_of_the_class_has_a_smaller_factor_or_bridges_less(rollouts, data):
    _, pattern = data.draw(rollouts(max_nodes=4, max_extra=4))
    found = best_in_class(pattern, bridging=True)
    others = list(bridging_patterns(pattern, 2))
    assert all(p.inference_factor >= found.inference_factor for p in others)
    best = [p for p in others if p.inference_factor == found.inference_factor]
    assert max(found.values) == min((max(p.values) for p in best), default=max(found.values))


def test_a_skip_edge_bridges_what_the_chain_beside_it_streams():
    chain = [("I", "A"), ("A", "B"), ("B", "C"), ("C", "O")]
    net = Network.from_edges([*chain, ("I", "O")])
    sequential = RolloutPattern.sequential(net)
    assert best_in_class(sequential).values == (0, 0, 1, 0, 1)
    best = best_in_class(sequential, bridging=True)
    assert dict(best.items()) == {**dict.fromkeys(chain[1:], 1), ("I", "A"): 0, ("I", "O"): 3}
    assert (best.inference_factor, best_in_class(sequential).inference_factor) == (1, 2)


def test_what_has_no_best_pattern_is_refused():
    net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O")])
    with pytest.raises(PatternError, match="no pattern of its behaviour class has R of 0 and 1 only; give bridging"):
        best_in_class(RolloutPattern(net, (0, 0, 3)))
    with pytest.raises(PatternError, match="best_in_class"):
        best_in_class("streaming")


@pytest.mark.thorough
def test_a_large_network_is_answered_at_once(large_rollout):
    _, pattern = large_rollout(False)
    assert best_in_class(pattern, bridging=True).inference_factor == 1
    assert best_in_class(pattern).inference_factor <= pattern.inference_factor
