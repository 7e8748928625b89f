"""Pipelined, several inputs and one output: every input has its shortest responses at once (docs/theorems)."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from neuromap.network import Network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.fastest_phases import fastest_phases
from neuromap.rollout.schedule.rollout import Rollout


def longest(net, weight, start):
    """The longest walk to every node, from the nodes and values at the start; no cycle adds to a walk."""
    value = dict(start)
    for _ in net.nodes:
        for u, v in net.edges:
            if u in value:
                value[v] = max(value.get(v, value[u] + weight[u, v]), value[u] + weight[u, v])
    return value


def to_output(net, weight, output):
    """The longest walk from every node to an output."""
    value = {output: 0}
    for _ in net.nodes:
        for u, v in net.edges:
            if v in value:
                value[u] = max(value.get(u, value[v] + weight[u, v]), value[v] + weight[u, v])
    return value


def simple_paths(net, start, output):
    todo = [(start, ())]
    while todo:
        node, path = todo.pop()
        if node == output:
            yield path
        todo += [(v, (*path, (u, v))) for u, v in net.edges if u == node and v not in {start, *(b for _, b in path)}]


def by_the_formula(pattern, paths, period):
    """First and full response to one input: over its paths, edges and streaming edges of each."""
    counts = [(len(path), sum(pattern[edge] for edge in path)) for path in paths]
    least, most = min(r for _, r in counts), max(r for _, r in counts)
    first = max(edges - period * (r - least) for edges, r in counts)
    return first, first + period * (most - least)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), more=st.integers(0, 3))
def test_one_schedule_gives_every_input_its_shortest_responses(rollouts, with_outputs, relatives, data, more):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=5)))
    period = Rollout(net, pattern, "pipelined").frame_period + more
    weight = {edge: 1 - r * period for edge, r in pattern.items()}
    output = data.draw(st.sampled_from(net.outputs))
    paths = {i: list(simple_paths(net, i, output)) for i in net.inputs}
    reached = {i: found for i, found in paths.items() if found}

    def sums(phases):
        """Least and greatest sum of delays over the paths from every input."""
        delays = {(u, v): phases[v] - phases[u] + pattern[u, v] * period for u, v in net.edges}
        assert min(delays.values()) >= 1
        of = {i: [sum(delays[edge] for edge in path) for path in found] for i, found in reached.items()}
        return {i: (min(found), max(found)) for i, found in of.items()}

    # as late as the output allows; what does not lead to it as early as its own sources allow
    late = {v: -steps for v, steps in to_output(net, weight, output).items()}
    late = longest(net, weight, late | {i: 0 for i in net.inputs if i not in late})
    best = sums(late)
    assert best == {i: by_the_formula(pattern, found, period) for i, found in reached.items()}
    # it belongs to the class, and no other schedule is shorter for any input
    other = data.draw(relatives(pattern))
    assert best == {i: by_the_formula(other, found, period) for i, found in reached.items()}
    start = {v: data.draw(st.integers(-9, 9)) for v in net.nodes}
    for i, (first, full) in sums(longest(net, weight, start)).items():
        assert (first, full) >= best[i]
        assert full >= best[i][1]


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_windowed_no_pattern_of_the_class_answers_an_input_earlier(rollouts, with_outputs, relatives, data):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=5)))
    if pattern.bridging_edges:
        return
    other = data.draw(relatives(pattern))
    windowed = Rollout(net, other, "windowed")
    fastest = fastest_phases(windowed).rollout
    attained = True
    for i, of_input in windowed.responses_of_inputs.items():
        for o, steps in of_input.items():
            first, _ = by_the_formula(pattern, list(simple_paths(net, i, o)), windowed.frame_period)
            assert steps >= fastest.responses_of_inputs[i][o] >= first
            attained &= fastest.responses_of_inputs[i][o] == first
    assert attained or (len(net.inputs) > 1 and len(net.outputs) > 1)
    event("attained" if attained else "several inputs and outputs stand in each other's way")


def test_windowed_a_short_path_waits_for_a_long_one_unless_phases_move():
    net = Network.from_edges([("I1", "A"), ("A", "B"), ("B", "O"), ("I2", "C"), ("C", "O")])
    windowed = Rollout(net, RolloutPattern.sequential(net), "windowed")
    assert windowed.responses_of_inputs == {"I1": {"O": 3}, "I2": {"O": 3}}
    assert fastest_phases(windowed).rollout.responses_of_inputs == {"I1": {"O": 3}, "I2": {"O": 2}}
