"""Rollout patterns: constructors, validity, equality, model-parallelism, tableau and factor."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import PatternError
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.rollout.pattern import RolloutPattern, pattern_of_text

POSTER = [("u", "v"), ("v", "w"), ("v", "v"), ("u", "w"), ("w", "v")]
MNIST = {
    "FF": [("I", "H1"), ("H1", "H2"), ("H2", "O")],
    "S": [("I", "H1"), ("H1", "H2"), ("H2", "O"), ("H1", "O")],
    "SR": [("I", "H1"), ("H1", "H2"), ("H2", "O"), ("H1", "O"), ("H1", "H1")],
}


def dsr(level, self_edge=True):
    """DSR0 to DSR6: three blocks of layers with dense skips inside a block and into the next one."""
    layers = {"H1": ["H1"], "H2": ["H2"]}
    for name in ["H11", "H21", "H12", "H22", "H13", "H23"][:level]:
        layers[name[:2]].append(name)
    edges = [("I", "H1")]
    edges += [("H1", "H1")] if self_edge else []
    for block, after in (("H1", "H2"), ("H2", "HD")):
        chain = [*layers[block], after]
        edges += [(u, v) for i, u in enumerate(chain) for v in chain[i + 1 :]]
    return [*edges, ("HD", "O")]


@st.composite
def networks(draw):
    n = draw(st.integers(1, 5))
    pairs = [(f"n{u}", f"n{v}") for u in range(n) for v in range(n)]
    inner = draw(st.lists(st.sampled_from(pairs), max_size=9, unique=True))
    graph = nx.DiGraph(inner)
    graph.add_nodes_from(f"n{v}" for v in range(n))
    fed = draw(st.sets(st.integers(0, n - 1)))
    edges = [("I", f"n{v}") for v in sorted(fed)] + inner
    for v in range(n):  # a further input reaches what is not reached yet
        reached = nx.DiGraph(edges)
        if f"n{v}" not in reached or not any(reached.in_degree(a) == 0 for a in nx.ancestors(reached, f"n{v}")):
            edges.append(("J", f"n{v}"))
    return Network.from_edges(draw(st.permutations(edges)))


@st.composite
def patterns(draw):
    net = draw(networks())
    return RolloutPattern(
        net, tuple(draw(st.lists(st.integers(0, 1), min_size=len(net.edges), max_size=len(net.edges))))
    )


def valid_part(pattern):
    """Make streaming whatever is needed to be valid."""
    while not pattern.is_valid:
        c = pattern.cycle
        pattern = RolloutPattern.from_streaming_edges(pattern.network, [*pattern.streaming_edges, (c[-1], c[0])])
    return pattern


@settings(max_examples=80, deadline=None)
@given(patterns())
def test_valid_iff_the_sequential_edges_form_no_cycle(pattern):
    graph = nx.DiGraph(pattern.sequential_edges)
    assert pattern.is_valid == nx.is_directed_acyclic_graph(graph)
    if pattern.is_valid:
        assert pattern.cycle == ()
        pattern.require_valid()
        rank = {n: i for i, n in enumerate(pattern.node_order)}
        assert len(rank) == len(pattern.network.nodes)
        assert all(rank[u] < rank[v] for u, v in pattern.sequential_edges)
        return
    cycle = pattern.cycle
    assert len(set(cycle)) == len(cycle) > 0
    assert all(pattern[u, v] == 0 for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True))
    with pytest.raises(PatternError, match=" -> ".join((*cycle, cycle[0]))) as caught:
        pattern.require_valid()
    assert caught.value.cycle == cycle
    for ask in (lambda: pattern.inference_factor, lambda: pattern.tableau(2), lambda: pattern.phases):
        with pytest.raises(PatternError):
            ask()


@settings(max_examples=50, deadline=None)
@given(networks())
def test_streaming_is_valid_and_has_factor_1(net):
    p = RolloutPattern.streaming(net)
    assert p.is_valid
    assert p.streaming_edges == tuple(net.edges)
    assert p.sequential_edges == ()
    assert p.inference_factor == 1
    assert set(p.phases.values()) == {1}


@settings(max_examples=50, deadline=None)
@given(patterns())
def test_constructors_agree(pattern):
    net = pattern.network
    same = [
        RolloutPattern.from_streaming_edges(net, pattern.streaming_edges, name="other"),
        RolloutPattern.from_values(net, list(pattern.values)),
        RolloutPattern.from_values(net, dict(pattern.items())),
        RolloutPattern.from_values(Network.from_edges(net.edges), [bool(r) for r in pattern.values]),
    ]
    for p in same:
        assert p == pattern
        assert hash(p) == hash(pattern)
        assert all(p[key] == r and type(p[key]) is int for key, r in pattern.items())
    flipped = RolloutPattern(net, (1 - pattern.values[0], *pattern.values[1:]))
    assert flipped != pattern
    assert list(pattern) == list(net.edges)


@settings(max_examples=60, deadline=None)
@given(patterns(), st.data())
def test_equally_model_parallel_ignores_edges_of_inputs_only(pattern, data):
    net = pattern.network
    inputs = [i for i, (u, _) in enumerate(net.edges) if u in net.inputs]
    i = data.draw(st.integers(0, len(net.edges) - 1))
    other = RolloutPattern(net, tuple(1 - r if j == i else r for j, r in enumerate(pattern.values)))
    assert pattern.equally_model_parallel(other) == other.equally_model_parallel(pattern) == (i in inputs)
    assert pattern.equally_model_parallel(pattern)


def test_algorithms_see_the_nodes_in_file_order():
    p = RolloutPattern.from_streaming_edges(Network.from_edges(POSTER), [("w", "v"), ("v", "v")])
    g = p.indexed
    names = list(p.network.nodes)
    assert [(names[u], names[v]) for u, v in zip(g.graph.sources, g.graph.targets, strict=True)] == POSTER
    assert g.values == p.values


@settings(max_examples=60, deadline=None)
@given(patterns(), st.integers(1, 4))
def test_tableau_starts_at_0_and_phases_are_its_first_frame(pattern, window):
    p = valid_part(pattern)
    t = p.tableau(window=window)
    assert set(t) == {(i, n) for i in range(window + 1) for n in p.network.nodes}
    assert all(t[0, n] == 0 for n in p.network.nodes)
    assert all(t[i, n] == 0 for i in range(window + 1) for n in p.network.inputs)
    assert {n: t[1, n] for n in p.phases} == p.phases
    assert set(p.phases) == set(p.network.nodes) - set(p.network.inputs)
    assert p.inference_factor == max(t for (i, _), t in p.tableau(1).items())


@pytest.mark.parametrize(
    ("streaming", "v", "w", "factor"),
    [
        (POSTER, [0, 1, 2, 3], [0, 1, 2, 3], 1),
        ([("w", "v"), ("v", "v")], [0, 1, 3, 5], [0, 2, 4, 6], 2),
        ([("v", "w"), ("v", "v")], [0, 2, 4, 6], [0, 1, 3, 5], 2),
    ],
)
def test_poster_tableaux(streaming, v, w, factor):
    p = RolloutPattern.from_streaming_edges(Network.from_edges(POSTER), streaming)
    t = p.tableau(window=3)
    assert [t[i, "v"] for i in range(4)] == v
    assert [t[i, "w"] for i in range(4)] == w
    assert p.inference_factor == factor


@pytest.mark.parametrize(
    ("edges", "factor"),
    [(MNIST["FF"], 3), (MNIST["S"], 3), (MNIST["SR"], 3)]
    + [(dsr(k), 4 + k) for k in range(7)]
    + [(dsr(4, self_edge=False), 8)],
)
def test_sequential_factor_of_the_papers_networks(edges, factor):
    assert RolloutPattern.sequential(Network.from_edges(edges)).inference_factor == factor


@pytest.mark.parametrize(
    ("edges", "n_nodes", "n_edges"),
    [(MNIST["FF"], 4, 3), (MNIST["S"], 4, 4), (MNIST["SR"], 4, 5), (dsr(4, self_edge=False), 9, 14)]
    + [(dsr(k), 5 + k, m) for k, m in enumerate([5, 7, 9, 12, 15, 19, 23])],
)
def test_size_of_the_papers_networks(edges, n_nodes, n_edges):
    net = Network.from_edges(edges)
    assert (len(net.nodes), len(net.edges)) == (n_nodes, n_edges)


def test_hybrid_of_sr_has_factor_2():
    net = Network.from_edges(MNIST["SR"])
    p = RolloutPattern.from_streaming_edges(net, [("H1", "H1"), ("H1", "O"), ("H2", "O")])
    assert p.inference_factor == 2


def test_named_patterns():
    names = ("I", "A")
    net = Network(
        "n",
        {n: Node(n) for n in names},
        {k: Edge(*k) for k in [("I", "A"), ("A", "A")]},
        patterns={"mine": (("A", "A"),), "bad": (("I", "A"),)},
    )
    assert RolloutPattern.named(net, "streaming") == RolloutPattern.streaming(net)
    assert RolloutPattern.named(net, "sequential") == RolloutPattern.named(net, "mine")
    assert RolloutPattern.named(net, "mine").name == "mine"
    assert RolloutPattern.named(net, "bad").cycle == ("A",)
    with pytest.raises(PatternError, match=r"nothing.*streaming, sequential, mine, bad"):
        RolloutPattern.named(net, "nothing")


def test_a_pattern_may_be_named_like_edges():
    net = Network(
        "n",
        {n: Node(n) for n in ("I", "A", "B")},
        {k: Edge(*k) for k in [("I", "A"), ("A", "B")]},
        patterns={"I -> A": (("A", "B"),)},
    )
    named, edges = (pattern_of_text(net, text) for text in ("I -> A", "A -> B"))
    assert (named.name, named.values) == ("I -> A", (0, 1))
    assert named == edges


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: RolloutPattern.from_streaming_edges(n, [("O", "I")]), "edge O -> I does not exist"),
        (lambda n: RolloutPattern.from_values(n, [0, 1]), "has 2 values.*3 edges"),
        (lambda n: RolloutPattern.from_values(n, [0, 1, -1]), "H2 -> O has R = -1; allowed are 0"),
        (
            lambda n: RolloutPattern.from_values(n, [0, 1, 10_001]),
            "R = 10001; .* whole numbers up to 10000",
        ),
        (lambda n: RolloutPattern.from_values(n, [0, 0.5, "1"]), "H1 -> H2 has R = 0.5"),
        (
            lambda n: RolloutPattern(n, dict.fromkeys(range(3), 0)),
            r"give one value per edge in order, or RolloutPattern",
        ),
        (lambda n: RolloutPattern.from_values(n, {0, 1}), r"values = \{0, 1\}; give one value per edge"),
        (lambda n: RolloutPattern.from_values(n, {("I", "H1"): 0}), "H1 -> H2 has no value"),
        (
            lambda n: RolloutPattern.from_values(n, dict.fromkeys([*n.edges, ("x", "y")], 0)),
            "x -> y does not exist",
        ),
        (lambda n: RolloutPattern.streaming(n)["x", "y"], "not an edge of network"),
        (lambda n: RolloutPattern.streaming(n).tableau(window=0), "size 0"),
        (
            lambda n: RolloutPattern.streaming(n).equally_model_parallel(
                RolloutPattern.streaming(Network.from_edges([("a", "b")]))
            ),
            "different edges",
        ),
    ],
)
def test_errors_name_what_is_wrong(make, message):
    with pytest.raises(PatternError, match=message) as caught:
        make(Network.from_edges(MNIST["FF"]))
    assert "\n" not in str(caught.value)
