"""Frame period against buffers: fewest values held at every period, and what they bound where spikes wait."""

import re
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import InputError
from neuromap.network import Network
from neuromap.rollout import Rollout, period_curve


def readers(rollout):
    """Edges that leave each node on the chip, on the way to an output."""
    net = rollout.network
    leads, grew = set(net.outputs), True
    while grew:
        grew = False
        for u, v in net.edges:
            if v in leads and u not in leads:
                leads.add(u)
                grew = True
    found = {}
    for u, v in net.edges:
        if v in leads and u not in net.inputs:
            found.setdefault(u, []).append((u, v))
    return found


def delays_of(rollout, phases, period):
    """Distinct delays at which each node is read; None where phases are not legal."""
    delays = {(u, v): phases[v] - phases[u] + r * period for (u, v), r in rollout.pattern.items()}
    if min(delays.values()) < 1:
        return None
    return [{delays[edge] for edge in edges} for edges in readers(rollout).values()]


def one_by_one(distinct, reach):
    """Neurons of a node whose value is read at some delays, by the sum over the gaps between them."""
    ends = [0, *sorted(distinct)]
    return sum(-(-(b - a) // reach) for a, b in pairwise(ends))


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data())
def test_no_phases_hold_fewer_values(rollouts, with_outputs, data):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=4, max_extra=4)))
    least = Rollout(net, pattern, "pipelined").frame_period
    period = least + data.draw(st.integers(0, 2))
    reach = data.draw(st.integers(1, 3))
    (point,) = period_curve(net, pattern, [period], reach=reach)
    rollout = point.rollout
    assert sum(map(max, delays_of(rollout, rollout.phases, period))) == point.held
    first, *others = net.nodes
    for move in product(range(-2, 3), repeat=len(others)):
        phases = {first: rollout.phases[first]}
        phases |= {name: rollout.phases[name] + by for name, by in zip(others, move, strict=True)}
        found = delays_of(rollout, phases, period)
        if found is not None:
            assert sum(map(max, found)) >= point.held
            assert sum(one_by_one(distinct, reach) for distinct in found) >= point.bound


@pytest.mark.theorem
@settings(deadline=None, max_examples=1000)
@given(data=st.data(), reach=st.integers(1, 5))
def test_values_held_are_convex_in_the_period_and_bound_neurons(rollouts, with_outputs, data, reach):
    net, pattern = data.draw(with_outputs(rollouts(max_nodes=6, max_extra=6)))
    least = Rollout(net, pattern, "pipelined").frame_period
    curve = period_curve(net, pattern, range(least, least + 5), reach=reach)
    values = [point.held for point in curve]
    assert all(b - a <= c - b for a, b, c in zip(values, values[1:], values[2:], strict=False))
    for point in curve:
        of_node = {u: {point.rollout.delays[edge] for edge in edges} for u, edges in readers(point.rollout).items()}
        assert point.neurons == sum(one_by_one(distinct, reach) for distinct in of_node.values())
        assert (
            max(point.held, len(of_node) * reach)
            <= point.bound * reach
            < max(point.held, len(of_node)) + 2 * reach * max(1, len(of_node))
        )
        assert point.bound <= point.neurons
        # Theorem 2: rounding costs less than a neuron for every distinct delay
        assert point.neurons * reach <= point.held + sum(map(len, of_node.values())) * (reach - 1)
        if reach == 1:
            assert point.neurons == point.held == point.bound


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"reach": 0}, "reach = 0: must be 1"),
        ({"periods": [1]}, "needs a frame period of 2 update steps for its cycles"),
    ],
)
def test_what_cannot_be_is_refused(arguments, said):
    net = Network.from_edges([("I", "A"), ("A", "B"), ("B", "A")])
    pattern = nm.RolloutPattern(net, (0, 0, 1))
    with pytest.raises(InputError, match=said):
        period_curve(net, pattern, **arguments)


PAGE = Path(__file__).resolve().parents[3] / "docs" / "theorems" / "period-curve.md"
ROWS = [re.split(r" *\| *", line)[1:-1] for line in PAGE.read_text(encoding="utf-8").splitlines() if " | s" in line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
def test_the_papers_networks_hold_what_the_page_says(row):
    name, pattern, *cells = row
    net = nm.load_network(f"examples/structures/{name.lower()}.toml")
    near, far = (period_curve(net, pattern, range(1, 5), reach=reach) for reach in (1, 15))
    told = [f"{point.held:,}" for point in near]
    for point in (far[1], far[3]):
        least, found = f"{point.bound:,}", f"{point.neurons:,}"
        told.append(found if least == found else f"{least} to {found}")
    assert told == cells
