"""Numbers of behaviour classes: by the rule, and of the network only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout import class_numbers as numbering
from neuromap.rollout.behaviour import behaviour_classes, class_key, enumerate_valid, equivalent
from neuromap.rollout.class_numbers import all_class_numbers, class_numbers
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.phases import best_in_class

EDGES = [("I", "A"), ("I", "B"), ("A", "B"), ("B", "A"), ("A", "O"), ("B", "O"), ("I", "O")]


def by_the_rule(network):
    """The number of every valid pattern's class, found one pattern after the other."""
    named = (RolloutPattern.named(network, name) for name in ("streaming", "sequential", *network.patterns))
    found = {}
    for pattern in (*(p for p in named if p.is_valid), *enumerate_valid(network)):
        found.setdefault(class_key(pattern), len(found) + 1)
    return {pattern: found[class_key(pattern)] for pattern in enumerate_valid(network)}


@given(st.data())
def test_numbers_follow_the_rule(rollouts, with_outputs, valid_patterns, data):
    bare, _ = data.draw(with_outputs(rollouts(max_nodes=5, max_extra=5)))
    own = {f"own {k}": data.draw(valid_patterns(bare)).streaming_edges for k in range(data.draw(st.integers(0, 2)))}
    network = Network(bare.name, bare.nodes, bare.edges, bare.outputs, own)
    expected = by_the_rule(network)
    patterns = list(expected)
    whole = all_class_numbers(network)
    assert whole.of_patterns(patterns) == list(expected.values())
    assert whole.are_of_network
    assert len(whole) == max(expected.values())
    assert [len(members) for members in behaviour_classes(network)] == np.bincount(list(expected.values()))[1:].tolist()
    # a few patterns, and the first ones of the enumeration, get the same numbers without the rest
    some = data.draw(st.lists(st.sampled_from(patterns), min_size=1, max_size=4))
    assert class_numbers(network, some).of_patterns(some) == [expected[pattern] for pattern in some]
    first = patterns[: data.draw(st.integers(1, len(patterns)))]
    beginning = class_numbers(network, first, in_order=True)
    assert beginning.of_patterns(first) == [expected[pattern] for pattern in first]
    assert beginning.are_of_network


@given(st.data())
def test_edges_that_bridge_frames_do_not_change_the_number(rollouts, data):
    network, pattern = data.draw(rollouts(max_nodes=5, max_extra=5, most=1))
    bridging = best_in_class(pattern, bridging=True)
    far = RolloutPattern(network, tuple(r + 5000 * (k == 0) for k, r in enumerate(pattern.values)))
    numbers = class_numbers(network, [bridging, far])
    assert numbers.of_patterns([bridging]) == class_numbers(network, [pattern]).of_patterns([pattern])
    assert numbers.are_of_network or equivalent(far, pattern) is None
    (number,) = numbers.of_patterns([far])
    assert number is None or equivalent(far, pattern) is not None


def test_a_class_beyond_those_of_r_0_and_1_is_numbered_when_it_is_met():
    network = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O")])
    beyond, whole = RolloutPattern(network, (0, 0, 2)), all_class_numbers(network)
    found = class_numbers(network, [beyond])
    assert whole.of_patterns([beyond]) == [None]
    assert found.of_patterns([beyond]) == [len(whole) + 1]
    assert whole.are_of_network
    assert not found.are_of_network


def test_too_many_patterns_are_numbered_as_they_are_met(monkeypatch):
    monkeypatch.setattr(numbering, "ENUMERATED_PATTERNS", (0, 0))
    network = Network.from_edges(EDGES)
    expected = by_the_rule(network)
    others = [pattern for pattern, number in expected.items() if number > 2][::-1]
    met = class_numbers(network, others)
    assert not met.are_of_network
    shown = met.of_patterns(others)
    assert list(dict.fromkeys(shown)) == list(range(3, 3 + len(set(shown))))
    named = class_numbers(network, [RolloutPattern.streaming(network), RolloutPattern.named(network, "sequential")])
    assert named.are_of_network
    assert len(named) == 2


@pytest.mark.parametrize("edges", [EDGES[:1], EDGES])
def test_invalid_patterns_have_no_class(edges):
    network = Network.from_edges(edges)
    nothing = RolloutPattern(network, (0,) * len(edges))
    assert class_numbers(network, [nothing]).of_patterns([nothing]) == ([1] if len(edges) == 1 else [None])


@pytest.mark.parametrize("nodes", [17_000, pytest.param(33_000, marks=pytest.mark.thorough)])
def test_networks_of_many_nodes_are_numbered(nodes):
    """A chain has one class, whose shifts are as long as the chain."""
    chain = Network.from_edges([(f"n{k}", f"n{k + 1}") for k in range(nodes)])
    patterns = [
        RolloutPattern.streaming(chain),
        RolloutPattern(chain, (0,) * nodes),
        RolloutPattern(chain, (0, 1) * (nodes // 2)),
    ]
    assert class_numbers(chain, patterns).of_patterns(patterns) == [1, 1, 1]
