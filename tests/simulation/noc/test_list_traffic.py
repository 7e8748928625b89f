"""Traffic and work of many-target cores: against walks and recounts, target by target and synapse by synapse."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.cores.synapse_list.engines import ListNumpyEngine
from neuromap.hardware.program.chip_program import route_difference, walk_routes
from neuromap.mapping.map_rollout import map_rollout
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.cost.activity import WorkCounter
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.noc.delivery import delivered, find_late_spikes, simulate_arrivals
from neuromap.simulation.noc.measure_traffic import TrafficCounter
from neuromap.simulation.noc.traffic import Mesh, RouterClock, ways_of
from neuromap.simulation.run.tick_run import run_ticks
from neuromap.simulation.stimulus import random_frames

NUMPY = EngineChoice("numpy")


@st.composite
def list_runs(draw, networks, patterns, list_chip):
    """A random rollout on small synapse-list cores of several chips, and the ticks of a run."""
    network = draw(networks(largest=4))
    chip = list_chip(cores=(2, 2), chips=(3, 2), neurons=draw(st.integers(2, 4)))
    program = map_rollout(Rollout(network, draw(patterns(network))), chip)
    return program, list(run_ticks(program, random_frames(program, 4, seed=draw(st.integers(0, 99))), choice=NUMPY))


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_a_neuron_sends_a_spike_to_every_target(networks, patterns, list_chip, data):
    program, ticks = data.draw(list_runs(networks, patterns, list_chip))
    table = program.targets
    mesh, clock = Mesh.of(program.chip), RouterClock.of(program.chip)
    counter, worst, fired = TrafficCounter(program), 0, np.zeros(program.shape, np.int64)
    for spikes in ticks:
        counter.add(spikes)
        fired[spikes.cores, spikes.neurons] += 1
        rows = [
            (core, row)
            for core, neuron in zip(spikes.cores.tolist(), spikes.neurons.tolist(), strict=True)
            for row in range(*table.start[core * program.chip.neurons + neuron :][:2].tolist())
        ]
        core, row = np.array(rows, np.int64).reshape(-1, 2).T
        worst = max(worst, int(simulate_arrivals(mesh, clock, ways_of(program, core, table.core[row])).max(initial=0)))
        due = {(spikes.tick + 1, int(table.core[k]), int(table.axon[k])) for k in row}
        assert {tuple(place) for place in delivered(program, spikes).tolist()} == due
    traffic = counter.result()
    walk = walk_routes(program, fired)
    assert walk.spikes == (fired.ravel() * np.diff(table.start)).sum()
    assert (traffic.spikes, traffic.hops, traffic.crossings) == (walk.spikes, walk.hops, walk.crossings)
    assert route_difference(program, traffic.loads, fired, hops=traffic.hops) is None
    assert route_difference(program, traffic.full_loads) is None
    assert traffic.shortest_tick_cycles == worst
    assert find_late_spikes(program, ticks, 1).spikes == walk.spikes


@given(st.data())
@settings(deadline=None, max_examples=40)
def test_an_axon_does_its_whole_list_in_the_tick_in_which_it_is_reached(networks, patterns, list_chip, data):
    program, ticks = data.draw(list_runs(networks, patterns, list_chip))
    engine, counter, table = ListNumpyEngine(program), WorkCounter(program), program.synapses
    events = np.zeros((len(ticks) + 1, *program.shape), np.int64)
    for spikes in ticks:
        engine.step(spikes.host_cores, spikes.host_axons)
        counter.add(spikes)
        sent = program.sent_by(spikes.cores, spikes.neurons)
        host = zip([spikes.tick] * len(spikes.host_cores), spikes.host_cores, spikes.host_axons, strict=True)
        for tick, core, axon in {*host, *zip(spikes.tick + sent.delay, sent.core, sent.axon, strict=True)}:
            number = table.axons[core] + axon
            for neuron in table.neuron[table.lists[number] : table.lists[number + 1]].tolist():
                events[tick, core, neuron] += 1
    events, work = events[:-1], counter.result()
    assert (work.axon_events, work.synaptic_events) == (engine.totals.axon_events, engine.totals.synaptic_events)
    assert np.array_equal(work.core_events, events.sum(axis=(0, 2)))
    assert np.array_equal(work.peak_core_events, events.sum(axis=2).max(axis=0))
    assert work.neuron_updates == (program.neuron_node >= 0).sum() * len(ticks)
    for node, port in enumerate(program.nodes):
        of_node = np.where((program.neuron_node == node) & ~program.is_relay, events, 0).sum(axis=2)
        assert port.kind == "input" or work.node_peak[port.name] == of_node.max(initial=0)
