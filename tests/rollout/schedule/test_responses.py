"""First and full responses against an enumeration of all paths."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.network.network import Network
from neuromap.rollout import indexed_pattern as longest_paths
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule import rollout as schedule_module
from neuromap.rollout.schedule.rollout import FullResponse, Rollout


def path_sums(rollout, output, inputs=None):
    """Sums of delays over all paths from all inputs that visit no node twice."""
    graph = nx.DiGraph(list(rollout.network.edges))
    return [
        sum(rollout.delays[key] for key in path)
        for u in inputs or rollout.network.inputs
        for path in nx.all_simple_edge_paths(graph, u, output)
    ]


def with_all_outputs(net):
    return Network.from_edges(net.edges, outputs=[v for v in net.nodes if v not in net.inputs])


@given(execution=st.sampled_from(["windowed", "pipelined"]), data=st.data())
@settings(deadline=None, max_examples=300)
def test_responses_are_extremes_over_paths(rollouts, execution, data):
    net, pattern = data.draw(rollouts(max_nodes=7, max_extra=12))
    r = Rollout(with_all_outputs(net), pattern, execution)
    for v in r.network.outputs:
        sums = path_sums(r, v)
        assert r.first_response(v) == min(sums)
        assert r.full_response(v) == max(sums)
        assert r.full_response_is_exact(v)
        assert r.best_input_reaction(v) == min(sums) + r.frame_period - 1


@given(data=st.data())
@settings(deadline=None, max_examples=150)
def test_search_over_subsets_finds_the_same(rollouts, data):
    net, pattern = data.draw(rollouts(max_nodes=7, max_extra=12))
    r = Rollout(with_all_outputs(net), pattern)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longest_paths, "_QUICK_STEPS", 0)
        for v in r.network.outputs:
            assert r.full_response(v) == max(path_sums(r, v))


@given(steps=st.integers(0, 40), data=st.data())
@settings(deadline=None, max_examples=200)
def test_a_search_that_is_cut_off_gives_an_upper_bound_and_says_so(rollouts, steps, data):
    net, pattern = data.draw(rollouts(max_nodes=8, max_extra=14))
    r = Rollout(with_all_outputs(net), pattern, "pipelined")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(longest_paths, "_QUICK_STEPS", 0)
        patch.setattr(longest_paths, "_SEARCH_STEPS", steps)
        patch.setattr(longest_paths, "EXACT_NODES", 2)
        for v in r.network.outputs:
            longest = max(path_sums(r, v))
            assert r.full_response(v) >= longest
            if r.full_response_is_exact(v):
                assert r.full_response(v) == longest


def both_ways(*pairs):
    return [key for u, v in pairs for key in ((u, v), (v, u))]


def test_long_chains_of_small_blocks_are_exact():
    # 150 triangles, neighbours sharing a node, every edge in both directions: one component of 301 nodes.
    edges = [("I", "c0")]
    for k in range(150):
        edges += both_ways((f"c{k}", f"m{k}"), (f"m{k}", f"c{k + 1}"), (f"c{k}", f"c{k + 1}"))
    net = Network.from_edges(edges, outputs=["c150", "c0", "m75"])
    r = Rollout(net, RolloutPattern.streaming(net))
    assert (r.first_responses["c150"], r.full_responses["c150"]) == (151, FullResponse(steps=301, is_exact=True))
    assert (r.first_response("c0"), r.full_response("c0")) == (1, 1)
    # From c75 around the triangle's far corner: 151 + c75 -> c76 -> m75.
    assert r.full_response("m75") == 1 + 150 + 2


def test_thousands_of_blocks_at_one_node_are_exact():
    edges = both_ways(*(("hub", f"v{k}") for k in range(3000)))
    net = Network.from_edges([("I", "v7"), *edges], outputs=["v2999", "v7", "hub"])
    r = Rollout(net, RolloutPattern.streaming(net))
    assert [r.full_response(v) for v in ("v2999", "v7", "hub")] == [3, 1, 2]


def test_entering_a_component_in_its_middle_reaches_both_ends():
    edges = both_ways(*((f"v{k}", f"v{k + 1}") for k in range(40)))
    net = Network.from_edges([("I", "v10"), ("J", "A"), ("A", "v30"), *edges], outputs=["v0", "v40", "v20"])
    r = Rollout(net, RolloutPattern.streaming(net))
    assert [r.full_response(v) for v in ("v0", "v40", "v20")] == [32, 31, 12]
    assert [r.first_response(v) for v in ("v0", "v40", "v20")] == [11, 12, 11]


def test_large_dense_components_are_flagged():
    names = [f"v{k}" for k in range(40)]
    edges = [(u, v) for i, u in enumerate(names) for j, v in enumerate(names) if i != j and (i * j + i + 2 * j) % 3]
    net = Network.from_edges([("I", "v0"), *edges], outputs=["v39"])
    r = Rollout(net, RolloutPattern.streaming(net))
    assert not r.full_response_is_exact("v39")
    assert 1 < r.full_response("v39") <= 40


def test_first_responses_do_not_wait_for_the_search_of_the_longest_path(monkeypatch):
    def never(*args):
        raise AssertionError("the longest path is searched")

    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")], outputs=["B"])
    r = Rollout(net, RolloutPattern.streaming(net))
    monkeypatch.setattr(schedule_module, "longest_paths", never)
    assert (r.first_response("B"), r.worst_case_reaction("B")) == (2, 2)
    with pytest.raises(AssertionError, match="longest path"):
        r.full_response("B")


def test_every_input_has_its_own_onset():
    # J is sampled two steps before I, as its path is longer: a common onset would give other responses.
    net = Network.from_edges([("I", "O"), ("J", "A"), ("A", "B"), ("B", "O")])
    r = Rollout(net, RolloutPattern(net, (0, 0, 0, 0)))
    assert r.phases == {"I": 2, "O": 3, "J": 0, "A": 1, "B": 2}
    assert (r.first_response("O"), r.full_response("O")) == (1, 3)


def test_inputs_that_do_not_reach_an_output_play_no_part_in_it():
    net = Network.from_edges([("I", "O"), ("J", "A"), ("A", "B")])
    r = Rollout(net, RolloutPattern.streaming(net))
    assert (r.first_response("O"), r.full_response("O")) == (1, 1)
    assert (r.first_response("B"), r.full_response("B")) == (2, 2)


def test_a_pipelined_response_may_be_longer_than_the_windowed_one():
    # Windowed, the streaming edge I -> A holds its value for two steps and I is sampled late, for O;
    # pipelined, the path over A and B asks for an early sample, for which O then waits.
    net = Network.from_edges([("I", "O"), ("I", "A"), ("A", "B"), ("B", "O")])
    pattern = RolloutPattern.from_streaming_edges(net, [("I", "A")])
    windowed, pipelined = Rollout(net, pattern), Rollout(net, pattern, "pipelined")
    assert (windowed.frame_period, pipelined.frame_period) == (3, 1)
    assert (windowed.first_response("O"), pipelined.first_response("O")) == (1, 2)
