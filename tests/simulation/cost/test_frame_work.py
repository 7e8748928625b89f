"""Work of a frame by counting in the reference, held against the clock of mapped programs."""

from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import InputError, NetworkError
from neuromap.mapping import Pins
from neuromap.rollout.schedule.tick_seconds import crossing
from neuromap.simulation.cost.frame_work import count_frame_work

ROLLOUTS = ("streaming", "sequential", "hybrid")


@pytest.fixture(scope="module")
def digits():
    return nm.load_network(Path(__file__).resolve().parents[3] / "examples" / "digits" / "sr.toml")


@pytest.fixture(scope="module")
def work(digits):
    return count_frame_work(digits, "loihi1")


def test_events_are_those_of_every_spike_and_synapse(digits, work):
    """By hand: each frame's spikes times the synapses of its neurons, after the silent beginning."""
    frames = nm.random_frames(digits, 32)
    found = nm.reference(nm.Rollout(digits, "streaming"), frames)
    events = 0
    for (u, _), edge in digits.edges.items():
        dense = edge.matrix().toarray() != 0
        events += sum(int(dense[:, row].sum()) for row in found[u][4:]) / 28
    assert work.synaptic_events == pytest.approx(events)
    assert work.spikes["H1"] == found["H1"][4:].sum() / 28


def test_on_one_core_the_prediction_is_what_the_clock_says(digits, work):
    """A core alone is evenly spread; the clock runs the mapped program spike by spike, over frames of its own."""
    for name in ROLLOUTS:
        rollout = nm.Rollout(digits, name)
        program = nm.map_rollout(rollout, "loihi1")
        assert program.n_cores == 1
        measured = nm.measure_steady_activity(program, n_stimuli=1).activity.times.seconds
        predicted = work.seconds(rollout, 1)
        assert predicted.period == pytest.approx(measured.sum() / 32, rel=0.06)


def test_spread_evenly_programs_take_as_long_as_predicted():
    """The placement that is assumed, by pins, mapped and timed spike by spike; ways of spikes are not predicted."""
    draw = np.random.default_rng(0)
    sizes = {"I": 60, "A": 90, "B": 40, "O": 30}
    edges = [("I", "A"), ("A", "B"), ("B", "O"), ("A", "O"), ("B", "B")]
    weights = {
        (u, v): draw.integers(-2, 4, (sizes[v], sizes[u])) * (draw.random((sizes[v], sizes[u])) < 0.3) for u, v in edges
    }
    net = nm.build_network({u: ((1, 1, n), None if u == "I" else 2) for u, n in sizes.items()}, weights)
    frames = nm.random_frames(net, 24, density=0.2, seed=0)
    work = count_frame_work(net, "loihi1", frames)
    for n_cores in (1, 2, 13):
        core = np.array([0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6])[:n_cores]  # tile by tile
        tables = {v: core[np.arange(n) * n_cores // n] for v, n in sizes.items() if v != "I"}
        for name in ("streaming", "sequential"):
            program = nm.map_rollout(nm.Rollout(net, name), "loihi1", pins=Pins(neurons=tables))
            ticks = nm.measure_steady_activity(program, [frames]).seconds.measured
            found = ticks.mean() * int(program.period)
            assert found * 0.96 < work.seconds(nm.Rollout(net, name), n_cores).period < found * 1.01


def test_a_core_sends_and_takes_in_at_the_same_time(digits, work):
    for n_cores in (1, 7, 128):
        sending, receiving = work.on(n_cores)
        one_by_one = [sum(side.nodes.values()) + side.fixed for side in (sending, receiving)]
        tick = work.seconds(nm.Rollout(digits, "streaming"), n_cores).period
        # no shorter than for the mean core and the mean frame
        assert tick >= (max(one_by_one) / n_cores + sending.barrier_of(n_cores)) * (1 - 1e-9)
    assert [receiving.barrier_of(n) for n in (4, 5, 12, 13, 113)] == [0.6e-6, 1e-6, 1e-6, 1.4e-6, 1.8e-6]  # tiles of 4


def test_the_barrier_is_that_of_the_tiles_that_cores_fill(digits):
    chip = nm.load_chip("loihi1", {"time.barrier_seconds": [[1, 1e-6], [3, 2e-6], [9, 3e-6]]})
    sending, _ = count_frame_work(digits, chip).on(12)
    assert [sending.barrier_of(n) for n in (4, 9, 32, 33)] == [1e-6, 2e-6, 2e-6, 3e-6]


def test_ranges_are_where_it_is_ahead(digits, work):
    streaming, sequential = (nm.Rollout(digits, name) for name in ("streaming", "sequential"))
    for figure in ("first", "reaction", "full"):
        ranges = work.ahead(streaming, sequential, figure)
        for n in range(1, 129, 3):
            mine, theirs = (getattr(work.seconds(r, n), figure) for r in (streaming, sequential))
            assert (mine < theirs) == any(a <= n <= b for a, b in ranges)
    with pytest.raises(InputError, match="choose one of first"):
        work.ahead(streaming, sequential, "half")


def test_ticks_of_fixed_length_do_not_depend_on_cores(digits):
    work = count_frame_work(digits, "truenorth")
    streaming, sequential = (nm.Rollout(digits, name) for name in ("streaming", "sequential"))
    assert work.seconds(streaming, 1) == work.seconds(streaming, 4096)
    assert work.seconds(sequential, 9).first == pytest.approx(3e-3)
    assert crossing(streaming, sequential, work.on(1)[0]).first_cores == 1


def test_silent_nodes_and_networks_without_weights(digits):
    work = count_frame_work(digits, "loihi1", {"I": np.zeros((8, 64), np.bool_)})
    assert work.spikes["I"] == 0
    assert work.on(4)[1].nodes["I"] == 0
    bare = nm.Network.from_edges([("I", "O")])
    with pytest.raises(NetworkError):
        count_frame_work(bare, "loihi1")
