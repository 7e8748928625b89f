"""Components, blocks and the spanning tree of a network in integers, against their definitions."""

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.rollout.cycles.cycle_structure import cycle_structure
from neuromap.rollout.cycles.indexed_network import indexed_network


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_every_component_comes_after_all_that_lead_to_it(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=9, max_extra=14))
    graph = indexed_network(net)
    directed = nx.DiGraph(zip(graph.sources, graph.targets, strict=True))
    assert sorted(map(sorted, graph.components)) == sorted(map(sorted, nx.strongly_connected_components(directed)))
    for v, c in enumerate(graph.component_of):
        assert v in graph.components[c]
    where = graph.component_of
    assert all(where[u] <= where[v] for u, v in zip(graph.sources, graph.targets, strict=True))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_two_edges_share_a_block_iff_a_cycle_without_directions_holds_both(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=7, max_extra=12))
    graph = indexed_network(net)
    ends = list(zip(graph.sources, graph.targets, strict=True))
    where, block_of = graph.component_of, {}
    for c, blocks in enumerate(graph.blocks):
        for b, edges in enumerate(blocks):
            for e in edges:
                assert e not in block_of
                block_of[e] = (c, b)
    assert block_of.keys() == {e for e, (u, v) in enumerate(ends) if u != v and where[u] == where[v]}
    cycles = [
        set(map(frozenset, zip(c, [*c[1:], c[0]], strict=True)))
        for c in nx.simple_cycles(nx.Graph(ends[e] for e in block_of))
    ]
    for e in block_of:
        for f in block_of:
            one, other = frozenset(ends[e]), frozenset(ends[f])
            assert (block_of[e] == block_of[f]) == (one == other or any({one, other} <= cycle for cycle in cycles))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_the_tree_reaches_every_node_once_and_from_the_inputs(rollouts, data):
    net, _ = data.draw(rollouts())
    graph = indexed_network(net)
    reached = list(graph.inputs)
    for e in graph.tree:
        assert graph.sources[e] in reached
        assert graph.targets[e] not in reached
        reached.append(graph.targets[e])
    assert sorted(reached) == list(range(graph.n))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_edges_are_sorted_by_the_cycles_that_they_lie_on(rollouts, data):
    net, _ = data.draw(rollouts(max_nodes=8, max_extra=12))
    structure = cycle_structure(net)
    keys = list(net.edges)
    assert structure.forward == tuple(e for e, (u, v) in enumerate(keys) if not nx.has_path(net.graph, v, u))
    assert structure.self_edges == tuple(e for e, (u, v) in enumerate(keys) if u == v)
    names = list(net.nodes)
    for block in structure.blocks:
        assert list(block.edges) == sorted(block.edges)
        assert [keys[e] for e in block.edges] == [(names[u], names[v]) for u, v in block.pairs]
        assert nx.is_strongly_connected(nx.DiGraph(block.pairs))
    sorted_in = [*structure.forward, *structure.self_edges, *(e for block in structure.blocks for e in block.edges)]
    assert sorted(sorted_in) == list(range(len(keys)))
