"""Ticks that last as long as their work: the clock against a walk over every spike, and its bounds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import ChipError
from neuromap.explorer.candidates.asked import energy_bound
from neuromap.hardware.chip.chip_file import with_figures
from neuromap.hardware.chip.chip_spec import tick_costs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron
from neuromap.network.transforms import Dense
from neuromap.simulation.cost.energy import energy_of
from neuromap.simulation.cost.tick_times import FrameSeconds, tick_clock
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks

CHIP = with_figures(
    nm.load_chip("loihi1"), {"core.neurons": 6, "core.axons": 40, "grid.cores": [4, 4], "time.delay": [1, 4]}
)


def spiking(seed: int) -> ChipProgram:
    """Map a random spiking network with a loop, delays and biases onto small cores."""
    rng = np.random.default_rng(seed)
    sizes = {"in": 5, "a": int(rng.integers(3, 12)), "b": int(rng.integers(3, 12))}

    def dense(u: str, v: str) -> Edge:
        weights = rng.integers(-2, 4, (sizes[v], sizes[u])) * 64
        return Edge(u, v, Dense((1, 1, sizes[u]), (1, 1, sizes[v]), weights=weights))

    def neuron(size: int) -> CurrentNeuron:
        bias = rng.integers(0, 3, size) * 32
        return CurrentNeuron(threshold=192, voltage_decay=int(rng.choice([0, 1024, 4096])), bias=bias)

    nodes = {name: Node(name, (1, 1, n), neuron=None if name == "in" else neuron(n)) for name, n in sizes.items()}
    edges = {pair: dense(*pair) for pair in (("in", "a"), ("a", "b"), ("b", "a"))}
    program = nm.map_rollout(nm.Rollout(Network("random", nodes, edges), "streaming"), chip=CHIP)
    delay = rng.integers(1, 4, len(program.synapses.delay)).astype(np.uint8)  # neighbours with other delays too
    return replace(program, synapses=replace(program.synapses, delay=delay))


def frames(seed: int) -> dict[str, np.ndarray]:
    return {"in": np.random.default_rng(seed).random((9, 5)) < 0.6}


def walk(program: ChipProgram, ticks: list[TickSpikes]) -> list[tuple[Fraction, int, int]]:
    """Time ticks by hand: seconds without the barrier, active neurons, arrivals; no code in common with the clock."""
    costs = tick_costs(program.chip)
    names = ("access", "update", "fire", "spike", "arrival", "event")
    each = {key: Fraction(round(getattr(costs, key) * 1e15)) for key in names}
    hop = [Fraction(round(cost * 1e15)) for cost in (costs.hop_x, costs.hop_y)]
    wires, routers = defaultdict(list), program.coordinates // np.array(program.chip.tile)
    for core, neuron, target, axon, delay in zip(*(column.tolist() for column in program.wires), strict=True):
        wires[core, neuron].append((target, axon, delay))
    synapses = defaultdict(list)
    at = [(core, axon) for core, count in enumerate(program.axon_counts.tolist()) for axon in range(count)]
    found = program.synapses_of(*np.array(at).T)
    for row, neuron, _, delay in zip(*(column.tolist() for column in found), strict=True):
        synapses[at[row]].append((neuron, delay))
    reached, result = defaultdict(set), []
    for tick in ticks:
        queue = defaultdict(list)  # arrivals by core
        fired = set(zip(tick.cores.tolist(), tick.neurons.tolist(), strict=True))
        for place in {*zip(tick.host_cores.tolist(), tick.host_axons.tolist(), strict=True)}:
            queue[place[0]].append((Fraction(0), each["arrival"] + each["event"] * len(synapses[place])))
            for neuron, delay in synapses[place]:
                reached[tick.tick + delay].add((place[0], neuron))
        ends, n_active = [], 0
        for core in range(program.n_cores):
            now = Fraction(0)
            for neuron in np.flatnonzero(program.neurons_in_use[core]).tolist():
                now += each["access"]
                if (
                    tick.held[core, neuron]
                    or program.neurons.bias[core, neuron]
                    or (core, neuron) in reached[tick.tick]
                ):
                    now += each["update"]
                    n_active += 1
                if (core, neuron) not in fired:
                    continue
                now += each["fire"]
                for target, axon, delay in wires[core, neuron]:
                    now += each["spike"]
                    way = np.abs(routers[core] - routers[target]).tolist()
                    work = each["arrival"] + each["event"] * len(synapses[target, axon])
                    queue[target].append((now + way[0] * hop[0] + way[1] * hop[1], work))
                    for n, late in synapses[target, axon]:
                        reached[tick.tick + delay + late].add((target, n))
            ends.append(now)
        for spikes in queue.values():
            done = Fraction(0)
            for arrival, work in sorted(spikes, key=lambda spike: spike[0]):
                done = max(done, arrival) + work
            ends.append(done)
        result.append((max(ends), n_active, sum(map(len, queue.values()))))
    return result


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_clock_is_the_walk_and_lies_between_its_bounds(seed: int) -> None:
    program = spiking(seed)
    ticks = list(run_ticks(program, frames(seed), holding=True))
    clock = tick_clock(program)
    for spikes in ticks:
        clock.add(spikes)
    times, walked = clock.result(), walk(program, ticks)
    assert np.round((times.seconds - times.barrier) * 1e15).astype(int).tolist() == [int(t) for t, _, _ in walked]
    assert (times.active, times.arrivals) == (sum(w[1] for w in walked), sum(w[2] for w in walked))
    assert (times.least <= times.seconds).all()
    assert (times.seconds <= times.bound).all()
    assert times.critical.sum() == len(times)
    tiles = len({tuple(place) for place in (program.coordinates // 2).tolist()})
    assert times.barrier == {1: 0.6e-6, 2: 1.0e-6, 3: 1.0e-6}.get(tiles, 1.4e-6)


def test_with_a_barrier_alone_seconds_are_ticks() -> None:
    figures = {f"time.{key}": 0.0 for key in nm.load_chip("loihi1").timing}
    figures |= {"time.barrier_seconds": [[1, 2e-6]], "router.hop_x_seconds": 0.0, "router.hop_y_seconds": 0.0}
    net = nm.load_network("examples/on_chip/sr.toml")
    report = nm.latency_report(
        net, chip=with_figures(nm.load_chip("loihi1"), figures), patterns=["streaming", "sequential"]
    )
    for row in report.rows:
        for responses in (row.predicted, row.measured):
            assert responses.first_response_seconds == pytest.approx(2e-6 * responses.first_response_ticks)
            assert responses.full_response_seconds == pytest.approx(2e-6 * responses.full_response_ticks)
        assert row.worst_case_reaction_seconds == pytest.approx(2e-6 * row.worst_case_reaction_ticks)
        assert row.sampling_frequency_hz == pytest.approx(1 / (2e-6 * row.frame_period_ticks))


def test_a_response_ends_in_the_tick_in_which_its_output_is_computed() -> None:
    """I1 is sampled a tick later than I2: an answer to it after one tick is the short tick, not that of A."""
    rng = np.random.default_rng(0)
    weights = {("I2", "A"): rng.integers(0, 2, (400, 8)), ("A", "O"): rng.integers(0, 2, (4, 400))}
    sizes = {"I1": (8, None), "I2": (8, None), "A": (400, 1), "O": (4, 1)}
    net = nm.build_network(sizes, {**weights, ("I1", "O"): np.ones((4, 8), int)})
    (row,) = nm.latency_report(net, chip="loihi1", patterns=["sequential"], executions=["windowed"]).rows
    assert (row.measured.first_response_ticks, row.measured.full_response_ticks, row.frame_period_ticks) == (1, 2, 2)
    output = next(port.sample_tick for port in row.ports if port.name == "O")
    lengths = [row.seconds.tick(output + k) for k in (0, 1)]
    assert lengths[1] > 3 * lengths[0]
    assert row.measured.first_response_seconds == pytest.approx(lengths[0])
    assert row.measured.full_response_seconds == pytest.approx(sum(lengths))


def test_spans_go_round_the_window() -> None:
    ticks = np.arange(1.0, 7.0)[None]  # three frames, two ticks apart; the window begins at tick 10, with frame 5
    found = FrameSeconds(ticks, 2 * ticks, 2, first_frame=5, first_tick=10)
    assert found.n_frames == 3
    assert found.frame_period() == pytest.approx([7.0])
    assert found.span(0, 1) == pytest.approx([(2 + 4 + 6) / 3])  # the tick after each sample
    assert found.span(0, 3) == pytest.approx([(2 + 3 + 4 + 4 + 5 + 6 + 6 + 1 + 2) / 3])
    assert found.span(0, 8, "bound") == pytest.approx(2 * (21 + found.span(0, 2)))
    assert found.span(0, 1, early=1) == pytest.approx([(1 + 2 + 3 + 4 + 5 + 6) / 3])


def test_energy_has_a_term_for_every_event() -> None:
    program = spiking(3)
    activity = nm.measure_activity(program, frames(3))
    energy = energy_of(program.chip, activity.counts)
    counts = {term.key: term.count for term in energy.terms}
    assert counts["neuron_access_joules"] == activity.work.neuron_updates
    assert counts["neuron_update_joules"] == activity.times.active < counts["neuron_access_joules"]
    assert counts["fire_joules"] == activity.work.spikes
    assert counts["hop_x_joules"] + counts["hop_y_joules"] == activity.traffic.hops
    assert counts["arrival_joules"] == activity.times.arrivals
    assert energy.seconds == pytest.approx(activity.times.seconds.sum())


def test_timed_crossbars_access_the_neurons_in_use_and_update_those_with_a_leak() -> None:
    """A leak of 1 lifts one neuron from 0 in every tick; one that is held at 0 stays idle."""
    figures = {"time.ticks": "timed", "time.barrier_seconds": [[1, 1e-6]], "energy.neuron_access_joules": 1e-12}
    chip = with_figures(nm.load_chip("truenorth"), figures)
    nodes = {"I": Node("I", (1, 1, 1))}
    nodes["O"] = Node("O", (1, 1, 2), neuron=LeakNeuron(threshold=1, leak=np.array([1, 0])))
    edges = {("I", "O"): Edge("I", "O", Dense((1, 1, 1), (1, 1, 2), weights=np.ones((2, 1), int)))}
    program = nm.map_rollout(nm.Rollout(Network("leak", nodes, edges), "streaming"), chip=chip)
    activity = nm.measure_activity(program, {"I": np.zeros((6, 1), bool)}, n_ticks=5)
    assert (activity.work.spikes, activity.work.neuron_updates, activity.times.active) == (5, 10, 5)
    assert energy_bound(chip, 5, 1, 2) <= 10e-12 + 5 * chip.energy["static_watts"] * chip.tick_seconds


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"time.barrier_seconds": [[2, 1e-6]]}, "time.barrier_seconds"),
        ({"time.barrier_seconds": [[1, 1e-6], [1, 2e-6]]}, "time.barrier_seconds"),
        ({"time.barrier_seconds": [[1, 2e-6], [4, 1e-6]]}, "seconds from 0 to 1e-3 that do not fall"),
        ({"time.barrier_seconds": [[1, 0.0]], "time.neuron_access_seconds": 0.0}, "would take no time"),
        ({"time.fire_seconds": 1e20}, "time.fire_seconds: found 1e+20; where ticks are timed an event takes at most"),
        ({"router.hop_x_seconds": 2.0}, "router.hop_x_seconds: found 2; where ticks are timed"),
        ({"time.ticks": "fixed"}, "means nothing where ticks are fixed"),
        ({"time.ticks": "quick"}, 'allowed are "fixed", "timed"'),
        ({"grid.tile": [3, 2]}, "must divide the cores"),
        ({"router.hop_seconds": 1e-9}, "needs hop_x_seconds and hop_y_seconds"),
        ({"energy.hop_joules": 1e-12}, "no hop_joules beside them"),
    ],
)
def test_figures_that_do_not_go_together_are_refused(figures: dict[str, object], words: str) -> None:
    with pytest.raises(ChipError) as refused:
        with_figures(nm.load_chip("loihi1"), figures)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_network_without_inputs_has_seconds_from_its_sources_on() -> None:
    nodes = {"S": Node("S", (1, 1, 1), neuron=CurrentNeuron(threshold=64, voltage_decay=0, bias=65))}
    nodes["O"] = Node("O", (1, 1, 1), neuron=CurrentNeuron(threshold=0))
    edges = {("S", "O"): Edge("S", "O", Dense((1, 1, 1), (1, 1, 1), weights=np.array([[64]])), delay=3)}
    (row,) = nm.latency_report(Network("sources", nodes, edges), chip="loihi1").rows
    assert row.predicted.first_response_ticks == 3
    assert row.predicted.first_response_seconds == pytest.approx(3 / row.sampling_frequency_hz, rel=0.5)
