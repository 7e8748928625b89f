"""What nodes take: their busiest core's events, and the way of their spikes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.simulation.cost.activity import measure_activity, node_times
from neuromap.simulation.noc.delivery import simulate_arrivals
from neuromap.simulation.noc.traffic import Mesh, RouterClock, ways_of
from neuromap.simulation.run.tick_run import run_ticks
from neuromap.simulation.stimulus import random_frames


@pytest.fixture(scope="module")
def case():
    net = nm.load_network(Path(__file__).parents[3] / "examples" / "digits" / "sr.toml")
    program = nm.map_rollout(nm.Rollout(net, "sequential"), packing=False)
    frames = random_frames({"I": net.nodes["I"].size}, 24, seed=3)
    return program, frames, measure_activity(program, frames)


def test_no_spike_of_a_node_arrives_after_its_bound(case):
    program, frames, activity = case
    clock, mesh = RouterClock.of(program.chip), Mesh.of(program.chip)
    seen = dict.fromkeys((port.name for port in program.nodes), 0)
    for spikes in run_ticks(program, frames):
        sent = program.target_core[spikes.cores, spikes.neurons] >= 0
        cores, neurons = spikes.cores[sent], spikes.neurons[sent]
        arrivals = simulate_arrivals(mesh, clock, ways_of(program, cores, program.target_core[cores, neurons]))
        for node, arrival in zip(program.neuron_node[cores, neurons], arrivals, strict=True):
            name = program.nodes[node].name
            seen[name] = max(seen[name], int(arrival))
    bounds = activity.traffic.node_arrivals
    assert all(seen[name] <= bounds[name] for name in seen)
    assert seen["H1"] > 0
    assert bounds["I"] == bounds["O"] == 0  # the host's spikes, and those read out, cross no link
    assert max(bounds.values()) == activity.traffic.safe_tick_cycles  # no relays here


def test_seconds_are_events_updates_and_way(case):
    program, _, activity = case
    router = {"link_spikes_per_second": 1e8, "hop_seconds": 1e-8}
    timing = {"synaptic_event_seconds": 3e-9, "neuron_update_seconds": 1e-6}
    chip = replace(program.chip, router=router, timing=timing)
    clocked = replace(activity.traffic, clock=RouterClock.of(chip))
    bare, whole = node_times(activity.work, chip), node_times(activity.work, chip, clocked)
    for name, time in whole.items():
        assert time.events == bare[name].events
        assert time.arrival_cycles == activity.traffic.node_arrivals[name]
        assert time.seconds == pytest.approx(bare[name].seconds + time.arrival_cycles * 1e-8)
        assert bare[name].seconds > 3e-9 * time.events


def test_absent_figures_stay_absent(case):
    program, _, activity = case
    timed = replace(program.chip, timing={"synaptic_event_seconds": 3e-9, "neuron_update_seconds": 1e-6})
    assert all(time.seconds is None for time in node_times(activity.work, program.chip).values())
    assert all(time.seconds is None for time in node_times(activity.work, timed, activity.traffic).values())
    assert all(time.arrival_cycles is None for time in node_times(activity.work, timed).values())
    assert np.isfinite([time.seconds for time in node_times(activity.work, timed).values()]).all()
