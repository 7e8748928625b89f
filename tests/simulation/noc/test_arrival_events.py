"""The event simulation against one that goes cycle by cycle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, NotSupportedError
from neuromap.simulation.noc.delivery import MeshEvents, simulate_arrivals
from neuromap.simulation.noc.measure_traffic import arrival_bounds, unloaded_times
from neuromap.simulation.noc.traffic import Mesh, RouterClock, Ways


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_arrivals_are_those_of_a_simulation_cycle_by_cycle(meshes, ways_on, clocks, brute, data):
    mesh, clock = data.draw(meshes()), data.draw(clocks())
    ways = data.draw(ways_on(mesh))
    routes = [brute.servers_of(mesh, clock, way) for way in brute.each(ways)]
    expected = brute.cycle_by_cycle(routes, [0] * len(routes), min)
    assert simulate_arrivals(mesh, clock, ways).tolist() == expected.tolist()


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_spikes_of_later_ticks_meet_those_under_way(meshes, ways_on, clocks, brute, data):
    mesh, clock = data.draw(meshes()), data.draw(clocks())
    ticks = [data.draw(ways_on(mesh, most=12)) for _ in range(data.draw(st.integers(1, 4)))]
    length = data.draw(st.integers(1, 20))
    events, got, ends, sent = MeshEvents(mesh, clock), {}, {}, []

    def take(arrivals):
        for spike, cycle, x, y in zip(*(column.tolist() for column in arrivals), strict=True):
            assert spike not in got
            got[spike], ends[spike] = cycle, (x, y)

    for k, ways in enumerate(ticks):
        numbers = events.send(ways, k * length)
        assert numbers.tolist() == list(range(len(sent), len(sent) + len(ways.x)))
        sent += [(way, k * length) for way in brute.each(ways)]
        take(events.run((k + 1) * length))
        assert events.oldest == min(set(range(len(sent))) - set(got), default=len(sent))
    take(events.run())
    routes = [brute.servers_of(mesh, clock, way) for way, _ in sent]
    expected = brute.cycle_by_cycle(routes, [released for _, released in sent], min)
    assert [got[spike] for spike in range(len(sent))] == expected.tolist()
    assert [ends[spike] for spike in range(len(sent))] == [way[2:] for way, _ in sent]


def test_many_chips_far_ways():
    """A board of the largest size of TrueNorth, 4 x 4 chips, with its ports as servers."""
    mesh, clock = Mesh(256, 256, 64, 64), RouterClock(hop_cycles=2, port_cycles=1)
    ways = Ways(*np.random.default_rng(5).integers(0, 256, (4, 3000)))
    arrivals = simulate_arrivals(mesh, clock, ways)
    assert (arrivals >= unloaded_times(mesh, clock, ways)).all()
    assert (arrivals <= arrival_bounds(mesh, clock, ways)).all()


FAST = {"link_spikes_per_second": 1e8, "hop_seconds": 3e-8}


@pytest.mark.parametrize(
    ("router", "clock"),
    [
        ({}, RouterClock()),
        ({"boundary_spikes_per_second": 160e6}, RouterClock()),
        ({"link_spikes_per_second": 1e8}, RouterClock()),
        ({"hop_seconds": 1e-8}, RouterClock()),
        (FAST, RouterClock(1e-8, 3)),
        (FAST | {"hop_seconds": 1e-9}, RouterClock(1e-8, 1)),
        (FAST | {"hop_seconds": 3.1e-8}, RouterClock(1e-8, 4)),
        (FAST | {"boundary_spikes_per_second": 3e7, "boundary_seconds": 1e-7}, RouterClock(1e-8, 3, 4, 10)),
        (FAST | {"boundary_spikes_per_second": 1.6e8}, RouterClock(1e-8, 3, 1)),
    ],
)
def test_the_clock_comes_from_the_chip_file(make_chip, router, clock):
    assert RouterClock.of(make_chip(router=router)) == clock


def test_seconds_are_absent_where_the_cycle_is():
    assert RouterClock().seconds(7) is None
    assert RouterClock(1e-8, 3).seconds(7) == pytest.approx(7e-8)
    assert RouterClock(hop_cycles=3).crossing_cycles == 3
    assert RouterClock(hop_cycles=3, boundary_cycles=9).crossing_cycles == 9


def test_absurd_figures_are_refused(make_chip):
    with pytest.raises(InputError, match="router clock: hop_cycles = "):
        RouterClock.of(make_chip(router={"link_spikes_per_second": 1e30, "hop_seconds": 1e30}))
    for router in (
        {"link_spikes_per_second": 5e-324, "hop_seconds": 0.0},
        {"link_spikes_per_second": 1e30, "hop_seconds": 0.0, "boundary_spikes_per_second": 5e-324},
        {"link_spikes_per_second": 1e300, "hop_seconds": 1e300},
    ):
        with pytest.raises(InputError, match="router clock: "):
            RouterClock.of(make_chip(router=router))
    mesh, ways = Mesh(256, 256, 1, 1), Ways(*np.zeros((4, 2**14), np.int64))
    with pytest.raises(NotSupportedError, match="network-on-chip: 16384 spikes under way may take until router cycle"):
        simulate_arrivals(mesh, RouterClock(port_cycles=2**31), ways)
    assert simulate_arrivals(mesh, RouterClock(port_cycles=2**20), ways).max() == 2 + 2**14 - 1


@pytest.mark.parametrize(
    "wrong", [{"hop_cycles": 0}, {"port_cycles": 0}, {"boundary_cycles": -1}, {"cycle_seconds": 0.0}]
)
def test_clocks_out_of_range_are_refused(wrong):
    with pytest.raises(InputError, match=f"router clock: {next(iter(wrong))} = "):
        RouterClock(**wrong)
