"""Figures per frame in steady operation: the same however frames are labelled, and how far they spread."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import neuromap as nm
from neuromap.errors import InputError, ProgramError, StimulusError
from neuromap.simulation.choose_frames import RandomFrames, choose_stimuli
from neuromap.simulation.cost.steady_figures import measure_steady_activity, spread_of, steady_figures
from neuromap.simulation.engine.engine_choice import EngineChoice

ALONE = EngineChoice(threads=1)
QUICK = {"n_stimuli": 2, "n_frames": 5, "threads": 1}


@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_programs_that_differ_in_labels_only_have_the_same_figures(data, networks):
    # streaming, a frame of a node takes one update step in either execution: one program, other labels
    net, period = data.draw(networks()), data.draw(st.integers(1, 3))
    executions = ("windowed", "pipelined") if period == 1 else (f"pipelined:{period}",) * 2
    programs = [nm.map_rollout(nm.Rollout(net, "streaming", execution)) for execution in executions]
    stimuli, _ = choose_stimuli(net, None, RandomFrames(5, data.draw(st.integers(0, 99))), 2)
    for node in programs[1].nodes[: data.draw(st.integers(0, len(programs[1].nodes)))]:
        if node.kind != "input":  # its frames are called by other numbers from here on
            programs[1] = relabelled(programs[1], node.name, data.draw(st.integers(-2, 2)))
    counts = [steady_figures(program, stimuli, ALONE) for program in programs]
    assert counts[0].each == counts[1].each
    assert counts[0].joules_per_frame == counts[1].joules_per_frame
    whole = measure_steady_activity(programs[1], stimuli, threads=1)
    assert whole.each == counts[0].each
    assert whole.activity.counts == counts[0].each[0]
    assert (whole.wires, whole.firing) == (counts[0].wires, counts[0].firing)
    assert whole.counts.spikes == whole.wires.spikes + whole.wires.readout_spikes
    assert whole.joules_per_frame == counts[0].joules_per_frame


def relabelled(program, name, frames):
    """The same program, in which frame k of a node is called frame k - ``frames``."""
    nodes = [
        replace(port, sample_tick=port.sample_tick + frames * program.period) if port.name == name else port
        for port in program.nodes
    ]
    return replace(program, nodes=tuple(nodes))


@pytest.mark.parametrize("name", ["ff", "s", "sr"])
def test_windowed_and_pipelined_of_one_program_have_one_figure(name):
    net = nm.load_network(f"examples/digits/{name}.toml")
    figures = [
        measure_steady_activity(nm.map_rollout(nm.Rollout(net, "streaming", execution)), **QUICK)
        for execution in ("windowed", "pipelined")
    ]
    for figure in ("joules_per_frame", "joules_spread", "spikes_per_frame", "hops_per_frame"):
        assert getattr(figures[0], figure) == getattr(figures[1], figure)


def test_sums_are_divided_once(small):
    program, stimuli = small
    found = measure_steady_activity(program, stimuli)
    assert found.total_frames == 15
    for name in ("spikes", "hops", "synaptic_events", "crossings", "host_spikes"):
        total = sum(getattr(counts, name) for counts in found.each)
        assert getattr(found, f"{name}_per_frame") == total / 15
    assert found.counts.ticks == 15 * program.period
    assert found.joules_per_frame == found.energy.joules / 15
    assert found.joules_spread.n == 3
    assert found.joules_spread.mean == found.joules_per_frame
    one = measure_steady_activity(program, stimuli[1])
    assert one.each == found.each[1:2]
    assert (one.joules_spread.deviation, one.joules_spread.half_width) == (None, None)


@pytest.fixture(scope="module")
def small():
    net = nm.load_network("examples/digits/sr.toml")
    return nm.map_rollout(nm.Rollout(net, "sequential")), choose_stimuli(net, None, RandomFrames(5), 3)[0]


def test_random_stimuli_have_the_seeds_that_follow(small):
    program, stimuli = small
    found = measure_steady_activity(program, n_stimuli=2, n_frames=5, seed=1)
    assert found.each == measure_steady_activity(program, stimuli).each[1:]


@given(st.lists(st.floats(0, 1e3), min_size=2, max_size=9))
def test_the_interval_is_that_of_students_t(values):
    mean = float(np.mean(values))
    found = spread_of(values, mean)
    assert found.deviation == pytest.approx(np.std(values, ddof=1), abs=1e-9)
    if found.deviation > 1e-6:
        low, high = stats.t.interval(0.95, len(values) - 1, loc=mean, scale=stats.sem(values))
        assert (mean - found.half_width, mean + found.half_width) == (pytest.approx(low), pytest.approx(high))


@pytest.mark.parametrize("wrong", [0, -1, 101, True, 2.0, "5", None])
def test_a_number_of_stimuli_out_of_range_is_refused(wrong, small):
    with pytest.raises(InputError, match=r"n_stimuli = .*: must be a whole number from 1 to 100"):
        measure_steady_activity(small[0], n_stimuli=wrong)


def test_stimuli_that_cannot_be_compared_are_refused(small, make_program, make_chip):
    program, stimuli = small
    with pytest.raises(StimulusError, match="of 4 to 5 frames"):
        measure_steady_activity(program, [stimuli[0], {name: rows[:4] for name, rows in stimuli[1].items()}])
    with pytest.raises(StimulusError, match="none given"):
        measure_steady_activity(program, [])
    without = make_program(make_chip(), np.zeros((1, 2, 2)), nodes=[("O", 1, "output", 0)])
    with pytest.raises(ProgramError, match="has no input node"):
        measure_steady_activity(without, [{}])


@pytest.mark.parametrize("latency", [5, 15])
def test_long_latencies_are_waited_for(latency):
    """With a frame in every tick a frame is under way for many periods; what it costs is what it costs without them."""
    size, names = 4, ["I", "A", "B", "O"]
    edges = list(pairwise(names))
    ones = {edge: np.eye(size, dtype=int) for edge in edges}
    net = nm.build_network({n: (size, None if n == "I" else 1) for n in names}, ones)
    rollouts = (nm.Rollout(net, "sequential", "pipelined", latencies=dict.fromkeys(edges, t)) for t in (1, latency))
    short, long = (measure_steady_activity(nm.map_rollout(rollout), n_stimuli=1, n_frames=8) for rollout in rollouts)
    assert long.host_spikes_per_frame == short.host_spikes_per_frame > 0
    assert long.firing == short.firing
