"""Pipelined execution with a frame period of one's own, and what it shows of all schedules (docs/time.md)."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.rollout.behaviour import behaviour_classes
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.execution import chosen_period, execution_kind
from neuromap.rollout.schedule.rollout import Rollout

QUICK = settings(deadline=None, max_examples=80)
SLOW_PATH = Network.from_edges([("I", "O"), ("I", "A"), ("A", "B"), ("B", "O")], name="slow path")


WRONG = (
    "pipelined:",
    "pipelined:0",
    "pipelined:-1",
    "pipelined: 2",
    "pipelined:1.5",
    "pipelined:٣",
    "pipelined:9999999",
)


@pytest.mark.parametrize("wrong", [*WRONG, "windowed:2", "", "Pipelined", None, 3])
def test_unknown_executions_are_refused(wrong):
    with pytest.raises(InputError, match="execution"):
        Rollout(SLOW_PATH, "streaming", wrong)


def test_names():
    assert [chosen_period(e) for e in ("windowed", "pipelined", "pipelined:7")] == [None, None, 7]
    assert [execution_kind(e) for e in ("windowed", "pipelined", "pipelined:7")] == [
        "windowed",
        "pipelined",
        "pipelined",
    ]


def test_a_period_too_short_for_a_cycle_is_refused_with_the_least():
    ring = Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")])
    pattern = RolloutPattern.from_streaming_edges(ring, [("B", "A")])
    with pytest.raises(InputError, match=r"needs a frame period of 2 update steps.*pipelined:2"):
        Rollout(ring, pattern, "pipelined:1")
    assert Rollout(ring, pattern, "pipelined:2").frame_period == Rollout(ring, pattern, "pipelined").frame_period == 2


def test_a_longer_period_brings_the_first_response_forward():
    """The example of docs/time.md: a frame every step waits for the slow path, every second step does not."""
    pattern = RolloutPattern.from_streaming_edges(SLOW_PATH, [("I", "A")])
    first = {e: Rollout(SLOW_PATH, pattern, e).first_response("O") for e in ("pipelined", "pipelined:2", "windowed")}
    assert first == {"pipelined": 2, "pipelined:2": 1, "windowed": 1}
    assert Rollout(SLOW_PATH, pattern, "windowed").frame_period == 3


def test_latencies_may_ask_for_more_than_the_chosen_period():
    ring = Network.from_edges([("I", "A"), ("A", "A")])
    rollout = Rollout(ring, "streaming", "pipelined:2")
    assert rollout.with_latencies({("A", "A"): 5}).frame_period == 5
    assert rollout.with_latencies({}).frame_period == 2


@QUICK
@given(data=st.data(), more=st.integers(0, 4))
def test_every_period_from_the_least_on_is_a_schedule(data, rollouts, more):
    net, pattern = data.draw(rollouts())
    least = Rollout(net, pattern, "pipelined").frame_period
    chosen = Rollout(net, pattern, f"pipelined:{least + more}")
    assert chosen.frame_period == least + more
    assert min(chosen.delays.values()) >= 1


def responses(rollout):
    outputs = rollout.network.outputs
    return [(rollout.first_response(o), rollout.full_response(o), rollout.worst_case_reaction(o)) for o in outputs]


def one_input(net):
    """The same network with all inputs joined into one."""
    merged = {name: "I" if name in net.inputs else name for name in net.nodes}
    edges = dict.fromkeys((merged[u], merged[v]) for u, v in net.edges)
    return Network.from_edges(edges)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_with_one_input_no_windowed_row_of_the_class_beats_pipelined_at_its_period(data, rollouts):
    net = one_input(data.draw(rollouts(max_nodes=5, max_extra=4))[0])
    for patterns in behaviour_classes(net):
        for pattern in patterns[:6]:
            windowed = Rollout(net, pattern)
            for other in patterns[:6]:
                if Rollout(net, other, "pipelined").frame_period > windowed.frame_period:
                    assert other is not pattern  # then cycles that no output sees are slower in the other
                    continue
                chosen = Rollout(net, other, f"pipelined:{windowed.frame_period}")
                for mine, theirs in zip(responses(chosen), responses(windowed), strict=True):
                    assert all(a <= b for a, b in zip(mine, theirs, strict=True))


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), more=st.integers(0, 3))
def test_with_one_input_responses_are_those_of_the_theorem(data, rollouts, more):
    """Formulas over all paths, by brute force."""
    net = one_input(data.draw(rollouts(max_nodes=5, max_extra=4))[0])
    pattern = data.draw(st.sampled_from(behaviour_classes(net)[0]))
    period = Rollout(net, pattern, "pipelined").frame_period + more
    chosen = Rollout(net, pattern, f"pipelined:{period}")
    for output in net.outputs:
        paths = [(len(path), sum(pattern[e] for e in path)) for path in simple_paths(net, output)]
        least, most = min(r for _, r in paths), max(r for _, r in paths)
        first = max(length - period * (r - least) for length, r in paths)
        assert chosen.first_response(output) == first
        assert chosen.full_response(output) == first + period * (most - least)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), more=st.integers(0, 2))
def test_with_one_input_no_phases_at_all_give_a_shorter_first_response(data, rollouts, more):
    """Every assignment of integer phases, by brute force."""
    drawn, _ = data.draw(rollouts(max_nodes=4, max_extra=2))
    net = one_input(drawn)
    for patterns in behaviour_classes(net)[:3]:
        pattern = patterns[0]
        period = Rollout(net, pattern, "pipelined").frame_period + more
        chosen = Rollout(net, pattern, f"pipelined:{period}")
        names = [n for n in net.nodes if n != "I"]
        paths = {o: list(simple_paths(net, o)) for o in net.outputs}
        span = range(-(len(names) + 1) * period, len(names) + 2)
        least = dict.fromkeys(net.outputs)
        for values in itertools.product(span, repeat=len(names)) if len(names) <= 2 else ():
            phases = {"I": 0, **dict(zip(names, values, strict=True))}
            delays = {(u, v): phases[v] - phases[u] + pattern[u, v] * period for u, v in net.edges}
            if min(delays.values()) >= 1:
                for o in net.outputs:
                    found = min(sum(delays[e] for e in path) for path in paths[o])
                    least[o] = found if least[o] is None else min(least[o], found)
        for o, found in least.items():
            assert found is None or chosen.first_response(o) == found


def simple_paths(net, output):
    todo = [("I", ())]
    while todo:
        node, path = todo.pop()
        if node == output:
            yield path
        todo += [(v, (*path, (u, v))) for u, v in net.edges if u == node and v not in {a for e in path for a in e}]


def test_samples_at_unequal_intervals_can_come_closer_than_the_frame_period():
    """A cycle of ratio 3/2: at equal intervals a frame every 2 steps, else two frames every 3, with all delays 1."""
    net = Network.from_edges([("I", "a"), ("a", "b"), ("b", "c"), ("c", "a")])
    pattern = RolloutPattern.from_streaming_edges(net, [("a", "b"), ("b", "c")])
    assert Rollout(net, pattern, "pipelined").frame_period == 2
    with pytest.raises(InputError, match="frame period"):
        Rollout(net, pattern, "pipelined:1")
    known = {"I": [0, 1, 3, 4, 6, 7, 9, 10]}  # steps at which frames are sampled, and known
    known["a"] = [step + 1 for step in known["I"]]
    known["b"] = [None, *(step + 1 for step in known["a"][:-1])]  # frame i is known one step after frame i - 1 of a
    known["c"] = [None, None, *(step + 1 for step in known["b"][1:-1])]
    for (u, v), streaming in pattern.items():
        steps = [(known[u][i - streaming], known[v][i]) for i in range(streaming, 8)]
        assert {after - before for before, after in steps if None not in (before, after)} == {1}, (u, v)
