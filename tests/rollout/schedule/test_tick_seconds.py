"""When streaming pays (docs/theorems/streaming-or-sequential.md), against a clock that visits node by node."""

import itertools
import math

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.network.network import Network
from neuromap.rollout.behaviour import enumerate_valid
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.rollout.schedule.tick_seconds import (
    FIGURES,
    TickWork,
    best_over_cores,
    crossing,
    least_first_response,
    path_first,
    seconds_of_ticks,
    seconds_on_cores,
    tick_seconds,
)

SKIP = Network.from_edges([("I", "A"), ("A", "O"), ("I", "B"), ("B", "C"), ("C", "O")], name="skip")


def near(value):
    return pytest.approx(value, rel=1e-9, abs=1e-9)


class Clock:
    """Runs a schedule tick by tick, node by node, and notes when every frame of every node is known.

    ``places`` gives every neuron's core and work; ``access`` is paid for every neuron in every tick.
    """

    def __init__(self, rollout, places, n_cores, barrier, access=0, frames=6):
        net, period = rollout.network, rollout.frame_period
        self.rollout, self.known, self.due = rollout, {}, {}
        for name, phase in rollout.phases.items():
            for i in range(-frames, 3 * frames):
                self.due.setdefault(math.floor(phase + (i - 1) * period), []).append((name, i))
        now, waiting = 0.0, []
        for tick in range(min(self.due), max(self.due) + 1):
            busy = [0.0] * n_cores
            for neurons in places.values():
                for core, _ in neurons:
                    busy[core] += access
            done = [name for name, _ in waiting]  # the work of inputs comes with the tick after their sample
            waiting = []
            for name, i in self.due.get(tick, []):
                if name in net.inputs:
                    waiting.append((name, i))
                else:
                    done.append(name)
            for name in done:
                for core, work in places[name]:
                    busy[core] += work
            before = dict(self.known)
            now += barrier + max(busy)
            for name, i in self.due.get(tick, []):
                for (u, v), r in rollout.pattern.items():
                    first = -frames + max(rollout.pattern.values)
                    assert v != name or i - r < first or (u, i - r) in before or i < 0
                self.known[name, i] = now
        self.frames = frames

    def first(self, source, i, output):
        """Seconds from the sample of a frame to the first frame of the output that depends on it."""
        touched, front = {(source, i)}, [(source, i)]
        for u, j in front:
            for (a, v), r in self.rollout.pattern.items():
                if a == u and j + r <= i + 2 * self.frames and (v, j + r) in self.known and (v, j + r) not in touched:
                    touched.add((v, j + r))
                    front.append((v, j + r))
        answers = [self.known[v, j] for v, j in touched if v == output]
        return min(answers) - self.known[source, i] if answers else math.inf

    def full(self, source, i, output):
        """The same to the frame that the slowest path has reached."""
        paths = nx.all_simple_edge_paths(nx.DiGraph(list(self.rollout.network.edges)), source, output)
        ends = [self.known[output, i + sum(self.rollout.pattern[e] for e in path)] for path in paths]
        return max(ends, default=-math.inf) - self.known[source, i]

    def measure(self, output):
        """What ``Seconds`` says, by the clock; frames from 1 on, as many as the schedule needs to repeat."""
        inputs, frames = self.rollout.network.inputs, range(1, self.rollout.frame_period.denominator + 1)
        by_input = {u: max(self.first(u, i, output) for i in frames) for u in inputs}
        by_input = {u: first for u, first in by_input.items() if first < math.inf}
        wait = {(u, i): self.known[u, i + 1] - self.known[u, i] for u in by_input for i in frames}
        return {
            "first": min(by_input.values()),
            "full": max(self.full(u, i, output) for u in inputs for i in frames),
            "period": sum(wait.values()) / len(wait),
            "reaction": max(waited + self.first(u, i + 1, output) for (u, i), waited in wait.items()),
        }


def evenly(work, names, n_cores):
    """Every node as one neuron per core."""
    return {name: [(core, work.nodes.get(name, 0) / n_cores) for core in range(n_cores)] for name in names}


@st.composite
def _works(draw, net, *, fixed=True):
    numbers = st.integers(0, 20)
    nodes = {name: draw(numbers) for name in net.nodes if name not in net.inputs or draw(st.booleans())}
    return TickWork(nodes, fixed=draw(numbers) if fixed else 0, barrier=draw(st.integers(1, 9)))


@st.composite
def _executions(draw, net, pattern):
    least = Rollout(net, pattern, "pipelined").frame_period
    kinds = ["windowed", "pipelined", "pipelined:best", f"pipelined:{least + draw(st.integers(0, 3))}"]
    return Rollout(net, pattern, draw(st.sampled_from(kinds)))


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_sums_of_ticks_are_the_times_by_the_clock(rollouts, data):
    """Theorem 1, for any network, pattern (bridging edges too), execution and even spread."""
    net, pattern = data.draw(rollouts(max_nodes=5, max_extra=4, most=2))
    rollout, work = data.draw(_executions(net, pattern)), data.draw(_works(net))
    n_cores, output = data.draw(st.integers(1, 4)), data.draw(st.sampled_from(net.outputs))
    places = evenly(work, net.nodes, n_cores)
    access = work.fixed / sum(map(len, places.values()))
    clock = Clock(rollout, places, n_cores, work.barrier_of(n_cores), access, frames=2 * len(net.nodes) + 3)
    found = seconds_on_cores(rollout, work, n_cores, output)
    assert {name: getattr(found, name) for name in FIGURES} == near(clock.measure(output))


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), steps=st.lists(st.integers(0, 4), max_size=3), figure=st.sampled_from(FIGURES))
def test_rollouts_cross_once_and_where_it_says(rollouts, data, steps, figure):
    """Theorem 1, for a barrier that grows in steps: ahead on all cores on one side of N*, on none on the other."""
    net, pattern = data.draw(rollouts(max_nodes=5, max_extra=4))
    other = data.draw(st.sampled_from(list(itertools.islice(enumerate_valid(net), 40))))
    a, b = data.draw(_executions(net, pattern)), data.draw(_executions(net, other))
    even = data.draw(_works(net))
    barrier = list(
        itertools.accumulate(
            [(1, even.barrier_of(1)), *((3, s) for s in steps)], lambda x, y: (x[0] + y[0], x[1] + y[1])
        )
    )
    work = TickWork(even.nodes, even.fixed, barrier)
    output = data.draw(st.sampled_from(net.outputs))
    if figure == "reaction" and a.frame_period.denominator * b.frame_period.denominator > 1:
        with pytest.raises(InputError, match="unequal intervals"):
            crossing(a, b, work, figure, output)
        return
    found = crossing(a, b, work, figure, output)
    assert found.least <= found.cores <= found.most
    ahead = []
    for n in range(1, 17):
        mine, theirs = (getattr(seconds_on_cores(r, work, n, output), figure) for r in (a, b))
        if mine != near(theirs):
            assert found.is_ahead(n) == (mine < theirs)
        ahead += [n] if found.is_ahead(n) else []
    if ahead:
        assert found.first_cores == ahead[0]
    elif found.first_cores is not None:
        assert found.first_cores > 16


def test_the_paper_case_in_closed_form():
    """L = 2, F = 3: streaming answers first iff W/N < b (F - L)/(L - 1); neurons gone through in every tick help it."""
    work = TickWork(dict.fromkeys("ABCO", 10e-6), barrier=1e-6)
    streaming, sequential = Rollout(SKIP, "streaming"), Rollout(SKIP, "sequential")
    assert crossing(streaming, sequential, work).cores == near(40)
    assert crossing(sequential, streaming, work) == crossing(sequential, streaming, work, "first", "O")
    assert not crossing(sequential, streaming, work).is_above
    assert crossing(streaming, sequential, TickWork(work.nodes, 25e-6, 1e-6)).cores == near(15)
    assert crossing(streaming, sequential, TickWork(work.nodes, 25e-6, [(1, 1e-6), (10, 2e-6)])).first_cores == 10
    assert crossing(streaming, sequential, TickWork(work.nodes, 40e-6, 1e-6)).first_cores == 1
    assert crossing(streaming, sequential, TickWork(work.nodes)).first_cores is None  # no barrier: never
    assert crossing(streaming, sequential, work, "period").first_cores == 1
    assert crossing(streaming, sequential, work, "full").first_cores is None
    assert crossing(streaming, sequential, work, "reaction").cores == near(40 / 3)


def test_a_step_of_the_barrier_may_lie_on_the_crossing():
    work = TickWork(dict.fromkeys("ABCO", 10e-6), barrier=[(1, 1e-6), (30, 4e-6)])
    found = crossing(Rollout(SKIP, "streaming"), Rollout(SKIP, "sequential"), work)
    assert (found.cores, found.first_cores, found.is_ahead(29), found.is_ahead(30)) == (29.5, 30, False, True)
    back = crossing(Rollout(SKIP, "sequential"), Rollout(SKIP, "streaming"), work)
    assert (back.is_ahead(29), back.is_ahead(30)) == (True, False)


def test_the_three_patterns_need_not_be_best():
    """A computes first, then I is sampled, and O answers in the same window: less work than in the three patterns."""
    net = Network.from_edges([("I", "A"), ("I", "O"), ("A", "O")])
    work = TickWork({"A": 19e-6, "O": 5e-6}, barrier=1e-6)
    every = [Rollout(net, pattern, e) for pattern in enumerate_valid(net) for e in ("windowed", "pipelined")]
    (best,) = best_over_cores(every, work)
    assert best.rollout.pattern.streaming_edges == (("I", "A"),)
    for n_cores in (1, 10, 1000):
        assert seconds_on_cores(best.rollout, work, n_cores).first == near(1e-6 + 5e-6 / n_cores)
        assert least_first_response(net, work, n_cores) == (near(1e-6 + 5e-6 / n_cores), ("I", "O"))


def test_a_light_way_is_best_on_few_cores_and_a_short_one_on_many():
    net = Network.from_edges([("I", "H"), ("H", "O"), ("I", "A"), ("A", "B"), ("B", "O")])
    work = TickWork({"H": 50e-6, "A": 5e-6, "B": 5e-6, "O": 5e-6}, barrier=1e-6)
    ways = [path_first(net, way) for way in (("I", "H", "O"), ("I", "A", "B", "O"))]
    few, many = best_over_cores(ways, work)
    assert (few.rollout, many.rollout) == (ways[1], ways[0])
    assert many.cores == near(40)
    assert [len(least_first_response(net, work, n)[1]) for n in (39, 41)] == [4, 3]


def test_without_skips_streaming_never_answers_first():
    """F = L: the statement "where cores are plenty" needs a path that is shorter than the longest."""
    chain = Network.from_edges([("I", "A"), ("A", "B"), ("B", "O")])
    work = TickWork(dict.fromkeys("ABO", 1e-6), barrier=1e-6)
    assert crossing(Rollout(chain, "streaming"), Rollout(chain, "sequential"), work).first_cores is None


def test_on_endless_cores_the_busiest_neurons_decide():
    """Paper: a streaming frame takes the slowest node's time. In ticks plenty of cores need not be enough then."""
    grains = {"A": 10e-6, "B": 1e-6, "C": 1e-6, "O": 1e-6}
    work = TickWork(dict.fromkeys("ABCO", 10e-6), barrier=1e-6, grains=grains)
    streaming, sequential = Rollout(SKIP, "streaming"), Rollout(SKIP, "sequential")
    first = [seconds_on_cores(r, work, 10**6).first for r in (streaming, sequential)]
    assert first == near([22e-6, 15e-6])
    assert crossing(streaming, sequential, work).most == math.inf


# All patterns, executions and phases.


def schedules(net, longest=3):
    """All valid patterns, windowed and at all frame periods up to a number; every phase of up to two computed nodes."""
    for pattern in enumerate_valid(net):
        yield Rollout(net, pattern)
        least = Rollout(net, pattern, "pipelined").frame_period
        for period in range(least, max(least, longest) + 1):
            rollout = Rollout(net, pattern, f"pipelined:{period}")
            yield rollout
            hidden = [v for v in net.nodes if v not in net.inputs]
            if len(hidden) <= 2:
                for moves in itertools.product(range(-period, period + 1), repeat=len(hidden)):
                    try:
                        phases = {v: rollout.phases[v] + move for v, move in zip(hidden, moves, strict=True)}
                        moved = rollout.with_phases(phases)
                    except InputError:
                        continue
                    yield moved


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_no_schedule_answers_before_the_path_first(rollouts, data):
    """Theorem 2: the least first response is that of a path, and computing the path first attains it."""
    net, _ = data.draw(rollouts(max_nodes=4, max_extra=3))
    work, n_cores = data.draw(_works(net)), data.draw(st.integers(1, 5))
    output = data.draw(st.sampled_from(net.outputs))
    least, path = least_first_response(net, work, n_cores, output)
    assert seconds_on_cores(path_first(net, path), work, n_cores, output).first == near(least)
    for rollout in itertools.islice(schedules(net), 60):
        assert seconds_on_cores(rollout, work, n_cores, output).first >= least * (1 - 1e-9)


def paths_and_periods(net, output):
    """All simple paths from inputs to an output, each with the frame periods up to one more than its edges."""
    graph = nx.DiGraph(list(net.edges))
    for source in net.inputs:
        for path in nx.all_simple_paths(graph, source, output):
            yield from ((path, period) for period in range(1, len(path) + 1))


def reaction_of(work, n_cores, path, period):
    """The formula of theorem 3: edges and period in ticks, all work once a turn, that of a part of a turn once more."""
    z, total = n_cores * work.barrier_of(n_cores) + work.fixed, sum(work.nodes.values())
    steps = [work.nodes.get(v, 0) for v in path[1:]]
    steps[0] += work.nodes.get(path[0], 0)
    turns, rest = divmod(len(steps), period)
    again = sum(w for k, w in enumerate(steps) if k % period < rest)
    return ((len(steps) + period) * z + (1 + turns) * total + again) / n_cores


def bridged_path_first(net, path, period):
    """The path a node a tick, all else at the end of a turn, over edges that bridge as many frames as need be."""
    steps = set(itertools.pairwise(path))
    pattern = RolloutPattern(net, tuple(0 if edge in steps else len(path) for edge in net.edges))
    phases = {v: -1 if v in net.inputs else 0 for v in net.nodes} | {v: k for k, v in enumerate(path)}
    return Rollout(net, pattern, f"pipelined:{period}").with_phases(phases)


def reaction_to(rollout, work, n_cores, output, source):
    """To an event at one input: all ticks from a sample to the answer to the next, counted back from the answer."""
    lengths, end = tick_seconds(rollout, work, n_cores), rollout.phases[output]
    n_ticks = rollout.worst_case_reaction(output, source=source) + 1
    return sum(lengths[(end - back) % rollout.frame_period] for back in range(n_ticks))


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_no_schedule_reacts_before_the_formula(rollouts, data):
    """Theorem 3: a bound for all schedules and inputs, attained at every path and period."""
    net, _ = data.draw(rollouts(max_nodes=4, max_extra=3))
    work, n_cores = data.draw(_works(net)), data.draw(st.integers(1, 5))
    output = data.draw(st.sampled_from(net.outputs))
    found = [(reaction_of(work, n_cores, *case), *case) for case in paths_and_periods(net, output)]
    least = {u: min((seconds for seconds, path, _ in found if path[0] == u), default=0) for u in net.inputs}
    for rollout in itertools.islice(schedules(net), 60):
        assert seconds_on_cores(rollout, work, n_cores, output).reaction >= max(least.values()) * (1 - 1e-9)
    for seconds, path, period in found:
        bridged = bridged_path_first(net, path, period)
        assert reaction_to(bridged, work, n_cores, output, path[0]) == near(seconds)
        if period == len(path):
            assert reaction_to(path_first(net, path), work, n_cores, output, path[0]) == near(seconds)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_no_schedule_is_complete_before_the_sequential_one(rollouts, data):
    """Theorem 4, for one input and no cycles: every node is on a path, or the bound is below."""
    drawn, _ = data.draw(rollouts(max_nodes=5, max_extra=4))
    edges = {("I" if u in drawn.inputs else u, v): None for u, v in drawn.edges if u < v}
    net = Network.from_edges(edges)
    work, n_cores = data.draw(_works(net)), data.draw(st.integers(1, 5))
    output = data.draw(st.sampled_from(net.outputs))
    graph = nx.DiGraph(list(net.edges))
    on_way = (nx.ancestors(graph, output) | {output}) & (nx.descendants(graph, "I") | {"I"})
    longest = max(len(path) - 1 for path in nx.all_simple_paths(graph, "I", output))
    z = n_cores * work.barrier_of(n_cores) + work.fixed
    least = (longest * z + sum(work.nodes.get(v, 0) for v in on_way)) / n_cores
    for rollout in itertools.islice(schedules(net), 60):
        assert seconds_on_cores(rollout, work, n_cores, output).full >= least * (1 - 1e-9)
    sequential = Rollout(net, "sequential")
    if set(net.nodes) == on_way:
        assert seconds_on_cores(sequential, work, n_cores, output).full == near(least)


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), figure=st.sampled_from(["first", "full", "period", "reaction"]))
def test_the_best_over_cores_is_the_best_on_each(rollouts, data, figure):
    net, _ = data.draw(rollouts(max_nodes=5, max_extra=3))
    patterns = list(itertools.islice(enumerate_valid(net), 12))
    every = [Rollout(net, p, e) for p in patterns for e in ("windowed", "pipelined")]
    work, output = data.draw(_works(net)), data.draw(st.sampled_from(net.outputs))
    best = best_over_cores(every, work, figure, output)
    assert best[0].cores == 0
    for n in (1, 3, 9, 100, 10**4):
        chosen = [one.rollout for one in best if one.cores <= n][-1]
        figures = [getattr(seconds_on_cores(r, work, n, output), figure) for r in (chosen, *every)]
        assert figures[0] == near(min(figures))


# Uneven neurons.


def dealt(works, rollout, n_cores):
    """Neurons of every phase from the busiest to the idlest, core by core, the next phase from where the last ended."""
    period = rollout.frame_period
    by_phase = {}
    for name, neurons in works.items():
        by_phase.setdefault((rollout.phases[name] + (name in rollout.network.inputs)) % period, []).extend(
            (w, name) for w in neurons
        )
    places, core = {name: [] for name in works}, 0
    for neurons in by_phase.values():
        for w, name in sorted(neurons, reverse=True):
            places[name].append((core % n_cores, w))
            core += 1
    return places


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_dealt_neurons_come_within_a_grain_of_the_even_spread(rollouts, data):
    """Theorem 5: no placement is below the even spread; dealing is above it by less than a grain a tick."""
    net, pattern = data.draw(rollouts(max_nodes=5, max_extra=4))
    rollout = data.draw(_executions(net, pattern).filter(lambda r: r.frame_period.denominator == 1))
    n_cores, access, barrier = (data.draw(st.integers(*ends)) for ends in ((1, 4), (0, 3), (1, 9)))
    works = {v: data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=5)) for v in net.nodes}
    n_neurons = sum(map(len, works.values()))
    grains = {v: max(w) + access for v, w in works.items()}
    work = TickWork({v: sum(w) for v, w in works.items()}, access * n_neurons, barrier, grains)
    least = tick_seconds(rollout, work, n_cores)
    even = tick_seconds(rollout, TickWork(work.nodes, work.fixed, barrier), n_cores)

    def lengths(places):
        found = []
        for tick in range(rollout.frame_period):
            busy = [0] * n_cores
            for name, neurons in places.items():
                due = (rollout.phases[name] + (name in net.inputs) - tick) % rollout.frame_period == 0
                for core, w in neurons:
                    busy[core] += access + w * due
            found.append(barrier + max(busy))
        return found

    anywhere = {v: [(data.draw(st.integers(0, n_cores - 1)), w) for w in neurons] for v, neurons in works.items()}
    assert all(a <= b + 1e-9 for a, b in zip(least, lengths(anywhere), strict=True))
    grain_of = tick_seconds(rollout, TickWork({}, 0, 0, grains), n_cores)
    for low, mean, found, grain in zip(least, even, lengths(dealt(works, rollout, n_cores)), grain_of, strict=True):
        assert low <= found + 1e-9
        assert found <= mean + max(grain, access) * (1 - 1 / n_cores) + 1e-9
    output = data.draw(st.sampled_from(net.outputs))
    clock = Clock(rollout, dealt(works, rollout, n_cores), n_cores, barrier, access, frames=2 * len(net.nodes) + 3)
    summed = seconds_of_ticks(rollout, lengths(dealt(works, rollout, n_cores)), output)
    assert {name: getattr(summed, name) for name in FIGURES} == near(clock.measure(output))


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_outside_of_its_bounds_the_crossing_holds_for_dealt_neurons(rollouts, data):
    """Theorem 5: with all neurons of both dealt, or those of one dealt and the other as well as can be."""
    net, _ = data.draw(rollouts(max_nodes=5, max_extra=3))
    works = {v: data.draw(st.lists(st.integers(0, 9), min_size=4, max_size=9)) for v in net.nodes}
    access, barrier = data.draw(st.integers(0, 2)), data.draw(st.integers(1, 9))
    work = TickWork(
        {v: sum(w) for v, w in works.items()},
        access * sum(map(len, works.values())),
        barrier,
        {v: max(w) + access for v, w in works.items()},
    )
    streaming, sequential = Rollout(net, "streaming"), Rollout(net, "sequential")
    output = data.draw(st.sampled_from(net.outputs))
    found = crossing(streaming, sequential, work, "first", output)
    for n_cores in range(1, 12):
        seconds = []
        for rollout in (streaming, sequential):
            busy = [[0] * n_cores for _ in range(rollout.frame_period)]
            for name, neurons in dealt(works, rollout, n_cores).items():
                due = (rollout.phases[name] + (name in net.inputs)) % rollout.frame_period
                for core, w in neurons:
                    busy[due][core] += w
                    for tick in busy:
                        tick[core] += access
            seconds.append(seconds_of_ticks(rollout, [barrier + max(tick) for tick in busy], output).first)
        if n_cores > found.most:
            assert seconds[0] < seconds[1] + 1e-9 or not found.is_above
        if n_cores < found.least:
            assert seconds[0] > seconds[1] - 1e-9 or not found.is_above


# Neurons of one phase a core.


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(works=st.lists(st.integers(1, 30), min_size=2, max_size=3), n_cores=st.integers(3, 24))
def test_cores_of_one_phase_take_the_square_of_the_sum_of_roots(works, n_cores):
    """Proposition 6: least sum of W_p / N_p over all ways to give N cores to phases, by all of them."""
    ways = [w for w in itertools.product(range(1, n_cores + 1), repeat=len(works)) if sum(w) <= n_cores]
    least = min(sum(w / n for w, n in zip(works, way, strict=True)) for way in ways)
    bound = sum(math.sqrt(w) for w in works) ** 2 / n_cores
    assert least >= bound * (1 - 1e-9)
    assert bound <= len(works) * sum(works) / n_cores + 1e-9
    roots = [math.sqrt(w) for w in works]
    shares = [n_cores * r / sum(roots) for r in roots]
    assert sum(w / n for w, n in zip(works, shares, strict=True)) == near(bound)


def test_bad_input_is_refused_in_one_line():
    rollout, work = Rollout(SKIP, "streaming"), TickWork({"A": 1.0})
    two = Rollout(Network.from_edges([("I", "A"), ("I", "B")]), "streaming")
    for wrong, message in (
        (lambda: TickWork({"A": -1.0}), "A: found -1.0; seconds are 0 or more"),
        (lambda: TickWork({}, barrier=[(2, 1.0)]), "from 1 core on"),
        (lambda: TickWork({}, barrier=[(1, 2.0), (3, 1.0)]), "both rising"),
        (lambda: tick_seconds(rollout, TickWork({"X": 1.0}), 1), "'X': is not a node"),
        (lambda: tick_seconds(rollout, work, 0), "must be 1 or more"),
        (lambda: seconds_of_ticks(rollout, []), "repeats after 1"),
        (lambda: seconds_of_ticks(two, [1.0]), "choose one of A, B"),
        (lambda: seconds_of_ticks(rollout, [1.0], "A"), "output A: is not an output"),
        (lambda: crossing(rollout, two, work), "compare rollouts of one network"),
        (lambda: crossing(rollout, rollout, work, "half"), "choose one of first"),
        (lambda: best_over_cores([], work), "give one or more"),
        (lambda: path_first(SKIP, ["A", "O"]), "is not a path"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
