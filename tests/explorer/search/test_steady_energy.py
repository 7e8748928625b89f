"""Energy per frame in steady operation: counted by hand, and the same wherever one begins to count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.explorer.candidates.asked import energy_bound
from neuromap.network import build_network
from neuromap.rollout.behaviour import behaviour_classes
from neuromap.simulation.choose_frames import RandomFrames, choose_frames
from neuromap.simulation.cost.steady_figures import steady_figures
from neuromap.simulation.engine.engine_choice import EngineChoice

ALONE = EngineChoice(threads=1)
QUIET = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}


def steady_counts(program, frames):
    return steady_figures(program, [frames], ALONE).counts


def energy_per_frame(program, frames):
    return steady_figures(program, [frames], ALONE).joules_per_frame


def test_counted_by_hand(chip):
    """I -> A -> O, one synapse per source: every frame costs what its spikes cost."""
    matrix = np.eye(3, dtype=int)
    nodes = {"I": ((1, 1, 3), None), "A": ((1, 1, 3), 1), "O": ((1, 1, 3), 1)}
    net = build_network(nodes, {("I", "A"): matrix, ("A", "O"): matrix})
    frames = {"I": np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]], bool)}
    for pattern in ("streaming", "sequential"):
        for execution in ("windowed", "pipelined"):
            program = nm.map_rollout(nm.Rollout(net, pattern, execution), chip())
            counts = steady_counts(program, frames)
            assert counts.ticks == 4 * program.period
            assert counts.synaptic_events == 6 + 6
            assert counts.spikes == 6 + 6  # of A to O, and of O to the host
            assert counts.host_spikes == 6 + 6
            joules = (counts.ticks * 1e-6 + 12 * 1e-6) / 4  # 1 mW, ticks of 1 ms; 1 uJ per synaptic event
            assert energy_per_frame(program, frames) == pytest.approx(joules, rel=1e-12)
            bound = energy_bound(program.chip, program.period, program.n_cores, 0)
            assert bound == pytest.approx(program.period * 1e-6, rel=1e-12)


def test_absent_figures_stay_absent(chip):
    net = build_network({"I": ((1, 1, 1), None), "O": ((1, 1, 1), 1)}, {("I", "O"): [[1]]})
    program = nm.map_rollout(nm.Rollout(net, "streaming"), chip(energy={}))
    assert energy_per_frame(program, {"I": np.ones((2, 1), bool)}) is None
    assert energy_bound(program.chip, 1, 1, 0) is None


@settings(max_examples=8, **QUIET)
@given(data=st.data())
def test_patterns_of_a_class_take_the_same_pipelined(data, networks, chip):
    drawn = data.draw(networks(most_edges=6, biased=False))
    net = replace(drawn, outputs=tuple(name for name in drawn.nodes if name not in drawn.inputs))
    frames, _ = choose_frames(net, None, RandomFrames(5))
    for patterns in behaviour_classes(net):
        programs = [nm.map_rollout(nm.Rollout(net, pattern, "pipelined"), chip()) for pattern in patterns[:4]]
        counts = [steady_counts(program, frames) for program in programs]
        assert all(found.ticks == counts[0].ticks for found in counts)
        if max(sum(u == i for u, _ in net.edges) for i in net.inputs) == 1:
            assert all(found == counts[0] for found in counts)


@settings(max_examples=15, **QUIET)
@given(data=st.data(), turn=st.integers(0, 4))
def test_a_circle_has_no_beginning(data, turn, networks, chip):
    net = data.draw(networks(most_extra=1, most_edges=6))
    frames, _ = choose_frames(net, None, RandomFrames(5))
    pattern = data.draw(st.sampled_from(list(nm.rollout.enumerate_valid(net))))
    program = nm.map_rollout(nm.Rollout(net, pattern, data.draw(st.sampled_from(["windowed", "pipelined"]))), chip())
    counts = steady_counts(program, frames)
    bound = energy_bound(program.chip, program.period, program.n_cores, 0)
    assert bound <= energy_per_frame(program, frames) * (1 + 1e-12)
    if nm.rollout.maximum_cycle_ratio(pattern) is None:  # cycles may remember how they began
        turned = {name: np.roll(rows, turn, axis=0) for name, rows in frames.items()}
        assert steady_counts(program, turned) == counts
        twice = steady_counts(program, {name: np.tile(rows, (2, 1)) for name, rows in frames.items()})
        assert twice.synaptic_events == 2 * counts.synaptic_events
        assert twice.ticks == 2 * counts.ticks
        assert (twice.spikes, twice.hops, twice.host_spikes) == (
            2 * counts.spikes, 2 * counts.hops, 2 * counts.host_spikes,
        )  # fmt: skip
