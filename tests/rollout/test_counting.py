"""Counting and enumerating valid patterns: the paper's numbers, and brute force."""

import itertools

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout.behaviour import count_valid, count_valid_patterns, enumerate_valid
from neuromap.rollout.cycles.cycle_structure import count_block, sweep_block
from neuromap.rollout.cycles.indexed_network import COUNTING
from neuromap.rollout.pattern import RolloutPattern


def words(text):
    return [tuple(w.split("-")) for w in text.split()]


FF = words("I-H1 H1-H2 H2-O")
DSR = words(
    "I-H1 H1-H1 H1-H11 H1-H12 H1-H13 H1-H2 H11-H12 H11-H13 H11-H2 H12-H13 H12-H2 H13-H2 "
    "H2-H21 H2-H22 H2-H23 H2-HD H21-H22 H21-H23 H21-HD H22-H23 H22-HD H23-HD HD-O"
)


def dsr(level):
    gone = set(["H11", "H21", "H12", "H22", "H13", "H23"][level:])
    return [(u, v) for u, v in DSR if u not in gone and v not in gone]


@pytest.mark.parametrize(
    ("edges", "count"),
    [
        (words("I-a a-b"), 4),
        (words("I-a a-b b-c c-a"), 14),
        (words("I-a I-b a-b b-c c-d d-a"), 60),
        (words("u-v v-w v-v u-w w-v"), 12),
        (FF, 8),
        ([*FF, ("H1", "O")], 16),
        ([*FF, ("H1", "O"), ("H1", "H1")], 16),
        (dsr(1), 64),
        (dsr(3), 2048),
        (dsr(4), 16384),
        (dsr(6), 4_194_304),
        (words("I-a a-b b-a a-c c-a a-d d-a"), 54),
        (words("I-0 0-2 3-0 2-1 0-3 2-0 1-0 1-3 3-2 0-1"), 318),
    ],
)
def test_numbers_of_the_paper(edges, count):
    assert count_valid(Network.from_edges(edges)) == count


def brute(net):
    """All valid patterns by trying every one."""
    found = []
    for values in itertools.product((0, 1), repeat=len(net.edges)):
        graph = nx.DiGraph([k for k, r in zip(net.edges, values, strict=True) if not r])
        if nx.is_directed_acyclic_graph(graph):
            found.append(values)
    return found


def with_inputs(pairs):
    """Put an input before every node that nothing else feeds, and one more before node of the first edge."""
    graph = nx.DiGraph([(f"n{u}", f"n{v}") for u, v in pairs])
    edges = list(graph.edges)
    for part in nx.condensation(graph).nodes(data="members"):
        if all(u in part[1] for v in part[1] for u in graph.predecessors(v)):
            edges.append(("I", min(part[1])))
    return Network.from_edges(edges)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_counted_and_enumerated_as_by_brute_force(digraphs, data):
    net = with_inputs(data.draw(digraphs(most=9)))
    expected = brute(net)
    assert count_valid(net) == len(expected)
    assert [p.values for p in enumerate_valid(net)] == expected  # in lexicographic order
    assert all(p.is_valid for p in enumerate_valid(net))


def test_a_large_ring_is_instant():
    ring = Network.from_edges([("I", "0"), *((str(i), str((i + 1) % 1000)) for i in range(1000))])
    assert count_valid(ring) == 2 * (2**1000 - 1)


def test_many_blocks_multiply():
    k = 300
    edges = [("I", "0")]
    for i in range(k):
        edges += [(str(i), str(i + 1)), (str(i + 1), str(i)), (str(i), str(i))]
    assert count_valid(Network.from_edges(edges)) == 2 * 3**k


def test_a_long_ladder_is_swept():
    # Both ways along two rails and across the rungs: one block that no reduction makes smaller.
    def ladder(n):
        edges = [("I", "0.0")]
        for i in range(n):
            edges += [(f"{i}.0", f"{i}.1"), (f"{i}.1", f"{i}.0")]
            for k in "01":
                if i + 1 < n:
                    edges += [(f"{i}.{k}", f"{i + 1}.{k}"), (f"{i + 1}.{k}", f"{i}.{k}")]
        return Network.from_edges(edges)

    assert count_valid(ladder(2)) == len(brute(ladder(2)))
    block = {(u, v): (1, 1) for u, v in nx.convert_node_labels_to_integers(ladder(6).graph).edges if u != 0}
    assert count_valid(ladder(6)) == 2 * count_block(block) == 2 * sweep_block(block, COUNTING)
    assert count_valid(ladder(200)) is not None


def test_complete_graphs_have_the_number_of_labelled_acyclic_digraphs():
    # Robinson 1973 (OEIS A003024): valid patterns of a complete digraph = acyclic digraphs on its nodes.
    known = {3: 25, 4: 543, 5: 29281, 6: 3781503, 10: 4175098976430598143}
    for n, count in known.items():
        pairs = [(str(u), str(v)) for u in range(n) for v in range(n) if u != v]
        assert count_valid(Network.from_edges([("I", "0"), *pairs])) == 2 * count


def test_what_is_too_large_is_not_counted_and_says_why():
    pairs = [(str(u), str(v)) for u in range(20) for v in range(20) if u != v]
    net = Network.from_edges([("I", "0"), *pairs])
    count = count_valid_patterns(net)
    assert count_valid(net) is None
    assert (count.value, count.proven) == (None, False)
    assert "20 nodes and 380 edges" in count.reason


def test_enumeration_is_lazy_on_large_networks():
    edges = [("I", "0")]
    edges += [(str(i), str(i + 1)) for i in range(5000)] + [(str(i + 1), str(i)) for i in range(5000)]
    net = Network.from_edges(edges)
    first = list(itertools.islice(enumerate_valid(net), 3))
    assert [sum(p.values) for p in first] == [5000, 5000, 5001]
    assert all(p.is_valid for p in first)
    assert first[0].values < first[1].values < first[2].values
    assert first[0].values == (0,) * 5001 + (1,) * 5000


def test_the_last_pattern_is_streaming():
    net = Network.from_edges(words("I-a a-b b-c c-a b-a"))
    *_, last = enumerate_valid(net)
    assert last == RolloutPattern.streaming(net)
