"""Runs at unequal intervals: frames of traces and batches, files, figures per frame, and the rules that are asked."""

from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.errors import InputError
from neuromap.hardware.checker import check_program
from neuromap.mapping.map_rollout import map_rollout
from neuromap.network.build import build_network
from neuromap.rollout.pattern import RolloutPattern
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.steady_figures import measure_steady_activity
from neuromap.simulation.run.simulate import simulate, simulate_to_file
from neuromap.simulation.run.simulate_batch import simulate_batch
from neuromap.simulation.stimulus import random_frames
from neuromap.simulation.trace.load_trace import load_trace
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import FrameClock


@pytest.fixture(scope="module")
def ring():
    """Two frames every three ticks; thresholds that need bias."""
    weights, node = np.eye(3, dtype=int), ((1, 1, 3), [1, 0, 1])
    edges = dict.fromkeys([("I", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "O"), ("b", "O")], weights)
    network = build_network({"I": ((1, 1, 3), None), "a": node, "b": node, "c": node, "O": node}, edges)
    pattern = RolloutPattern.from_streaming_edges(network, [("a", "b"), ("b", "c"), ("b", "O")])
    program = map_rollout(Rollout(network, pattern, "pipelined:best"), "truenorth")
    assert program.period == Fraction(3, 2)
    return program


@settings(deadline=None, max_examples=60)
@given(data=st.data(), period=st.sampled_from([1, 5, Fraction(3, 2), Fraction(7, 3), Fraction(11, 10)]))
def test_a_clock_tells_the_frame_of_every_tick(data, period):
    starts = data.draw(st.lists(st.integers(-9, 9).map(lambda k: Fraction(k, period.denominator)), min_size=1))
    clock = FrameClock(in_parts(starts, period), period, 9)
    node = np.arange(len(starts)).repeat(40)
    tick = np.tile(np.arange(-12, 28), len(starts))
    found = clock.frames_of(tick, node)
    frames = [{floor(start + i * period): i for i in range(-40, 60)} for start in starts]
    expected = [frames[n].get(t) for n, t in zip(node.tolist(), tick.tolist(), strict=True)]
    assert found.is_stray.tolist() == [i is None or i < 1 for i in expected]
    assert found.is_inside.tolist() == [i is not None and 1 <= i < 9 for i in expected]
    assert all(i is None or i == k for i, k in zip(expected, found.frame.tolist(), strict=True))


def test_traces_come_back_from_files_and_batches_are_traces(ring, tmp_path):
    frames = random_frames(ring, 9, seed=1)
    trace = simulate(ring, frames, record=Recording(spikes="all"))
    assert any(isinstance(port.sample_tick, Fraction) for port in trace.nodes)
    for name in ("a.safetensors", "a.h5"):
        trace.save(tmp_path / name)
        again = load_trace(tmp_path / name)
        assert (again.nodes, again.period) == (trace.nodes, trace.period)
        assert all(np.array_equal(again.frames(port.name), trace.frames(port.name)) for port in trace.nodes)
    counts = simulate_to_file(tmp_path / "b.h5", ring, frames)
    assert counts.n_ticks == trace.n_ticks
    assert load_trace(tmp_path / "b.h5").period == ring.period
    batch = simulate_batch(ring, {name: np.stack([rows, rows[::-1]]) for name, rows in frames.items()})
    assert np.array_equal(batch.frames("O")[0], simulate(ring, frames).frames("O"))
    short = replace(trace, n_ticks=4, tick=trace.tick[:0], node=trace.node[:0], index=trace.index[:0])
    with pytest.raises(InputError, match="of node O was not run: it is at tick"):
        short.frames("O")


def test_figures_per_frame_do_not_mind_an_odd_number_of_frames(ring):
    """The circle is gone round twice, so that it takes whole ticks: every frame is counted as often."""
    frames = random_frames(ring, 5, seed=2)
    twice = {name: np.concatenate([rows, rows]) for name, rows in frames.items()}
    once, both = (measure_steady_activity(ring, given) for given in (frames, twice))
    assert once.joules_per_frame == both.joules_per_frame
    assert once.n_frames == both.n_frames == 10
    assert once.activity.traffic.n_ticks == 15


def test_an_arrival_between_its_ticks_breaks_a_rule(ring):
    assert check_program(ring) == []
    host = ring.host
    late = replace(ring, host=replace(host, part=(host.part + 1) % 2))
    assert {violation.rule for violation in check_program(late)} >= {"arrival-tick"}
