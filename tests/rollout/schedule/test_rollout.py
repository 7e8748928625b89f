"""Schedules: phases, frame periods and delays of both executions (``docs/time.md``, the paper's figures)."""

import dataclasses
import time
import tomllib
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, PatternError
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout

STRUCTURES = Path(__file__).parents[3] / "examples" / "structures"
SR_HYBRID = [("H1", "H1"), ("H1", "O"), ("H2", "O")]


def structure(name):
    table = tomllib.loads((STRUCTURES / f"{name}.toml").read_text())
    return Network.from_edges((tuple(key.split(" -> ")) for key in table["edges"]), name=name)


def only_self_edges_stream(net):
    """The most sequential pattern of a network whose cycles are self-edges."""
    return RolloutPattern.from_streaming_edges(net, net.self_edges)


# Figures of the paper.

PAPER = [("ff", 3, 3), ("s", 2, 3), ("sr", 2, 3), *((f"dsr{k}", 4, 4 + k) for k in range(7)), ("dsr4_gtsrb", 4, 8)]


@pytest.mark.parametrize(("name", "shortest", "longest"), PAPER)
def test_inference_factor_and_first_response_of_the_papers_networks(name, shortest, longest):
    net = structure(name)
    streaming = Rollout(net, RolloutPattern.streaming(net))
    sequential = Rollout(net, only_self_edges_stream(net))
    assert (streaming.frame_period, sequential.frame_period) == (1, longest)
    assert (streaming.first_response("O"), sequential.first_response("O")) == (shortest, longest)
    assert streaming.full_response("O") == longest
    assert sequential.full_response("O") == longest
    assert all(r.full_response_is_exact("O") for r in (streaming, sequential))


def test_replace_makes_another_rollout_and_keeps_the_latencies():
    rollout = Rollout(structure("sr"), "sequential")
    ticks = rollout.with_latencies({("H1", "O"): 3})
    for one in (rollout, ticks):
        other = dataclasses.replace(one, execution="pipelined")
        same = Rollout(one.network, one.pattern, "pipelined", one.latencies if one.is_tick_level else None)
        assert (other.is_tick_level, other.delays) == (same.is_tick_level, same.delays)
    assert dataclasses.replace(rollout, latencies={("H1", "O"): 3}).delays == ticks.delays
    other = Network.from_edges([("I", "O")])
    with pytest.raises(InputError, match="give latencies for network"):
        dataclasses.replace(ticks, network=other, pattern=RolloutPattern.streaming(other))


def test_a_rollout_without_a_pattern_says_which_there_are():
    with pytest.raises(PatternError, match="give one of network sr: streaming, sequential"):
        Rollout(structure("sr"))


def test_hybrid_pattern_of_sr():
    net = structure("sr")
    r = Rollout(net, RolloutPattern.from_streaming_edges(net, SR_HYBRID))
    assert (r.frame_period, r.first_response("O"), r.full_response("O")) == (2, 3, 3)
    assert r.worst_case_reaction("O") == 3 + 2 - 1
    assert r.delays == {("I", "H1"): 1, ("H1", "H2"): 1, ("H2", "O"): 1, ("H1", "O"): 2, ("H1", "H1"): 2}


def test_pipelined_sr_takes_a_frame_in_every_step_under_every_pattern():
    net = structure("sr")
    for pattern in (
        RolloutPattern.streaming(net),
        only_self_edges_stream(net),
        RolloutPattern.from_streaming_edges(net, SR_HYBRID),
    ):
        assert Rollout(net, pattern, "pipelined").frame_period == 1


@pytest.mark.parametrize(
    ("streaming", "period", "v", "w"),
    [
        (["u -> v", "v -> w", "v -> v", "u -> w", "w -> v"], 1, 1, 1),
        (["w -> v", "v -> v"], 2, 1, 2),
        (["v -> w", "v -> v"], 2, 2, 1),
    ],
)
def test_poster_network(streaming, period, v, w):
    net = structure("poster")
    pattern = RolloutPattern.from_streaming_edges(net, [tuple(e.split(" -> ")) for e in streaming])
    r = Rollout(net, pattern)
    assert (r.frame_period, r.phases["v"], r.phases["w"]) == (period, v, w)


def test_an_input_may_be_sampled_later_than_the_window_ends():
    net = Network.from_edges([("J", "A"), ("A", "B"), ("I", "B")])
    r = Rollout(net, RolloutPattern.from_streaming_edges(net, [("I", "B")]))
    assert r.frame_period == 2
    assert r.phases == {"J": 0, "A": 1, "B": 2, "I": 3}
    assert r.delays["I", "B"] == 1


def test_pipelined_phases_may_be_negative():
    # Two cycles of different ratio: the period is that of the slower, so the faster runs ahead.
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "C"), ("C", "A"), ("A", "D")])
    r = Rollout(net, RolloutPattern.from_streaming_edges(net, [("C", "A"), ("A", "D"), ("I", "A")]), "pipelined")
    assert r.frame_period == 3
    assert r.phases == {"I": 0, "A": -2, "B": -1, "C": 0, "D": -4}
    assert set(r.delays.values()) == {1}


# Properties.


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_windowed_follows_the_tableau(rollouts, data):
    net, pattern = data.draw(rollouts())
    r = Rollout(net, pattern)
    tableau = pattern.tableau(window=1)
    assert r.frame_period == max(tableau[1, v] for v in net.nodes if v not in net.inputs)
    assert all(r.phases[v] == tableau[1, v] for v in net.nodes if v not in net.inputs)


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_windowed_delays_are_bounded(rollouts, data):
    net, pattern = data.draw(rollouts())
    r = Rollout(net, pattern)
    for (u, v), d in r.delays.items():
        assert 1 <= d <= (max(1, pattern[u, v]) + 1) * r.frame_period - (u not in net.inputs)


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_frames_are_known_only_after_their_sources_and_inputs_as_late_as_possible(rollouts, data):
    net, pattern = data.draw(rollouts())
    for execution in ("windowed", "pipelined"):
        r = Rollout(net, pattern, execution)
        for u, v in net.edges:
            # Frame i of v needs frame i - R of u, known at (i - R - 1) P + phi(u).
            i = 5
            known_v = (i - 1) * r.frame_period + r.phases[v]
            known_u = (i - 1 - pattern[u, v]) * r.frame_period + r.phases[u]
            assert r.delays[u, v] == known_v - known_u >= 1
        for u in net.inputs:
            assert min(d for (a, _), d in r.delays.items() if a == u) == 1


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_streaming_has_unit_delays_and_a_frame_in_every_step(rollouts, data):
    net, _ = data.draw(rollouts())
    for execution in ("windowed", "pipelined"):
        r = Rollout(net, RolloutPattern.streaming(net), execution)
        assert r.frame_period == 1
        assert set(r.delays.values()) == {1}


def feasible(net, pattern, period):
    """Whether phases exist: the constraint graph has no cycle of positive weight 1 - R P."""
    graph = nx.DiGraph()
    for u, v in net.edges:
        graph.add_edge(u, v, weight=pattern[u, v] * period - 1)
    return not nx.negative_edge_cycle(graph)


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_pipelined_period_is_the_smallest_feasible(rollouts, data):
    net, pattern = data.draw(rollouts())
    period = Rollout(net, pattern, "pipelined").frame_period
    assert period <= Rollout(net, pattern).frame_period
    assert feasible(net, pattern, period)
    assert period == 1 or not feasible(net, pattern, period - 1)


@given(data=st.data())
@settings(deadline=None, max_examples=200)
def test_pipelined_phases_are_the_least_from_inputs_at_zero(rollouts, data):
    net, pattern = data.draw(rollouts())
    r = Rollout(net, pattern, "pipelined")
    graph = nx.DiGraph()
    for u in net.inputs:
        graph.add_edge("root", u, weight=0)
    for u, v in net.edges:
        graph.add_edge(u, v, weight=pattern[u, v] * r.frame_period - 1)
    shortest = nx.single_source_bellman_ford_path_length(graph, "root")
    assert all(r.phases[v] == -shortest[v] for v in net.nodes if v not in net.inputs)
    assert all(r.phases[u] >= 0 for u in net.inputs)


@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_networks_without_cycles_are_sampled_in_every_step_when_pipelined(rollouts, data):
    net, pattern = data.draw(rollouts(max_extra=0))
    r = Rollout(net, pattern, "pipelined")
    assert (r.frame_period, r.cycle_ratio) == (1, None)


# Errors and names.


def test_invalid_pattern_is_refused_with_its_cycle():
    net = structure("sr")
    with pytest.raises(PatternError, match="H1 -> H1"):
        Rollout(net, RolloutPattern(net, (0,) * 5))


def test_pattern_of_another_network_is_refused():
    with pytest.raises(PatternError, match="other edges"):
        Rollout(structure("s"), RolloutPattern.streaming(structure("ff")))


def test_pattern_of_the_same_edges_numbers_its_nodes_as_the_network_does():
    # Equal edges, nodes in another order: phases and delays must follow the network's own order.
    edges = [("I", "A"), ("A", "B"), ("J", "B")]
    net = Network.from_edges(edges)
    nodes = {n: net.nodes[n] for n in ("B", "J", "A", "I")}
    other = Network(name="other", nodes=nodes, edges=net.edges)
    mine, theirs = RolloutPattern(net, (0, 0, 0)), RolloutPattern(other, (0, 0, 0))
    for execution in ("windowed", "pipelined"):
        a, b = Rollout(net, mine, execution), Rollout(net, theirs, execution)
        assert (a.phases, a.delays, a.full_responses) == (b.phases, b.delays, b.full_responses)
        assert b.phases == {"I": 0, "A": 1, "B": 2, "J": 1}


def test_unknown_execution_and_output_are_refused():
    net = structure("sr")
    with pytest.raises(InputError, match="'windowed', 'pipelined', 'pipelined:best' or"):
        Rollout(net, RolloutPattern.streaming(net), "parallel")
    r = Rollout(net, RolloutPattern.streaming(net))
    for ask in (r.first_response, r.full_response, r.full_response_is_exact, r.worst_case_reaction):
        with pytest.raises(InputError, match="outputs are O"):
            ask("H1")


def test_pattern_by_name():
    net = structure("sr")
    assert Rollout(net, "streaming").pattern == RolloutPattern.streaming(net)
    assert Rollout(net, "sequential").pattern == only_self_edges_stream(net)
    with pytest.raises(PatternError, match="patterns are streaming, sequential"):
        Rollout(net, "hybrid")


def test_a_rollout_cannot_be_changed():
    net = structure("sr")
    r = Rollout(net, RolloutPattern.streaming(net))
    with pytest.raises(AttributeError):
        r.execution = "pipelined"
    with pytest.raises(TypeError):
        r.phases["O"] = 7
    with pytest.raises(TypeError):
        r.delays["I", "H1"] = 7


def test_sampling_frequency_is_frames_per_second():
    net = structure("sr")
    r = Rollout(net, RolloutPattern.from_streaming_edges(net, SR_HYBRID))
    assert r.sampling_frequency(step_seconds=1e-3) == pytest.approx(500.0)


# Size.


@pytest.mark.thorough
@pytest.mark.parametrize("cyclic", [False, True])
def test_ten_thousand_nodes_and_a_hundred_thousand_edges_take_seconds(large_rollout, cyclic):
    net, pattern = large_rollout(cyclic)
    begin = time.process_time()
    for execution in ("windowed", "pipelined"):
        r = Rollout(net, pattern, execution)
        assert min(r.delays.values()) == 1
        assert 1 <= r.first_response("9999") <= r.full_response("9999")
    # About 5 s on one slow core; ten times that is a defect, not a busy machine.
    assert time.process_time() - begin < 50
