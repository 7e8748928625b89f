"""Places that neurons share over the steps of a period, the best phases for that, and what reloading costs."""

from itertools import combinations, product

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from neuromap.network import Network
from neuromap.rollout.schedule.rollout import Rollout


def computed_in(rollout, periods):
    """By the clock: the ticks in which every node that is no input computes its first frames."""
    nodes = [name for name in rollout.network.nodes if name not in rollout.network.inputs]
    return {v: {rollout.phases[v] + i * rollout.frame_period for i in range(-periods, periods)} for v in nodes}


def fewest_places(groups, meet):
    """Over all ways to put neurons, each of some node, into places of which no two meet in a tick."""
    neurons = [v for v, n in groups.items() for _ in range(n)]
    most = len(neurons)

    def fill(left, places):
        nonlocal most
        if len(places) >= most:
            return
        if not left:
            most = len(places)
            return
        first, *rest = left
        for k, place in enumerate(places):
            if not any((first, other) in meet for other in place):
                fill(rest, [*places[:k], [*place, first], *places[k + 1 :]])
        fill(rest, [*places, [first]])

    fill(neurons, [])
    return most


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), more=st.integers(0, 2))
def test_places_are_the_greatest_load(rollouts, data, more):
    net, pattern = data.draw(rollouts(max_nodes=6, max_extra=5))
    least = Rollout(net, pattern, "pipelined").frame_period
    rollout = Rollout(net, pattern, data.draw(st.sampled_from(["windowed", "pipelined", f"pipelined:{least + more}"])))
    period, ticks = rollout.frame_period, computed_in(rollout, 2 * len(net.nodes) + 4)
    meet = {(u, v) for u, v in product(ticks, repeat=2) if ticks[u] & ticks[v]}
    sizes = {v: data.draw(st.integers(1, 2)) for v in ticks}
    load = {r: sum(n for v, n in sizes.items() if rollout.phases[v] % period == r) for r in range(period)}
    assert fewest_places(sizes, meet) == max(load.values())
    assert max(load.values()) >= max(-(-sum(sizes.values()) // period), *sizes.values())
    if rollout.execution == "windowed":
        assert (max(load.values()) < sum(sizes.values())) == (pattern.inference_factor > 1)
    event(f"period {period}")


@pytest.mark.theorem
@settings(deadline=None, max_examples=300)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5), period=st.integers(1, 3))
def test_best_phases_are_a_partition(sizes, period):
    """Outputs that read the input alone: their phases are free, so the best load is that of the best partition."""
    names = [f"O{k}" for k in range(len(sizes))]
    net = Network.from_edges([("I", name) for name in names], outputs=names)
    base = Rollout(net, "sequential", f"pipelined:{period}")

    def load(residues):
        moved = base.with_phases({v: base.phases[v] + r for v, r in zip(names, residues, strict=True)})
        assert min(moved.delays.values()) >= 1
        phases = [moved.phases[v] % period for v in names]
        return max(sum(n for n, p in zip(sizes, phases, strict=True) if p == r) for r in range(period))

    best = min(load(residues) for residues in product(range(period), repeat=len(sizes)))
    parts = (
        max(sum(n for n, part in zip(sizes, parts, strict=True) if part == r) for r in range(period))
        for parts in product(range(period), repeat=len(sizes))
    )
    assert best == min(parts) >= max(-(-sum(sizes) // period), *sizes)


@pytest.mark.theorem
@settings(deadline=None, max_examples=300)
@given(steps=st.lists(st.integers(1, 2), min_size=1, max_size=4), room=st.integers(1, 4))
def test_no_order_of_loads_is_cheaper(steps, room):
    """Pages of equal size: each step of a period needs its own, cores have room for some; a period from any state."""
    room = max(room, *steps)
    pages, needed = range(sum(steps)), []
    for n in steps:
        begin = sum(map(len, needed))
        needed.append(frozenset(range(begin, begin + n)))
    states = [frozenset(held) for k in range(room + 1) for held in combinations(pages, k)]
    loads = dict.fromkeys(states, 0)
    for asked in needed:
        after = {}
        for state, before in loads.items():
            fetched = asked - state
            for kept in (held for held in states if asked <= held <= state | asked):
                cost = before + len(fetched)
                after[kept] = min(after.get(kept, cost), cost)
        loads = after
    assert min(loads.values()) >= len(pages) - room
    if sum(steps) <= room:
        assert min(loads.values()) == 0
