"""The front of the explorer is the front of everything: every valid pattern and execution mapped one by one."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.explorer.explore import explore
from neuromap.network import build_network
from neuromap.network.transforms import Conv, Dense

pytestmark = pytest.mark.law


TOLERANCES = st.sampled_from([0.0, 0.02, 0.1, 0.5])


def check(found, brute, point_of):
    assert found.gap.is_exact
    assert {point_of(row) for row in found.front} == brute.front
    assert {point_of(row) for row in found.class_front} == brute.class_front


@pytest.mark.parametrize("name", ["ff", "s", pytest.param("sr", marks=pytest.mark.thorough)])
def test_digits(name, brute_force, fronts_of, point_of):
    net = nm.load_network(f"examples/digits/{name}.toml")
    streaming = nm.RolloutPattern.streaming(net)
    found = explore(net, n_frames=4, n_stimuli=3, verify=False)
    tolerance = found.energy_tolerance
    assert 1e-4 <= tolerance <= 1e-2  # so far the energy of a frame is known over three stimuli of four frames
    brute = brute_force(net, nm.load_chip("truenorth"), streaming, n_frames=4, n_stimuli=3, tolerance=tolerance)
    check(found, brute, point_of)
    assert found.n_candidates == len(brute.points)
    assert found.n_mapped < found.n_rows or name == "ff"
    sequential = nm.RolloutPattern.named(net, "sequential")
    for tolerance in (0.0, 2e-4):
        options = {"n_frames": 4, "n_stimuli": 3, "verify": False, "energy_tolerance": tolerance}
        found = explore(net, given="sequential", **options)
        check(found, fronts_of(net, brute.points, sequential, tolerance), point_of)


def dsr1(seed=3):
    """The graph of examples/structures/dsr1.toml with few features."""
    rng = np.random.default_rng(seed)
    shapes = {"I": (4, 4, 1), "H1": (4, 4, 1), "H11": (4, 4, 1), "H2": (2, 2, 2), "HD": (1, 1, 8), "O": (1, 1, 4)}

    def conv(u, v, stride=(1, 1), kernel=(3, 3)):
        shape = (*kernel, shapes[u][2], shapes[v][2])
        return Conv(shapes[u], shapes[v], kernel, stride=stride, weights=rng.choice([-1, 0, 1], shape))

    edges = {
        ("I", "H1"): conv("I", "H1"),
        ("H1", "H1"): conv("H1", "H1"),
        ("H1", "H11"): conv("H1", "H11"),
        ("H1", "H2"): conv("H1", "H2", (2, 2)),
        ("H11", "H2"): conv("H11", "H2", (2, 2)),
        ("H2", "HD"): conv("H2", "HD", (2, 2), (2, 2)),
        ("HD", "O"): Dense(shapes["HD"], shapes["O"], weights=rng.choice([-1, 0, 1], (4, 8))),
    }
    assert set(edges) == set(nm.load_network("examples/structures/dsr1.toml").edges)
    nodes = {name: (shape, None if name == "I" else 1) for name, shape in shapes.items()}
    return build_network(nodes, edges, outputs=["O"])


@pytest.mark.thorough
def test_dsr1_with_few_features(chip, brute_force, point_of):
    net = dsr1()
    small = chip(axons=56, neurons=64, delay=(1, 2))
    given_pattern = nm.RolloutPattern.named(net, "sequential")
    brute = brute_force(net, small, given_pattern, n_frames=6, tolerance=0.01)
    assert len(brute.points) == 128
    assert len({p.cores for p in brute.points.values() if p is not None}) > 1  # cores do depend on the rollout
    found = explore(net, small, given_pattern, n_frames=6, n_stimuli=1, verify=False, energy_tolerance=0.01)
    check(found, brute, point_of)


@pytest.mark.parametrize("largest", [5, pytest.param(6, marks=pytest.mark.thorough)])
@settings(deadline=None, max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_random_networks(largest, data, networks, chip, list_chip, brute_force, point_of):
    net = data.draw(networks(most_edges=data.draw(st.integers(largest - 2, largest))))
    check_random(data, net, chip, list_chip, brute_force, point_of)


@pytest.mark.thorough
@settings(deadline=None, max_examples=334, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_many_small_networks(data, networks, chip, list_chip, brute_force, point_of):
    """A law: three times as many in the thorough profile."""
    net = data.draw(networks(most_inner=2, most_extra=1, most_edges=3))
    check_random(data, net, chip, list_chip, brute_force, point_of)


def check_random(data, net, chip, list_chip, brute_force, point_of):
    size = data.draw(st.sampled_from([16, 32, 256]))
    joules = {"synaptic_event_joules": 1e-6, "neuron_update_joules": 3e-7}
    make = data.draw(st.sampled_from([chip, partial(list_chip, energy=joules)]))
    small = make(axons=size, neurons=size, delay=data.draw(st.sampled_from([(1, 15), (1, 2)])))
    patterns = list(nm.rollout.enumerate_valid(net))
    pattern = data.draw(st.sampled_from(patterns))
    tolerance = data.draw(TOLERANCES)
    phases = data.draw(st.sampled_from(["least", "cheapest", "fastest"]))
    brute = brute_force(net, small, pattern, n_frames=4, tolerance=tolerance, phases=phases)
    how = {"phases": phases, "energy_tolerance": tolerance}
    found = explore(net, small, pattern, n_frames=4, n_stimuli=1, verify=False, **how)
    event(f"front of {len(brute.front)}")
    event("cycles" if found.n_valid_patterns != 2 ** sum(u != v for u, v in net.edges) else "self-edges only")
    check(found, brute, point_of)
    for row in found.rows:  # also what is no front is right
        brute_point = brute.points[row.candidate.values, row.candidate.execution]
        if row.status == "mapped":
            assert point_of(row) == brute_point
        elif row.status == "does not fit":
            assert brute_point is None
        if brute_point is not None:
            assert row.core_bound <= brute_point.cores
            assert row.energy_bound is None or row.energy_bound <= brute_point.energy * (1 + 1e-9)
