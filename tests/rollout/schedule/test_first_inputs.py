"""Reactions by input and output: the worst input by default, the best by name, and every form says which is which."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.network import build_network
from neuromap.network.network import Network
from neuromap.rollout.schedule.reaction_note import reaction_note


@pytest.fixture(scope="module")
def two_inputs():
    """O answers I1 in one step and I2 in three."""
    one = np.ones((1, 1), dtype=int)
    edges = {("I1", "O"): one, ("I2", "A"): one, ("A", "B"): one, ("B", "O"): one}
    return build_network({"I1": (1, None), "I2": (1, None), "A": (1, 1), "B": (1, 1), "O": (1, 1)}, edges)


NOTE = (
    "worst-case reaction: to an event at the input that is answered last, I2 -> O; an event at another input may be "
    "answered sooner"
)


def said(text):
    return " ".join(text.split())


def test_the_input_is_named_in_every_form(two_inputs):
    report = nm.latency_report(two_inputs, patterns=["streaming"], n_frames=4)
    assert {row.worst_case_reaction_ticks for row in report.rows} == {3}
    (row,) = report.to_dict()["rows"][:1]
    (output,) = row["outputs"].values()
    assert (output["worst_case_reaction_ticks"], output["best_input_reaction_ticks"]) == (3, 1)
    assert output["reaction_ticks_by_input"] == {"I1": 1, "I2": 3}
    assert NOTE in said(report.to_text(200))
    assert f"W{NOTE[1:]}" in said(report.to_html()).replace("&gt;", ">")
    found = nm.explore(two_inputs, n_frames=4)
    assert min(row.worst_case_reaction_ticks for row in found.front) == 3
    assert NOTE in said(found.to_text(200))
    assert f"W{NOTE[1:]}" in said(found.to_html()).replace("&gt;", ">")


def test_one_input_needs_no_note():
    one = np.ones((1, 1), dtype=int)
    network = build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): one})
    assert "answered last" not in nm.latency_report(network, patterns=["streaming"], n_frames=4).to_text(200)


def test_the_first_input_is_the_rows_own(two_inputs):
    """Sampled late, windowed and sequential, both inputs are answered alike."""
    rows = [(name, nm.Rollout(two_inputs, name)) for name in ("streaming", "sequential")]
    assert [rollout.first_inputs("O") for _, rollout in rows] == [("I1",), tuple(_by_hand(rows[1][1], "O"))]
    many = reaction_note(rows * 40)
    assert "I1 and I2" in many


def test_of_many_inputs_some_are_named_and_the_others_counted():
    one = np.ones((1, 1), dtype=int)
    names = [f"I{k}" for k in range(9)]
    net = build_network({**dict.fromkeys(names, (1, None)), "O": (1, 1)}, {(name, "O"): one for name in names})
    rows = [(name, nm.Rollout(net, name)) for name in ("streaming", "sequential")]
    assert "answered last, I0 -> O, I1 -> O, I2 -> O, I3 -> O, I4 -> O, I5 -> O and 3 more;" in reaction_note(rows)
    assert "the inputs I0, I1, I2 and 6 more which is answered last" in reaction_note(rows * 40)


def _by_hand(rollout, output):
    """The inputs without which the first response is later: those that alone make it."""
    network = rollout.network
    first = rollout.first_response(output)
    phases, period = rollout.phases, rollout.frame_period
    for source in network.inputs:
        walks, frontier = [], [(source, 0)]
        while frontier:
            node, streaming = frontier.pop()
            if node == output:
                walks.append(streaming)
            if streaming <= len(network.edges):
                frontier += [(v, streaming + rollout.pattern[u, v]) for u, v in network.edges if u == node]
        if walks and phases[output] - phases[source] + period * min(walks) == first:
            yield source


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_first_inputs_are_those_whose_shortest_way_makes_the_response(data):
    inner = data.draw(st.integers(1, 4))
    names = [*(f"I{k}" for k in range(data.draw(st.integers(1, 3)))), *(f"H{k}" for k in range(inner)), "O"]
    edges = {(u, v) for v in names for u in names if not v.startswith("I") and u < v and u != "O" and v != u}
    kept = [e for e in sorted(edges) if data.draw(st.booleans())]
    for v in (name for name in names if not name.startswith("I")):
        if not any(e[1] == v for e in kept):
            kept.append(("I0", v))
    network = Network.from_edges(kept)
    values = [data.draw(st.integers(0, 1)) for _ in network.edges]
    rollout = nm.Rollout(
        network, nm.RolloutPattern.from_values(network, values), data.draw(st.sampled_from(["windowed", "pipelined"]))
    )
    for output in network.outputs:
        assert rollout.first_inputs(output) == tuple(_by_hand(rollout, output))


def walked(rollout, source):
    """Least delays from an input to every node, edge by edge until nothing is shortened."""
    least = {source: 0}
    for _ in rollout.network.nodes:
        for (u, v), delay in rollout.delays.items():
            if u in least:
                least[v] = min(least.get(v, math.inf), least[u] + delay)
    return least


@settings(deadline=None, max_examples=150)
@given(data=st.data(), ticks_per_step=st.integers(1, 3))
def test_reactions_are_those_of_walks_by_input_and_output(rollouts, with_outputs, data, ticks_per_step):
    """Unequal intervals, bridging edges, inputs that reach no output or only some."""
    network, pattern = data.draw(with_outputs(rollouts(max_nodes=7, max_extra=8)))
    execution = data.draw(st.sampled_from(["windowed", "pipelined", "pipelined:best"]))
    rollout = nm.Rollout(network, pattern, execution)
    gap = math.ceil(rollout.frame_period * ticks_per_step)
    found = {u: walked(rollout, u) for u in network.inputs}
    for output in network.outputs:
        every = {u: least[output] * ticks_per_step + gap - 1 for u, least in found.items() if output in least}
        assert rollout.worst_case_reaction(output, ticks_per_step) == max(every.values())
        assert rollout.best_input_reaction(output, ticks_per_step) == min(every.values())
        for source in network.inputs:
            if source in every:
                assert rollout.worst_case_reaction(output, ticks_per_step, source) == every[source]
            else:
                with pytest.raises(InputError, match=f"{source}: does not reach output {output} of network"):
                    rollout.worst_case_reaction(output, ticks_per_step, source)
    answers = {u: [least[o] for o in network.outputs if o in least] for u, least in found.items()}
    slowest = max(min(answered) for answered in answers.values() if answered)
    assert rollout.worst_case_reaction(None, ticks_per_step) == slowest * ticks_per_step + gap - 1


def test_what_is_no_input_has_no_reaction(two_inputs):
    with pytest.raises(InputError, match="A: is not an input of network network; choose one of I1, I2"):
        nm.Rollout(two_inputs, "streaming").worst_case_reaction("O", source="A")
