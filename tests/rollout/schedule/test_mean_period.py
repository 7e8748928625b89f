"""As closely as fixed delays allow: the least mean frame period, against all delays of small networks."""

from fractions import Fraction
from itertools import pairwise, product
from math import floor

import networkx as nx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from neuromap.arrays.times import tick_of_frame
from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.rollout.indexed_pattern import IndexedPattern
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.node_times import indexed_cycle_ratio
from neuromap.rollout.schedule.phases import FrameShifts, least_mean_period, pipelined_phases, sample_late
from neuromap.rollout.schedule.rollout import Rollout

RING = Network.from_edges([("I", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "O")])
BEST = "pipelined:best"


def ring(latencies=None, least_period=1):
    pattern = RolloutPattern.from_streaming_edges(RING, [("a", "b"), ("b", "c")])
    return Rollout(RING, pattern, BEST, latencies, least_period)


@st.composite
def small_patterns(draw, rollouts, interleaved_edges, most_edges):
    """A pattern with any R of 0 or more, often one whose frames fall into streams, with latencies."""
    if draw(st.booleans()):
        _, pattern = draw(rollouts(max_nodes=4, max_extra=2, most=1))
        graph, values = pattern.indexed.graph, pattern.values
    else:
        edges = draw(interleaved_edges())
        graph, values = RolloutPattern.streaming(Network.from_edges(edges)).indexed.graph, tuple(edges.values())
    assume(len(values) <= most_edges)
    times = draw(st.integers(1, 2))
    more = [draw(st.integers(0, 1)) if times == 1 and r else 0 for r in values]
    latencies = tuple(draw(st.integers(1, 2)) for _ in values)
    return IndexedPattern(graph, tuple(times * r + k for r, k in zip(values, more, strict=True))), latencies


def schedule(pattern, latencies, least):
    """The schedule's period, phases and delays."""
    period = least_mean_period(indexed_cycle_ratio(pattern, latencies), FrameShifts(pattern).streams, least)
    phases = pipelined_phases(pattern, latencies, period)
    sample_late(pattern, latencies, period, phases)
    ends = zip(pattern.graph.sources, pattern.graph.targets, pattern.values, strict=True)
    return period, phases, [phases[v] - phases[u] + r * period for u, v, r in ends]


def mean_periods(pattern, delays, n_frames):
    """Mean frame periods that fixed delays force, one per part of the network; None if they contradict each other.

    The times of frames are potentials on a graph of (node, frame): an edge fixes a difference. In a part of the graph
    all differences are known; parts of the graph may be moved against each other.
    """
    graph, known = nx.Graph(), {}
    n = pattern.graph.n
    graph.add_nodes_from(product(range(n), range(n_frames)))
    ends = list(zip(pattern.graph.sources, pattern.graph.targets, pattern.values, delays, strict=True))
    for u, v, r, d in ends:
        for i in range(r, n_frames):
            a, b = (u, i - r), (v, i)
            if graph.has_edge(a, b) and graph[a][b]["to"][b] - graph[a][b]["to"][a] != d:
                return None
            graph.add_edge(a, b, to={a: 0, b: d})
    part_of = {}
    for number, part in enumerate(nx.connected_components(graph)):
        start = min(part)
        known[start] = 0
        for a, b in nx.bfs_edges(graph, start):
            to = graph[a][b]["to"]
            known[b] = known[a] + to[b] - to[a]
        part_of |= dict.fromkeys(part, number)
        if any(known[b] - known[a] != e["to"][b] - e["to"][a] for a, b, e in graph.subgraph(part).edges(data=True)):
            return None
    periods = {}
    for v in range(n):
        # far from both ends, so that every path that ties frames has room
        middle = n_frames // 3
        tied = [k for k in range(1, n_frames // 3) if part_of[v, middle] == part_of[v, middle + k]]
        if tied:
            k = tied[0]
            periods[v] = Fraction(known[v, middle + k] - known[v, middle], k)
    return periods


def hold_against_all_delays(pattern, latencies):
    """All delays up to one more than the least, and those of the schedule; enough frames for ties of so few nodes."""
    period, _, delays = schedule(pattern, latencies, 1)
    box = list(product(*((c, c + 1) for c in latencies)))
    for tried in [*box, tuple(map(int, delays))]:
        found = mean_periods(pattern, tried, 36)
        if found is not None and len(set(found.values())) == 1:
            (mean,) = set(found.values())
            assert mean >= period or mean < 1  # else two frames of a node would be in one tick
    forced = mean_periods(pattern, tuple(map(int, delays)), 36)
    assert forced is not None
    assert set(forced.values()) <= {period}
    assert bool(forced) == (FrameShifts(pattern).streams > 0)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1200, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_no_fixed_delays_give_a_smaller_mean_period(data, rollouts, interleaved_edges):
    hold_against_all_delays(*data.draw(small_patterns(rollouts, interleaved_edges, most_edges=5)))


def hold_in_ticks(pattern, latencies, least):
    """Every edge carries every frame for the same time, and frames are floor(P) or ceil(P) apart."""
    period, phases, delays = schedule(pattern, latencies, least)
    assert all(d == int(d) and d >= c for d, c in zip(delays, latencies, strict=True))
    ticks = [[tick_of_frame(phase, period, i) for i in range(24)] for phase in phases]
    for e, (u, v) in enumerate(zip(pattern.graph.sources, pattern.graph.targets, strict=True)):
        r = pattern.values[e]
        assert {ticks[v][i] - ticks[u][i - r] for i in range(r, 24)} == {delays[e]}
    for row in ticks:
        gaps = {b - a for a, b in pairwise(row)}
        assert gaps <= {floor(period), -(-period.numerator // period.denominator)}
        assert min(gaps) >= least
    return period


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), least=st.integers(1, 3))
def test_it_is_reached_with_fixed_delays_and_most_even_gaps(data, rollouts, interleaved_edges, least):
    pattern, latencies = data.draw(small_patterns(rollouts, interleaved_edges, most_edges=20))
    period = hold_in_ticks(pattern, latencies, least)
    assert FrameShifts(pattern).streams % period.denominator == 0
    ratio = indexed_cycle_ratio(pattern, latencies)
    if ratio is not None:
        assert ratio <= period <= max(least, -(-ratio.numerator // ratio.denominator))


def test_several_inputs_are_sampled_where_their_streams_are():
    """Walks from J are longest around the cycle, the one to x comes from I: their fractions of a step must fit."""
    ring = {("I", "a"): 0, ("a", "b"): 1, ("b", "c"): 1, ("c", "d"): 1, ("d", "a"): 0}
    edges = {**ring, ("J", "c"): 0, ("I", "x"): 0, ("x", "b"): 1}
    pattern = RolloutPattern(Network.from_edges(edges), tuple(edges.values())).indexed
    assert FrameShifts(pattern).streams == 3
    assert hold_in_ticks(pattern, (1,) * 8, 1) == Fraction(4, 3)


def test_a_ring_of_three_edges_with_two_frames_on_their_way():
    best = ring()
    assert best.frame_period == Fraction(3, 2)
    assert set(best.delays.values()) == {1}
    assert [tick_of_frame(best.phases["I"], best.frame_period, i) for i in range(6)] == [0, 1, 3, 4, 6, 7]
    assert best.largest_gap == 2
    assert (best.first_response("O"), best.worst_case_reaction("O")) == (4, 5)
    assert best.sampling_frequency(1e-3) == pytest.approx(2000 / 3)


def test_in_ticks_of_a_longer_step_the_intervals_are_more_even():
    """Two ticks a step: a frame every 3 ticks, so the worst case waits for 3 and not for 4 ticks."""
    assert ring().worst_case_reaction("O", 2) == 4 * 2 + 3 - 1


def test_latencies_and_busy_nodes_lengthen_it():
    assert ring({("c", "a"): 2}).frame_period == 2
    assert ring({("c", "a"): 3}).frame_period == Fraction(5, 2)
    assert ring({("c", "a"): 3}, least_period=4).frame_period == 4


def test_without_cycles_a_frame_is_taken_in_every_step():
    net = Network.from_edges([("I", "A"), ("A", "O"), ("I", "O")])
    assert Rollout(net, "sequential", BEST).frame_period == 1


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_it_belongs_to_the_behaviour_class_and_is_no_longer_than_at_equal_intervals(data, rollouts, relatives):
    drawn, p = data.draw(rollouts(max_nodes=6))
    network = Network.from_edges(drawn.edges, outputs=[v for v in drawn.nodes if v not in drawn.inputs])
    pattern = RolloutPattern(network, p.values)
    best = Rollout(network, pattern, BEST).frame_period
    equal = Rollout(network, pattern, "pipelined")
    assert best <= equal.frame_period < best + 1
    if best == equal.frame_period:
        assert Rollout(network, pattern, BEST).phases == equal.phases
    assert Rollout(network, data.draw(relatives(pattern)), BEST).frame_period == best


def test_an_unknown_execution_is_told_of_it():
    with pytest.raises(InputError, match="pipelined:best"):
        Rollout(RING, "streaming", "pipelined:worst")


def test_a_least_period_below_one_is_refused():
    with pytest.raises(InputError, match="least_period = 0: must be 1 or more"):
        Rollout(Network.from_edges([("I", "O")]), "streaming", BEST, least_period=0)
