"""Late spikes: none at the shortest tick and above it, at least one below it, and they are the right ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError
from neuromap.simulation.noc.delivery import find_late_spikes
from neuromap.simulation.noc.measure_traffic import TrafficCounter, arrival_bounds
from neuromap.simulation.noc.traffic import Mesh, RouterClock, ways_of
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks

NO_HOST = (np.zeros(0, np.int32), np.zeros(0, np.int32))


def random_ticks(program, rng, n_ticks, part):
    """Any neurons in every tick, whatever they compute."""
    for tick in range(n_ticks):
        yield TickSpikes(tick, *np.nonzero(rng.random(program.target_core.shape) < part), *NO_HOST)


def measured(program, ticks):
    counter = TrafficCounter(program)
    for spikes in ticks:
        counter.add(spikes)
    return counter.result()


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_no_spike_is_late_from_the_shortest_tick_on_and_one_is_below(programs, data):
    program = data.draw(programs(delays=(1, 4)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ticks = list(random_ticks(program, rng, data.draw(st.integers(1, 6)), data.draw(st.sampled_from([0.05, 0.4, 1.0]))))
    shortest = measured(program, ticks).shortest_tick_cycles
    for above in (0, 1, 7):
        found = find_late_spikes(program, ticks, max(1, shortest + above))
        assert len(found) == found.n_overdue == 0
        assert found.worst_cycles == shortest
    below = data.draw(st.integers(1, max(1, shortest - 1)))
    for length in {below, shortest - 1} if shortest > 1 else ():
        found = find_late_spikes(program, ticks, length)
        assert len(found) >= 1
        assert found.worst_cycles > length
        assert (found.arrival_cycles > length).all()
        assert found.is_overdue.tolist() == [
            spike.arrival_cycles > spike.delay * length for spike in found.named(len(found))
        ]
        # all spikes with a delay of one tick that are late are overdue
        assert found.is_overdue[found.delay == 1].all()


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_late_spikes_are_those_of_a_simulation_cycle_by_cycle(programs, brute, data):
    program = data.draw(programs(delays=(1, 4)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ticks = list(random_ticks(program, rng, data.draw(st.integers(1, 4)), 0.3))
    length = data.draw(st.integers(1, 40))
    mesh, clock = Mesh.of(program.chip), RouterClock.of(program.chip)
    sent = [
        (spikes.tick, core, neuron)
        for spikes in ticks
        for core, neuron in zip(spikes.cores.tolist(), spikes.neurons.tolist(), strict=True)
        if program.target_core[core, neuron] >= 0
    ]
    routes = []
    for _, core, neuron in sent:
        way = ways_of(program, np.array([core]), program.target_core[[core], [neuron]])
        routes.append(brute.servers_of(mesh, clock, brute.each(way)[0]))
    arrivals = brute.cycle_by_cycle(routes, [tick * length for tick, _, _ in sent], min).tolist()
    expected = [
        (tick, core, neuron, cycle - tick * length)
        for (tick, core, neuron), cycle in zip(sent, arrivals, strict=True)
        if cycle > (tick + 1) * length
    ]
    found = find_late_spikes(program, ticks, length)
    assert [(s.tick, s.core, s.neuron, s.arrival_cycles) for s in found.named(len(sent))] == expected
    assert found.spikes == len(sent)
    overdue = [
        s.tick * length + s.arrival_cycles > (s.tick + int(program.delay[s.core, s.neuron])) * length
        for s in found.named(len(sent))
    ]
    assert found.is_overdue.tolist() == overdue


def test_late_spikes_bear_the_names_of_their_neurons(make_chip, make_program):
    """Three neurons of one core fire in every tick; at 3 cycles the third one's spike is late, and the next tick's."""
    program = make_program(
        make_chip(), np.zeros((2, 3, 3), bool), leak=1, threshold=1,
        targets=[(0, n, 1, n, 1 + n) for n in range(3)], nodes=[("H", 3, "hidden", 0)],
    )  # fmt: skip
    label = program.neuron_node.copy()
    label[0] = [-1, 0, 0]
    index = program.neuron_index.copy()
    index[0] = [0, 2, 1]
    program = replace(program, neuron_node=label, neuron_index=index)
    # in, one hop, out: 3 cycles; the k-th of a core arrives k cycles later
    found = find_late_spikes(program, run_ticks(program, n_ticks=1), 3)
    assert [str(spike) for spike in found.named()] == [
        "tick 0: spike of neuron 1 of core 0 (H[2]) arrives 4 router cycles after the start of the tick, "
        "in time for its due tick",
        "tick 0: spike of neuron 2 of core 0 (H[1]) arrives 5 router cycles after the start of the tick, "
        "in time for its due tick",
    ]
    slower = find_late_spikes(program, run_ticks(program, n_ticks=1), 3, RouterClock(hop_cycles=2))
    assert [spike.arrival_cycles for spike in slower.named()] == [4, 5, 6]  # the hop takes a cycle more
    found = find_late_spikes(program, run_ticks(program, n_ticks=2), 2)
    assert [spike.arrival_cycles for spike in found.named()] == [3, 4, 5, 4, 5, 6]
    assert found.is_overdue.tolist() == [True, False, False, True, True, False]
    assert found.named(1)[0].node is None
    assert "(no label)" in str(found.named(1)[0])
    assert "overdue: it was due in tick 1" in str(found.named(1)[0])
    assert (found.n_ticks, found.spikes, len(found), found.n_overdue) == (2, 6, 6, 3)


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_safe_ticks_hold(programs, data):
    """At the safe tick of any stimulus nothing that neurons could fire is late; the bounds are ordered."""
    program = data.draw(programs(delays=(1, 2)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    ticks = list(random_ticks(program, rng, 4, 0.5))
    traffic = measured(program, ticks)
    assert traffic.shortest_tick_cycles <= traffic.safe_tick_cycles <= traffic.safe_tick_any_cycles
    assert len(find_late_spikes(program, ticks, max(1, traffic.safe_tick_cycles))) == 0
    mesh, clock = Mesh.of(program.chip), RouterClock.of(program.chip)
    every = ways_of(program, program.wires.core, program.wires.target_core)
    assert traffic.safe_tick_any_cycles == arrival_bounds(mesh, clock, every).max(initial=0)


def test_what_cannot_be_is_refused(make_chip, make_program):
    program = make_program(make_chip(), np.zeros((1, 1, 1), bool))
    with pytest.raises(InputError, match="tick_cycles = 0"):
        find_late_spikes(program, [], 0)
    backwards = [TickSpikes(tick, *np.zeros((2, 0), np.int64), *NO_HOST) for tick in (1, 0)]
    with pytest.raises(InputError, match="tick 0 comes after tick 1"):
        find_late_spikes(program, backwards, 5)
    assert len(find_late_spikes(program, [], 5)) == 0
