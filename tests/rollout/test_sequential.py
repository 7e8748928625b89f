"""Most sequential patterns: all of them, the first, their number, and what is beyond exact search."""

import itertools
import random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import NotSupportedError
from neuromap.network.network import Network
from neuromap.rollout import sequential
from neuromap.rollout.behaviour import enumerate_valid
from neuromap.rollout.cycles import sequential_values
from neuromap.rollout.cycles.cycle_structure import OrderSearch, cycle_structure
from neuromap.rollout.cycles.sequential_values import greedy_values
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.sequential import enumerate_most_sequential, most_sequential, most_sequential_summary


def words(text):
    return Network.from_edges([tuple(w.split("-")) for w in text.split()])


def random_network(n, m, seed):
    rng = random.Random(seed)
    inner = {(rng.randrange(n), rng.randrange(n)): None for _ in range(m)}
    return Network.from_edges([("I", f"n{i}") for i in range(n)] + [(f"n{u}", f"n{v}") for u, v in inner])


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_all_most_sequential_patterns_as_by_brute_force(cyclic_networks, data):
    net = data.draw(cyclic_networks())
    valid = list(enumerate_valid(net))
    least = min(sum(p.values) for p in valid)
    expected = [p for p in valid if sum(p.values) == least]
    assert most_sequential(net) == expected
    summary = most_sequential_summary(net)
    assert summary.proven
    assert summary.first == expected[0] == RolloutPattern.sequential(net)
    assert (summary.streaming_edges, summary.count) == (least, len(expected))


def test_input_and_3_cycle_have_3():
    found = most_sequential(words("I-a a-b b-c c-a"))
    assert [p.values for p in found] == [(0, 0, 0, 1), (0, 0, 1, 0), (0, 1, 0, 0)]
    assert found[0] == RolloutPattern.sequential(found[0].network)


def test_without_cycles_everything_is_sequential():
    net = words("I-a a-b I-b b-O a-O O-O")
    summary = most_sequential_summary(net)
    assert summary.first.streaming_edges == (("O", "O"),)
    assert (summary.count, summary.proven) == (1, True)


def test_a_ring_of_1000_nodes_has_1000():
    net = Network.from_edges([("I", "0"), *((str(i), str((i + 1) % 1000)) for i in range(1000))])
    summary = most_sequential_summary(net)
    assert summary.first.values == (0,) * 1000 + (1,)
    assert (summary.count, summary.proven) == (1000, True)
    assert [p.values.index(1) for p in most_sequential(net, limit=4)] == [1000, 999, 998, 997]


def test_interleaved_blocks_are_listed_in_lexicographic_order():
    net = words("I-a a-b a-c b-a c-a c-d d-c")  # three 2-cycles, their edges mixed in the file
    found = most_sequential(net)
    assert len(found) == 8
    assert [p.values for p in found] == sorted(p.values for p in found)
    assert all(p.is_valid and sum(p.values) == 3 for p in found)
    assert list(enumerate_most_sequential(net)) == found


def test_too_many_to_list_is_refused_unless_limited(monkeypatch):
    monkeypatch.setattr(sequential, "MAX_LISTED", 100)
    net = Network.from_edges(
        [("I", "0")] + [e for i in range(12) for e in ((f"{i}", f"{i + 1}"), (f"{i + 1}", f"{i}"))]
    )
    assert most_sequential_summary(net).count == 2**12
    with pytest.raises(NotSupportedError, match="more than 100"):
        most_sequential(net)
    assert len(most_sequential(net, limit=150)) == 150


def test_mid_size_blocks_are_proven_by_the_integer_program():
    net = random_network(30, 90, seed=5)
    block = max(cycle_structure(net).blocks, key=lambda b: len(b.edges))
    assert OrderSearch(block).smallest is None  # else this test tries nothing new
    summary = most_sequential_summary(net)
    assert summary.proven
    assert summary.first.is_valid
    # Lower bound from elsewhere: no set of edge-disjoint cycles may need more streaming edges.
    graph = nx.DiGraph(net.edges)
    disjoint = 0
    while not nx.is_directed_acyclic_graph(graph):
        graph.remove_edges_from(nx.find_cycle(graph))
        disjoint += 1
    assert disjoint <= summary.streaming_edges <= sum(greedy_values(block)) + len(net.self_edges)
    again = most_sequential(net, limit=3)
    assert again[0] == summary.first
    assert all(a.values < b.values for a, b in itertools.pairwise(again))
    assert all(p.is_valid and sum(p.values) == summary.streaming_edges for p in again)


def test_a_search_that_takes_too_long_is_refused_not_cut_short(monkeypatch):
    found = enumerate_most_sequential(random_network(30, 90, seed=5))
    next(found)
    monkeypatch.setattr(sequential_values, "_MAX_ROUNDS", 0)
    with pytest.raises(NotSupportedError, match="takes too long"):
        next(found)
