"""Work of a run: equal to the engines' own totals, and to a recount that walks crossbars bit by bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.hardware.program.ports import NodePort
from neuromap.simulation.cost.activity import WorkCounter, node_times
from neuromap.simulation.engine.engine import HostEvents, make_engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks

NONE = np.zeros(0, np.int64)


def labelled(program, rng, n_nodes=3):
    """The same program with random labels, relays and unlabelled neurons among them."""
    shape = program.target_core.shape
    nodes = [("I", 4, "input", 0), *((f"N{k}", 100, "hidden", 0) for k in range(1, n_nodes))]
    return replace(
        program,
        nodes=tuple(NodePort(*node) for node in nodes),
        neuron_node=rng.integers(-1, n_nodes, shape).astype(np.int32),
        is_relay=rng.random(shape) < 0.2,
    )


def random_events(rng, program, n_ticks):
    """Axons that the host feeds, some of them twice in a tick."""
    per_tick = rng.integers(0, 6, n_ticks)
    start = np.concatenate([[0], np.cumsum(per_tick)])
    n_cores, n_axons = program.axon_types.shape
    cores = rng.integers(n_cores, size=start[-1]).astype(np.int32)
    return HostEvents(start, cores, rng.integers(min(3, n_axons), size=start[-1]).astype(np.int32))


def run_by_tick(engine, events):
    """The spikes of every tick, from an engine that is stepped."""
    for tick in range(events.n_ticks):
        part = slice(events.start[tick], events.start[tick + 1])
        cores, neurons = engine.step(events.cores[part], events.axons[part])
        yield TickSpikes(tick, cores, neurons, events.cores[part], events.axons[part])


def recount(program, ticks):
    """Walk every spike to its axon and every axon to its synapses: events[tick][core, neuron], axons due per tick."""
    due = [set() for _ in range(len(ticks) + 300)]
    for spikes in ticks:
        for core, neuron in zip(spikes.cores.tolist(), spikes.neurons.tolist(), strict=True):
            if program.target_core[core, neuron] >= 0:
                arrival = spikes.tick + int(program.delay[core, neuron])
                due[arrival].add((int(program.target_core[core, neuron]), int(program.target_axon[core, neuron])))
        due[spikes.tick] |= set(zip(spikes.host_cores.tolist(), spikes.host_axons.tolist(), strict=True))
    events = np.zeros((len(ticks), *program.target_core.shape), np.int64)
    for spikes in ticks:
        for core, axon in due[spikes.tick]:
            for neuron in range(program.target_core.shape[1]):
                events[spikes.tick, core, neuron] += program.crossbar[core, axon, neuron // 8] >> (neuron % 8) & 1
    return events, sum(len(due[spikes.tick]) for spikes in ticks)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), n_cores=st.integers(1, 5), engine=st.sampled_from(["numpy", "fast"]))
def test_totals_equal_the_engines_and_cores_equal_a_recount(make_chip, random_program, seed, n_cores, engine):
    rng = np.random.default_rng(seed)
    chip = make_chip(neurons=int(rng.integers(1, 20)), axons=int(rng.integers(1, 15)))
    program = labelled(random_program(rng, chip, n_cores, density=rng.random()), rng)
    events = random_events(rng, program, int(rng.integers(0, 30)))
    chip_engine = make_engine(program, EngineChoice(engine))
    ticks = list(run_by_tick(chip_engine, events))
    counter = WorkCounter(program)
    for spikes in ticks:
        counter.add(spikes)
    work = counter.result()
    assert (work.spikes, work.axon_events, work.synaptic_events) == tuple(chip_engine.totals)

    by_neuron, n_axons = recount(program, ticks)
    by_core = by_neuron.sum(axis=2)
    assert work.n_ticks == len(ticks)
    assert work.axon_events == n_axons
    assert work.neuron_updates == len(ticks) * n_cores * chip.neurons
    assert np.array_equal(work.core_events, by_core.sum(axis=0))
    assert np.array_equal(work.peak_core_events, by_core.max(axis=0, initial=0))
    assert set(work.node_peak) == {"N1", "N2"}
    for k, name in ((1, "N1"), (2, "N2")):
        own = (program.neuron_node == k) & ~program.is_relay
        assert work.node_peak[name] == (by_neuron * own).sum(axis=2).max(initial=0)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_shares_divide_the_neurons_of_every_core(make_chip, random_program, seed):
    rng = np.random.default_rng(seed)
    program = labelled(random_program(rng, make_chip(), 4), rng)
    shares = WorkCounter(program).result().shares
    assert np.array_equal(np.bincount(shares.core, shares.neurons, 4), [program.chip.neurons] * 4)
    for core, node, relay, neurons in zip(shares.core, shares.node, shares.is_relay, shares.neurons, strict=True):
        same = (program.neuron_node[core] == node) & (program.is_relay[core] == relay)
        assert same.sum() == neurons


def test_two_spikes_on_one_axon_are_one(make_chip, make_program):
    program = make_program(make_chip(), np.ones((1, 2, 3)), targets=[(0, 0, 0, 1, 1), (0, 1, 0, 1, 1)])
    counter = WorkCounter(program)
    one = np.array([0])
    counter.add(TickSpikes(0, np.array([0, 0]), np.array([0, 1]), one[:0], one[:0]))
    counter.add(TickSpikes(1, NONE, NONE, np.array([0, 0]), np.array([1, 0])))
    work = counter.result()
    # both neurons and the host feed axon 1 in tick 1; the host feeds axon 0 as well
    assert (work.spikes, work.axon_events, work.synaptic_events) == (2, 2, 6)
    assert work.peak_core_events.tolist() == [6]


def test_what_is_still_on_its_way_is_not_counted(make_chip, make_program):
    program = make_program(make_chip(), np.ones((1, 1, 1)), targets=[(0, 0, 0, 0, 3)])
    counter = WorkCounter(program)
    counter.add(TickSpikes(0, np.array([0]), np.array([0]), NONE, NONE))
    for tick in (1, 2):
        counter.add(TickSpikes(tick, NONE, NONE, NONE, NONE))
    assert counter.result().axon_events == 0
    counter.add(TickSpikes(3, NONE, NONE, NONE, NONE))
    assert counter.result().axon_events == 1


@pytest.mark.parametrize("tick", [1, -1])
def test_ticks_come_one_after_the_other(make_chip, make_program, tick):
    counter = WorkCounter(make_program(make_chip(), np.ones((1, 1, 1))))
    with pytest.raises(InputError, match=f"found tick {tick}; tick 0 is next"):
        counter.add(TickSpikes(tick, NONE, NONE, NONE, NONE))


def test_a_run_on_frames_counts_what_its_engine_counts(mixer):
    program = mixer(3, 2)
    rng = np.random.default_rng(0)
    frames = {"I": rng.integers(0, 2, (9, 3)), "J": rng.integers(0, 2, (9, 2))}
    counter, other = WorkCounter(program), make_engine(program, EngineChoice("numpy"))
    for spikes in run_ticks(program, frames):
        counter.add(spikes)
        other.step(spikes.host_cores, spikes.host_axons)
    work = counter.result()
    assert (work.spikes, work.axon_events, work.synaptic_events) == tuple(other.totals)
    assert work.synaptic_events > 0
    assert set(work.node_peak) == {"H", "O", "P"}


def test_node_times_in_seconds_need_both_figures(make_chip, random_program):
    rng = np.random.default_rng(1)
    program = labelled(random_program(rng, make_chip(), 3), rng)
    counter = WorkCounter(program)
    for spikes in run_by_tick(make_engine(program), random_events(rng, program, 20)):
        counter.add(spikes)
    work = counter.result()
    figures = {"synaptic_event_seconds": 2e-9, "neuron_update_seconds": 1e-9}
    for timing in ({}, *({key: value} for key, value in figures.items())):
        times = node_times(work, replace(program.chip, timing=timing))
        assert {name: time.events for name, time in times.items()} == dict(work.node_peak)
        assert all(time.seconds is None for time in times.values())
    times = node_times(work, replace(program.chip, timing=figures))
    shares = work.shares
    for k, name in ((1, "N1"), (2, "N2")):
        own = [
            2e-9 * shares.peak_events[i] + 1e-9 * shares.neurons[i]
            for i in range(len(shares))
            if shares.node[i] == k and not shares.is_relay[i]
        ]
        assert times[name].seconds == pytest.approx(max(own))
        assert times[name].events == work.node_peak[name] > 0
