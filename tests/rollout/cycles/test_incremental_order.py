"""An acyclic graph that grows edge by edge, against a search for the cycle that an edge would close."""

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.rollout.cycles.cycle_structure import IncrementalOrder


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 8), st.data())
def test_incremental_order_refuses_exactly_the_edges_that_close_a_cycle(n, data):
    node = st.integers(0, n - 1)
    order = IncrementalOrder(n)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n))
    for _ in range(25):
        u, v = data.draw(st.tuples(node, node))
        if graph.has_edge(u, v):
            order.remove(u, v)
            graph.remove_edge(u, v)
        else:
            closes = nx.has_path(graph, v, u)
            assert order.add(u, v) == (not closes)
            if not closes:
                graph.add_edge(u, v)
