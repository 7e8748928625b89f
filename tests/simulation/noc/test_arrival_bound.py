"""The bound of arrivals: how it is counted, that no order of service breaks it, and where it is met."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.simulation.noc.delivery import simulate_arrivals
from neuromap.simulation.noc.measure_traffic import arrival_bounds, sharing_spikes, unloaded_times
from neuromap.simulation.noc.traffic import Mesh, RouterClock, Ways

ORDERS = {
    "first come": min,
    "last come": max,
    "farthest first": lambda waiting: max(waiting, key=lambda w: (w[2], w[1])),
    "nearest first": lambda waiting: min(waiting, key=lambda w: (w[2], -w[1])),
    "by number": lambda waiting: min(waiting, key=lambda w: w[1]),
    "by number, backwards": lambda waiting: max(waiting, key=lambda w: w[1]),
}


@given(st.data())
@settings(deadline=None, max_examples=200)
def test_sharing_spikes_are_intersections_of_sets(meshes, ways_on, brute, data):
    mesh = data.draw(meshes())
    ways = data.draw(ways_on(mesh))
    sets = [set(brute.links_of(way)) for way in brute.each(ways)]
    counted = [sum(bool(a & b) for b in sets) - 1 for a in sets]
    assert sharing_spikes(mesh, ways).tolist() == counted


def segments(brute, mesh, way):
    """Links of a way chip by chip, those between chips left out."""
    parts, last = [[]], None
    for link in brute.links_of(way):
        _direction, x, y = link
        chip = (x // mesh.chip_columns, y // mesh.chip_rows)
        if last not in (None, chip):
            parts[-1].pop()  # the link that left the chip
            parts.append([])
        parts[-1].append(link)
        last = chip
    return [set(part) for part in parts]


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_bounds_with_ports_are_sums_over_chips(meshes, ways_on, clocks, brute, data):
    mesh = data.draw(meshes(largest_chip=3, most_chips=4))
    clock = RouterClock(
        None, *data.draw(st.tuples(st.integers(1, 3), st.integers(1, 4), st.none() | st.integers(1, 3)))
    )
    ways = data.draw(ways_on(mesh))
    routes = [brute.servers_of(mesh, clock, way) for way in brute.each(ways)]
    parts = [segments(brute, mesh, way) for way in brute.each(ways)]
    ports = [[s for s, _, _ in route if s[0] == "ports"] for route in routes]
    expected = []
    for p, route in enumerate(routes):
        others = [q for q in range(len(routes)) if q != p]
        shared = sum(any(mine & theirs for theirs in parts[q]) for mine in parts[p] for q in others)
        waits = sum(s in ports[p] for q in others for s in ports[q]) * clock.port_cycles
        expected.append(sum(takes for _, _, takes in route) + shared + waits)
    assert arrival_bounds(mesh, clock, ways).tolist() == expected


@pytest.mark.theorem
@given(st.data())
@settings(deadline=None, max_examples=1000)
def test_no_order_of_service_breaks_the_bound(meshes, ways_on, clocks, brute, data):
    mesh, clock = data.draw(meshes(largest_chip=3)), data.draw(clocks())
    ways = data.draw(ways_on(mesh, most=16))
    routes = [brute.servers_of(mesh, clock, way) for way in brute.each(ways)]
    unloaded = [sum(takes for _, _, takes in route) for route in routes]
    assert unloaded_times(mesh, clock, ways).tolist() == unloaded
    bounds = arrival_bounds(mesh, clock, ways)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    orders = {**ORDERS, "any": lambda waiting: waiting[rng.integers(len(waiting))]}
    for name, choose in orders.items():
        arrivals = brute.cycle_by_cycle(routes, [0] * len(routes), choose)
        assert (arrivals >= unloaded).all(), name
        assert (arrivals <= bounds).all(), name


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_no_event_simulation_breaks_the_bound_in_any_order_of_spikes(meshes, ways_on, clocks, data):
    mesh, clock = data.draw(meshes(largest_chip=6)), data.draw(clocks())
    ways = data.draw(ways_on(mesh, most=200))
    bounds = arrival_bounds(mesh, clock, ways)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    for order in (np.arange(len(ways.x)), np.arange(len(ways.x))[::-1], rng.permutation(len(ways.x))):
        assert (simulate_arrivals(mesh, clock, ways.part(order)) <= bounds[order]).all()


@given(st.integers(1, 40), st.integers(0, 8), st.integers(0, 8), st.integers(1, 4))
@settings(deadline=None, max_examples=50)
def test_spikes_with_one_way_meet_the_bound(n, dx, dy, hop):
    mesh, clock = Mesh(9, 9, 9, 9), RouterClock(hop_cycles=hop)
    ways = Ways(*(np.full(n, value, np.int64) for value in (0, 8, dx, 8 - dy)))
    arrivals = simulate_arrivals(mesh, clock, ways)
    unloaded = 2 + hop * (dx + dy)
    assert arrivals.tolist() == [unloaded + k for k in range(n)]
    assert arrival_bounds(mesh, clock, ways).tolist() == [unloaded + n - 1] * n


@given(*[st.integers(1, 12)] * 4, st.integers(1, 5), st.integers(0, 5), st.integers(1, 3))
@settings(deadline=None, max_examples=100)
def test_streams_that_meet_at_turn_and_target_meet_the_bound(west, east, south, late, a, more, hop):
    """Three streams meet where two of them turn, at the same distance from their cores; a fourth one at the target."""
    n = west + east + south
    late = min(late, n)
    b = a + more  # hops from every core to the target
    turn, target = (12, 12), (12, 12 + more)
    starts = [(turn[0] - a, turn[1])] * west + [(turn[0] + a, turn[1])] * east + [(turn[0], turn[1] - a)] * south
    starts += [(target[0] + b, target[1])] * late
    mesh, clock = Mesh(25, 25, 25, 25), RouterClock(hop_cycles=hop)
    x, y = np.array(starts, np.int64).T
    ways = Ways(x, y, np.full_like(x, target[0]), np.full_like(y, target[1]))
    arrivals, bounds = simulate_arrivals(mesh, clock, ways), arrival_bounds(mesh, clock, ways)
    assert arrivals.max() == bounds.max() == 2 + hop * b + n + late - 1


def test_a_stream_through_ports_meets_the_bound_of_one_server():
    """Where only the ports of one chip are slow in front, the spikes leave in their order, ``port_cycles`` apart."""
    mesh, clock = Mesh(4, 1, 2, 1), RouterClock(port_cycles=5)
    ways = Ways(*(np.full(7, value, np.int64) for value in (1, 0, 2, 0)))
    arrivals = simulate_arrivals(mesh, clock, ways)
    assert arrivals.tolist() == [2 + 1 + 10 + 5 * k for k in range(7)]
    assert (arrival_bounds(mesh, clock, ways) == 13 + 2 * 6 + 2 * 5 * 6).all()


def test_without_spikes_there_is_nothing():
    mesh, ways = Mesh(4, 4, 2, 2), Ways(*np.zeros((4, 0), np.int64))
    assert arrival_bounds(mesh, RouterClock(port_cycles=2), ways).shape == (0,)
    assert simulate_arrivals(mesh, RouterClock(), ways).shape == (0,)


@pytest.mark.parametrize("port", [None, 3])
def test_one_chip_has_no_ports_in_the_mesh(port):
    mesh, ways = Mesh(4, 4, 4, 4), Ways(*np.array([[0, 3], [0, 3], [3, 0], [3, 0]], np.int64))
    assert arrival_bounds(mesh, RouterClock(port_cycles=port), ways).tolist() == [8, 8]
