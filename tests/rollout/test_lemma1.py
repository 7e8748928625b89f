"""Lemma 1 in its true form, the paper's numbers, and the counterexamples to the paper's form."""

import random

import networkx as nx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout import lemma1
from neuromap.rollout.behaviour import count_valid
from neuromap.rollout.lemma1 import lemma1_bounds


def words(text):
    return Network.from_edges([tuple(w.split("-")) for w in text.split()])


def check_cycles(net, bounds):
    """The cycles are simple, share no edge, are all cycles of their union, and multiply to the bound."""
    used = [edge for c in bounds.cycles for edge in zip(c, c[1:] + c[:1], strict=True)]
    assert len(set(used)) == len(used)
    assert sum(1 for _ in nx.simple_cycles(nx.DiGraph(used))) == len(bounds.cycles)
    product = 1
    for c in bounds.cycles:
        assert len(c) > 1
        assert all(key in net.edges for key in zip(c, c[1:] + c[:1], strict=True))
        product *= 2 ** len(c) - 1
    assert product == bounds.cycle_bound


@pytest.mark.parametrize(
    ("text", "valid", "forward", "cycle", "upper"),
    [
        ("I-a a-b", 4, 4, 1, 4),
        ("I-a a-b b-c c-a", 14, 2, 7, 16),
        ("I-a I-b a-b b-c c-d d-a", 60, 4, 15, 64),
        ("u-v v-w v-v u-w w-v", 12, 4, 3, 16),
    ],
)
def test_numbers_of_the_paper(text, valid, forward, cycle, upper):
    net = words(text)
    b = lemma1_bounds(net)
    assert count_valid(net) == valid
    assert (b.forward_bound, b.cycle_bound, b.upper_bound) == (forward, cycle, upper)
    assert b.cycle_bound_proven
    check_cycles(net, b)


def closed_trail(net, nodes):
    """Whether the nodes, in order and closed, are a trail of the network: no edge twice."""
    edges = list(zip(nodes, nodes[1:] + nodes[:1], strict=True))
    return len(set(edges)) == len(edges) and all(e in net.edges for e in edges)


def test_counterexample_closed_trail_54_below_63():
    net = words("I-a a-b b-a a-c c-a a-d d-a")
    assert closed_trail(net, list("abacad"))
    claimed = 2**6 - 1
    assert count_valid(net) == 54 < claimed == 63
    assert lemma1_bounds(net).cycle_bound == 3**3
    check_cycles(net, lemma1_bounds(net))


def test_counterexample_edge_disjoint_cycles_318_below_343():
    net = words("I-0 0-2 3-0 2-1 0-3 2-0 1-0 1-3 3-2 0-1")
    three = [c for c in nx.simple_cycles(net.graph) if len(c) == 3]
    edges = [set(zip(c, c[1:] + c[:1], strict=True)) for c in three]
    packings = [
        (i, j, k)
        for i in range(len(three))
        for j in range(i)
        for k in range(j)
        if not (edges[i] & edges[j] or edges[i] & edges[k] or edges[j] & edges[k])
    ]
    assert packings, "three edge-disjoint 3-cycles exist"
    claimed = 7**3
    assert count_valid(net) == 318 < claimed == 343
    b = lemma1_bounds(net)
    assert b.cycle_bound <= 318
    check_cycles(net, b)


@st.composite
def networks(draw):
    n = draw(st.integers(2, 6))
    pairs = [(f"n{u}", f"n{v}") for u in range(n) for v in range(n)]
    inner = draw(st.lists(st.sampled_from(pairs), max_size=14, unique=True))
    return Network.from_edges([("I", v) for v in sorted({v for p in inner for v in p} | {"n0"})] + inner)


def brute_packing(net):
    """Best choice of simple cycles of which two that share a node lie in different blocks of a strong component."""
    strong = [net.graph.subgraph(nodes) for nodes in nx.strongly_connected_components(net.graph)]
    blocks = [nodes for part in strong for nodes in nx.biconnected_components(part.to_undirected())]
    cycles = [frozenset(c) for c in nx.simple_cycles(net.graph) if len(c) > 1]

    def block_of(cycle):
        return next(i for i, nodes in enumerate(blocks) if cycle <= nodes)

    def best(i, used):
        if i == len(cycles):
            return 1
        value = best(i + 1, used)
        places = {(block_of(cycles[i]), node) for node in cycles[i]}
        if not places & used:
            value = max(value, (2 ** len(cycles[i]) - 1) * best(i + 1, used | places))
        return value

    return best(0, frozenset())


@pytest.mark.theorem
@settings(max_examples=1000, deadline=None)
@given(networks())
@example(words("I-n0 I-n1 I-n2 n0-n0 n0-n1 n0-n2 n1-n0 n2-n0"))  # cycles of two blocks that share n0
@example(words("I-a a-b b-c c-a b-a c-d d-c a-d"))  # 3 times 3 is more than 7, though 3 and 3 are less
def test_bounds_hold_and_the_cycles_are_best(net):
    b = lemma1_bounds(net)
    valid = count_valid(net)
    assert 1 <= max(b.forward_bound, b.cycle_bound) <= valid <= b.upper_bound
    on_cycles = {e for c in nx.strongly_connected_components(net.graph) for e in net.graph.subgraph(c).edges}
    assert b.forward_bound == 2 ** (len(net.edges) - len(on_cycles))
    assert b.upper_bound == 2 ** (len(net.edges) - len(net.self_edges))
    assert b.cycle_bound_proven
    assert b.cycle_bound == brute_packing(net)
    check_cycles(net, b)


@settings(max_examples=40, deadline=None)
@given(networks())
def test_every_way_of_packing_finds_the_best(net):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lemma1, "MAX_SUBSET_NODES", 0)  # search over cycles in place of subsets
        b = lemma1_bounds(net)
        assert b.cycle_bound_proven
        assert b.cycle_bound == brute_packing(net)
        patch.setattr(lemma1, "MAX_CYCLE_NODES", 0)  # the matching alone
        b = lemma1_bounds(net)
        assert b.cycle_bound == brute_packing(net) or not b.cycle_bound_proven
        assert b.cycle_bound <= brute_packing(net)
        check_cycles(net, b)


def test_a_search_that_is_cut_off_never_claims_to_be_proven(monkeypatch):
    monkeypatch.setattr(lemma1, "_MAX_STEPS", 0)
    net = words("I-a a-b b-a b-c c-b c-d d-c d-a a-d")  # one block, covered by two cycles
    with pytest.raises(AssertionError, match="fewer steps"):
        lemma1_bounds(net)
    monkeypatch.setattr(lemma1, "MAX_SUBSET_NODES", 0)
    assert not lemma1_bounds(net).cycle_bound_proven


def test_a_self_edge_is_a_cycle_with_factor_1():
    b = lemma1_bounds(words("I-a a-a"))
    assert (b.forward_bound, b.cycle_bound, b.upper_bound, b.cycles) == (2, 1, 2, ())


def test_long_ring_and_long_chain_of_2_cycles_are_proven():
    ring = Network.from_edges([("I", "0"), *((str(i), str((i + 1) % 1000)) for i in range(1000))])
    b = lemma1_bounds(ring)
    assert (b.cycle_bound, b.cycle_bound_proven) == (2**1000 - 1, True)
    chain = [("I", "0")] + [e for i in range(98) for e in ((str(i), str(i + 1)), (str(i + 1), str(i)))]
    b = lemma1_bounds(Network.from_edges(chain))
    assert (b.cycle_bound, b.cycle_bound_proven) == (3**98, True)  # each is a block of its own


@pytest.mark.thorough
def test_10000_nodes_and_100000_edges_get_a_bound():
    rng = random.Random(1)
    inner = {(rng.randrange(10_000), rng.randrange(10_000)): None for _ in range(90_000)}
    net = Network.from_edges([("I", f"n{i}") for i in range(10_000)] + [(f"n{u}", f"n{v}") for u, v in inner])
    b = lemma1_bounds(net)
    check_cycles(net, b)
    assert b.forward_bound >= 2**10_000
    assert b.cycle_bound.bit_length() > 9_000  # nearly every node of a random graph can be covered
