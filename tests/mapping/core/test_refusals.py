"""What does not fit is refused as data: node, demand, bound, gap, remedies; and the remedy, applied, maps."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import DoesNotFitError
from neuromap.network import Dense, build_network


def refused(net: nm.Network, spec: nm.ChipSpec) -> dict:
    with pytest.raises(DoesNotFitError) as refusal:
        nm.map_rollout(nm.Rollout(net, nm.RolloutPattern.streaming(net)), spec)
    data = json.loads(json.dumps(refusal.value.infeasibility.to_dict()))
    assert data["message"] == str(refusal.value)
    assert "\n" not in data["message"]
    assert data["gap"] == data["demand"] - data["bound"]
    return data


def maps(net: nm.Network, spec: nm.ChipSpec) -> None:
    assert nm.check_program(nm.map_rollout(nm.Rollout(net, nm.RolloutPattern.streaming(net)), spec)) == []


def layer(features: int, targets: int, groups: int = 1) -> nm.Network:
    shape, end = (7, 7, features), (1, 1, targets)
    weights = np.ones((groups, targets // groups, 49 * features // groups), int)
    dense = Dense(shape, end, groups=groups, weights=weights if groups > 1 else weights[0])
    return build_network({"I": (shape, None), "H2": (end, 1)}, {("I", "H2"): dense})


def test_fan_in_names_node_demand_bound_gap_and_groups(chip):
    spec = chip(name="truenorth")
    data = refused(layer(16, 16), spec)
    assert data["message"].startswith(
        'node H2: one neuron needs 784 axons, a truenorth core has 256 (528 too many); wide = "partial-sums" would'
        " compute it in parts; groups = 4 would need 196"
    )
    assert (data["limit"], data["node"], data["demand"], data["bound"]) == ("axons", "H2", 784, 256)
    first = {"lever": "groups", "value": 4, "text": "groups = 4 would need 196", "tried": False, "cores": None}
    assert data["remedies"][1] == first
    maps(layer(16, 16, groups=4), spec)
    larger = next(r for r in data["remedies"] if r["lever"] == "chip.axons")
    maps(layer(16, 16), chip(axons=larger["value"]))


def test_weights_of_one_magnitude_are_named_where_they_would_fit(chip, chain):
    rng = np.random.default_rng(0)
    wide = rng.integers(1, 200, (1, 40))
    net = chain({"I": (40, None), "A": (1, 5)}, {("I", "A"): wide})
    data = refused(net, chip(axons=40))
    remedy = next(r for r in data["remedies"] if r["lever"] == "weights")
    assert remedy["value"] == 1
    assert remedy["text"].endswith("would need 40")
    maps(chain({"I": (40, None), "A": (1, 5)}, {("I", "A"): np.ones((1, 40), int)}), chip(axons=40))


def test_fan_out_beyond_a_core_is_spread_over_replicas(chip, chain):
    """One neuron that every core of the next node reads, in cores too small to hold its copies: no refusal."""
    net = chain(
        {"I": (1, None), "A": (1, 1), "B": (64, 1)},
        {("I", "A"): [[1]], ("A", "B"): np.ones((64, 1), int)},
    )
    maps(net, chip(neurons=4))


def test_core_count(chip, chain):
    net = chain({"I": (1, None), "A": (40, 1)}, {("I", "A"): np.ones((40, 1), int)})
    data = refused(net, chip(neurons=4, cores=(3, 2)))
    assert (data["limit"], data["node"], data["demand"], data["bound"]) == ("cores", "A", 10, 6)
    assert data["remedies"][-1]["value"] == 10
    maps(net, chip(neurons=4, cores=(data["remedies"][-1]["value"], 1)))


def test_copies_that_multiply_on_a_cycle(chip, chain):
    """A dense self-edge: every further core of A asks every neuron of A for one more copy."""
    n = 40
    net = chain(
        {"I": (n, None), "A": (n, 1)},
        {("I", "A"): np.eye(n, dtype=int), ("A", "A"): np.ones((n, n), int)},
        outputs=["A"],
    )
    data = refused(net, chip(axons=128, neurons=32))
    assert data["limit"] in {"cores", "copies"}
    assert data["node"] == "A"
    maps(net, chip(axons=128, neurons=128))


def test_potential_too_narrow(chip, chain):
    net = chain({"I": (4, None), "A": (1, 9)}, {("I", "A"): [[200, 200, 200, 200]]})
    data = refused(net, chip(potential_bits=10))
    assert (data["limit"], data["node"]) == ("potential", "A")
    maps(net, chip(potential_bits=data["remedies"][0]["value"]))


def test_too_few_axon_types(chip, chain):
    net = chain({"I": (2, None), "A": (1, 1)}, {("I", "A"): [[1, -1]]})
    data = refused(net, chip(axon_types=1))
    assert (data["limit"], data["demand"], data["bound"]) == ("axon_types", 2, 1)
    maps(net, replace(chip(), axon_types=data["remedies"][0]["value"]))


def test_networks_without_weights_are_refused_before_mapping(chip):
    net = nm.Network.from_edges([("I", "A")])
    with pytest.raises(nm.errors.NetworkError, match="node I has no shape"):
        nm.map_rollout(nm.Rollout(net, nm.RolloutPattern.streaming(net)), chip())


def test_the_neuron_that_does_not_fit_is_the_one_named(chip, chain):
    """Seventy neurons of fan-in 100 fit; one of fan-in 60 with weights of four bits does not."""
    rng = np.random.default_rng(0)
    weights = np.zeros((71, 160), int)
    weights[:70, :100] = 1
    weights[70, 100:] = rng.permutation(np.tile(np.arange(-8, 8), 4))[:60] | 1
    net = chain({"I": (160, None), "A": (71, 5)}, {("I", "A"): weights})
    data = refused(net, chip(axons=100))
    assert data["limit"] == "axons"
    assert data["demand"] > 100
    remedy = next(r for r in data["remedies"] if r["lever"] == "chip.axons")
    maps(net, chip(axons=remedy["value"]))


@pytest.mark.parametrize("value", [2**31 - 1, -(2**31)])
def test_weights_far_beyond_the_chip(chip, chain, value):
    """The file format allows them; they are refused by arithmetic, not laid out on millions of axons."""
    net = chain({"I": (3, None), "A": (1, 1)}, {("I", "A"): [[value, 1, -1]]})
    assert refused(net, chip())["limit"] == "potential"
    assert refused(net, chip(potential_bits=32, weight_bits=2))["limit"] in {"potential", "axons"}


def test_narrow_leaks_and_weights_still_map(chip, chain):
    """Bias axons reach any threshold in steps that the leak can level out."""
    net = chain({"I": (2, None), "A": (2, [300, 509])}, {("I", "A"): [[255, 255], [255, 254]]})
    maps(net, chip(leak_bits=2))
    maps(net, chip(leak_bits=2, weight_bits=6))


def test_groups_multiply_those_that_are_there(chip):
    data = refused(layer(32, 32, groups=2), chip())
    assert [data["remedies"][1][key] for key in ("lever", "value", "text")] == [
        "groups",
        8,
        "groups = 8 would need 196",
    ]
    maps(layer(32, 32, groups=8), chip())


def test_the_potential_s_remedy_serves_every_neuron(chip, chain):
    net = chain({"I": (2, None), "O": (2, 1)}, {("I", "O"): [[20, 0], [0, 200]]})
    data = refused(net, chip(potential_bits=5))
    assert data["limit"] == "potential"
    maps(net, chip(potential_bits=data["remedies"][0]["value"]))


def test_a_potential_holds_what_it_reaches_and_no_more(chip, chain):
    """Events come before the leak: up to 200 and down to -100, never 300."""
    net = chain({"I": (200, None), "O": (1, 100)}, {("I", "O"): np.ones((1, 200), int)})
    maps(net, chip(potential_bits=9))
    assert refused(net, chip(potential_bits=8))["limit"] == "potential"
