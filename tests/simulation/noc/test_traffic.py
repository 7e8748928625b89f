"""Traffic of whole runs: against the walk over all routes, against usage, against what engines receive."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.bench.characterisation import characterisation_program
from neuromap.hardware.program.chip_program import route_difference, walk_routes
from neuromap.hardware.program.usage import count_usage
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.build import build_network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.numpy_engine import NumpyEngine
from neuromap.simulation.noc.delivery import delivered, simulate_arrivals
from neuromap.simulation.noc.measure_traffic import TrafficCounter, measure_traffic
from neuromap.simulation.noc.traffic import LinkName, Mesh, RouterClock, ways_of
from neuromap.simulation.run.tick_run import run_ticks
from neuromap.simulation.stimulus import random_frames

NUMPY = EngineChoice("numpy")


def fired_in(program, ticks):
    fired = np.zeros(program.target_core.shape, np.int64)
    for spikes in ticks:
        np.add.at(fired, (spikes.cores, spikes.neurons), 1)
    return fired


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_traffic_is_what_a_walk_over_all_routes_counts(programs, data):
    program = data.draw(programs())
    ticks = list(run_ticks(program, n_ticks=data.draw(st.integers(0, 12)), choice=NUMPY))
    counter = TrafficCounter(program)
    for spikes in ticks:
        counter.add(spikes)
    traffic = counter.result()
    fired = fired_in(program, ticks)
    walk = walk_routes(program, fired)
    assert (traffic.spikes, traffic.hops, traffic.crossings) == (walk.spikes, walk.hops, walk.crossings)
    assert np.array_equal(traffic.loads, walk.loads)
    assert route_difference(program, traffic.loads, fired, hops=traffic.hops) is None
    assert route_difference(program, traffic.full_loads) is None
    assert traffic.loads[:4].sum() == traffic.hops
    peaks = [walk_routes(program, fired_in(program, [spikes])).loads for spikes in ticks]
    assert np.array_equal(traffic.peak_loads, np.max([np.zeros_like(walk.loads), *peaks], axis=0))
    assert traffic.n_ticks == len(ticks)
    assert traffic.mean_hops == (walk.hops / walk.spikes if walk.spikes else None)
    if traffic.busiest_link is None:
        assert not traffic.hops
    else:
        (x, y, direction), load, tick = traffic.busiest_link
        number = ["east", "west", "north", "south"].index(direction)
        assert load == traffic.peak_loads[number, y, x] == traffic.peak_loads[:4].max()
        over_link = [loads[number, y, x] for loads in peaks]
        assert tick == ticks[over_link.index(load)].tick


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_the_shortest_tick_is_the_worst_arrival_of_all_ticks(programs, data):
    """Ticks that the bound excludes are not simulated; that changes nothing."""
    program = data.draw(programs())
    ticks = list(run_ticks(program, n_ticks=data.draw(st.integers(0, 12)), choice=NUMPY))
    mesh, clock, worst, at = Mesh.of(program.chip), RouterClock.of(program.chip), 0, None
    counter = TrafficCounter(program)
    for spikes in ticks:
        counter.add(spikes)
        target = program.target_core[spikes.cores, spikes.neurons]
        sent = target >= 0
        arrivals = simulate_arrivals(mesh, clock, ways_of(program, spikes.cores[sent], target[sent]))
        if arrivals.max(initial=0) > worst:
            worst, at = int(arrivals.max()), spikes.tick
    traffic = counter.result()
    assert (traffic.shortest_tick_cycles, traffic.shortest_tick_at) == (worst, at)
    assert traffic.simulated_ticks <= traffic.n_ticks


def three_layers(seed):
    rng = np.random.default_rng(seed)
    weights = {edge: rng.integers(-2, 3, (6, 6)) for edge in [("I", "A"), ("A", "B"), ("B", "A"), ("B", "O")]}
    return build_network({"I": ((1, 1, 6), None), **{n: ((1, 1, 6), rng.integers(-1, 4)) for n in "ABO"}}, weights)


@given(st.integers(0, 2**32), st.sampled_from(["windowed", "pipelined"]), st.sampled_from([(8, 8), (2, 3)]))
@settings(deadline=None, max_examples=30)
def test_what_arrives_is_what_the_engine_receives(make_chip, seed, execution, cores):
    """Mapped programs with delays above 1; after every tick all that is under way has been delivered by the mesh."""
    network = three_layers(seed)
    chip = make_chip(cores=cores, chips=(4, 3), axons=24, neurons=24)
    streaming = {("A", "B"), ("B", "A"), ("I", "A")} if seed % 2 else {("B", "A")}
    pattern = RolloutPattern(network, tuple(int(edge in streaming) for edge in network.edges))
    program = map_rollout(Rollout(network, pattern, execution), chip)
    places = np.random.default_rng(seed).permutation(chip.n_cores)[: program.n_cores]
    coordinates = np.stack([places % chip.columns, places // chip.columns], axis=1).astype(np.int32)
    program = replace(program, coordinates=coordinates)
    frames = random_frames(program, 6, seed=seed % 1000)

    engine, due = NumpyEngine(program), np.zeros((0, 3), np.int64)
    for spikes in run_ticks(program, frames, choice=NUMPY):
        cores_fired, neurons_fired = engine.step(spikes.host_cores, spikes.host_axons)
        assert np.array_equal(cores_fired, spikes.cores)
        assert np.array_equal(neurons_fired, spikes.neurons)
        due = np.concatenate([due[due[:, 0] > spikes.tick], delivered(program, spikes)])
        due = np.unique(due, axis=0)
        assert np.array_equal(due, engine.pending)

    traffic = measure_traffic(program, frames, choice=NUMPY)
    counts = count_usage(program)
    assert traffic.full_loads[:4].sum() == counts.weighted_hops
    assert route_difference(program, traffic.full_loads, hops=counts.weighted_hops) is None
    assert walk_routes(program).crossings == counts.chip_crossings


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_programs_by_hand_deliver_too(programs, data):
    """Random programs with several neurons on one axon, several chips, ports or none."""
    program = data.draw(programs(delays=(1, 5)))
    engine, due = NumpyEngine(program), np.zeros((0, 3), np.int64)
    for spikes in run_ticks(program, n_ticks=10, choice=NUMPY):
        engine.step()
        due = np.concatenate([due[due[:, 0] > spikes.tick], delivered(program, spikes)])
        due = np.unique(due, axis=0)
        assert np.array_equal(due, engine.pending)


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_hops_of_all_neurons_are_those_of_count_usage(programs, data):
    program = data.draw(programs())
    traffic, counts, walk = TrafficCounter(program).result(), count_usage(program), walk_routes(program)
    assert traffic.full_loads[:4].sum() == counts.weighted_hops == walk.hops
    assert walk.crossings == counts.chip_crossings


def test_ports_carry_spikes_of_mesh_host_and_readout(make_chip, make_program):
    """Two chips of one core each: in every tick from 1 on, one crosses; the host feeds two, one neuron is read out."""
    program = make_program(
        make_chip(cores=(1, 1), chips=(2, 1), router={"boundary_spikes_per_second": 1e3}),
        np.eye(2, dtype=bool)[None].repeat(2, axis=0),
        targets=[(0, 0, 1, 0, 1)],
        nodes=[("I", 2, "input", 0), ("O", 2, "output", 0)],
        host=[(0, 0, 0, 0, 0, 0), (0, 1, 0, 1, 0, 0)],
        outputs=[(1, 0, 1, 0), (1, 1, 0, 1)],
    )  # fmt: skip
    traffic = measure_traffic(program, {"I": np.ones((3, 2), bool)}, n_ticks=5)
    assert traffic.host_spikes == 6
    assert traffic.spikes == traffic.hops == traffic.crossings == 3
    assert traffic.readout_spikes == 3 + 3
    assert traffic.port_peaks.tolist() == [[2 + 1 + 1, 1 + 1]]
    assert traffic.peak_port_spikes == 4
    assert traffic.port_seconds == pytest.approx(4e-3)
    assert traffic.busiest_link == (LinkName(0, 0, "east"), 1, 0)
    assert (traffic.shortest_tick_cycles, traffic.shortest_tick_at) == (3, 0)
    assert traffic.safe_tick_cycles == traffic.safe_tick_any_cycles == 3
    assert traffic.shortest_tick_seconds is None
    assert traffic.longest_cycle_seconds == pytest.approx(program.chip.tick_seconds / 3)


def test_figures_of_the_router_make_seconds(make_chip, make_program):
    router = {"link_spikes_per_second": 1e6, "hop_seconds": 4e-6}
    program = make_program(
        make_chip(router=router), np.zeros((2, 1, 1), bool), leak=1, threshold=1, targets=[(0, 0, 1, 0, 1)]
    )
    traffic = measure_traffic(program, n_ticks=2)
    assert traffic.shortest_tick_cycles == 6
    assert traffic.shortest_tick_seconds == traffic.safe_tick_seconds == traffic.safe_tick_any_seconds
    assert traffic.shortest_tick_seconds == pytest.approx(6e-6)
    assert traffic.port_seconds is None


def test_a_silent_run_has_absent_figures(make_chip, make_program):
    traffic = measure_traffic(make_program(make_chip(), np.zeros((1, 1, 1), bool)), n_ticks=3)
    assert traffic.mean_hops is traffic.busiest_link is traffic.busiest_core_link is None
    assert traffic.shortest_tick_at is traffic.longest_cycle_seconds is None
    assert traffic.shortest_tick_cycles == traffic.safe_tick_any_cycles == 0


def test_the_characterisation_network():
    """A program by hand: every neuron has one axon of its own, so every link into a core carries 256 spikes at most."""
    program = characterisation_program(36, rate_hz=100.0, synapses=16)
    traffic = measure_traffic(program, n_ticks=20)
    ticks = list(run_ticks(program, n_ticks=20))
    assert route_difference(program, traffic.loads, fired_in(program, ticks), hops=traffic.hops) is None
    assert (traffic.full_loads[4:, 0, :36] == 256).all()
    assert traffic.shortest_tick_cycles <= traffic.safe_tick_cycles < traffic.safe_tick_any_cycles


def test_a_board_of_sixteen_chips(make_chip, make_program):
    """Corners of a board of 256 x 256 cores; every way that spikes take there is walked again."""
    chip = make_chip(
        cores=(64, 64), chips=(4, 4),
        router={"link_spikes_per_second": 1e8, "hop_seconds": 1e-8, "boundary_spikes_per_second": 5e7},
    )  # fmt: skip
    program = make_program(
        chip, np.zeros((4, 3, 3), bool), leak=1, threshold=1,
        targets=[(c, n, (c + n + 1) % 4, n, 1) for c in range(4) for n in range(3)],
    )  # fmt: skip
    corners = np.array([(0, 0), (255, 0), (255, 255), (0, 255)], np.int32)
    program = replace(program, coordinates=corners)
    traffic = measure_traffic(program, n_ticks=1)
    assert route_difference(program, traffic.loads, hops=traffic.hops) is None
    assert np.array_equal(traffic.loads, traffic.full_loads)
    assert traffic.crossings == count_usage(program).chip_crossings == 4 * (3 + 3 + 6)
    assert traffic.clock == RouterClock(1e-8, 1, 2)
    assert traffic.shortest_tick_cycles >= 2 + 510 + 2 * 2 * 6
