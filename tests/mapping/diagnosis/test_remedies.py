"""Remedies that are said to be tried were: applied, the network maps, at the number of cores that was said."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import DoesNotFitError, InputError
from neuromap.mapping.diagnosis.apply_remedy import Request, apply_remedy
from neuromap.mapping.diagnosis.dry_run import dry_run, refuse_early
from neuromap.mapping.diagnosis.remedies import try_remedies, what_would_fit
from neuromap.mapping.map_rollout import map_with_stages
from neuromap.mapping.options.infeasibility import Infeasibility, Remedy
from neuromap.mapping.options.options import MappingOptions
from neuromap.network import Conv, Dense, build_network


def streaming(net: nm.Network) -> nm.Rollout:
    return nm.Rollout(net, nm.RolloutPattern.streaming(net))


def refused(request: Request) -> Infeasibility:
    with pytest.raises(DoesNotFitError) as refusal:
        map_with_stages(request.rollout, request.chip, request.options)
    found: Infeasibility = refusal.value.infeasibility
    return found


def mapped(request: Request) -> nm.Program:
    program = map_with_stages(request.rollout, request.chip, request.options).program
    assert nm.check_program(program) == []
    return program


def dense(sizes: list[int], rng: np.random.Generator) -> nm.Network:
    names = ["I", *(f"H{k}" for k in range(1, len(sizes)))]
    nodes = {name: ((1, 1, n), None if name == "I" else 1) for name, n in zip(names, sizes, strict=True)}
    edges = {(u, v): rng.integers(-1, 2, (nodes[v][0][2], nodes[u][0][2])) for u, v in pairwise(names)}
    return build_network(nodes, {(u, v): Dense(nodes[u][0], nodes[v][0], weights=w) for (u, v), w in edges.items()})


def test_a_bound_is_said_only_where_the_schedule_is_known(chip):
    """A rollout in ticks is scheduled anew, so its bound is known only once it is mapped."""
    rollout, spec = streaming(dense([8, 24, 24], np.random.default_rng(0))), chip(cores=(1, 1), axons=64, neurons=16)
    for asked, is_known in ((rollout, True), (rollout.with_latencies({}), False)):
        found = dry_run(asked, spec, MappingOptions(placer="hilbert"), seconds=0.0)
        assert not found.fits
        assert (found.bound is not None) == is_known


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_what_was_tried_maps_at_the_cores_that_were_said(chip, data):
    sizes = data.draw(st.lists(st.sampled_from([2, 4, 6, 12, 24]), min_size=2, max_size=4))
    net = dense(sizes, np.random.default_rng(data.draw(st.integers(0, 99))))
    spec = chip(
        cores=data.draw(st.sampled_from([(1, 1), (2, 1), (4, 4)])),
        axons=data.draw(st.sampled_from([8, 16, 64])),
        neurons=data.draw(st.sampled_from([4, 16])),
        axon_types=data.draw(st.integers(1, 4)),
        delay=(data.draw(st.integers(1, 2)), 15),
    )
    steps = data.draw(st.sampled_from([None, 1]))
    request = Request(streaming(net), spec, MappingOptions(placer="hilbert", ticks_per_step=steps))
    found = dry_run(request.rollout, request.chip, request.options, seconds=None)
    if found.fits:
        assert len(mapped(request).coordinates) == found.cores
        assert found.problems == ()
        assert found.bound is not None
        assert found.bound.total <= found.cores
        return
    assert refused(request).limit == found.problems[0].limit
    assert all(problem.gap > 0 for problem in found.problems)
    for remedy in found.problems[0].remedies:
        if remedy.tried and ", with " not in remedy.text:
            assert len(mapped(apply_remedy(request, found.problems[0], remedy)).coordinates) == remedy.cores
    if found.cores_with_remedies is not None:
        for problem in found.problems:
            assert problem.remedies[0].tried
            request = apply_remedy(request, problem, problem.remedies[0])
        assert len(mapped(request).coordinates) == found.cores_with_remedies


def test_remedies_of_several_nodes_are_found_together(chip):
    """Two layers too wide: groups for one of them do not help, groups for both do."""
    ones = {key: np.ones((w, 512), int) for key, w in {("I", "A"): 512, ("A", "O"): 8}.items()}
    shapes = {"I": (1, 1, 512), "A": (1, 1, 512), "O": (1, 1, 8)}
    net = build_network(
        {n: (s, None if n == "I" else 1) for n, s in shapes.items()},
        {(u, v): Dense(shapes[u], shapes[v], weights=w) for (u, v), w in ones.items()},
    )
    request = Request(streaming(net), chip(threshold_bits=8))  # too narrow to compute them in parts
    answer = what_would_fit(request, refused(request))
    assert [(p.limit, p.node) for p in answer.problems] == [("axons", "O"), ("axons", "A")]
    first = answer.problems[0].remedies[0]
    assert (first.lever, first.value, first.tried) == ("groups", 2, True)
    assert "with groups = 2 for A" in first.text
    for problem in answer.problems:
        request = apply_remedy(request, problem, problem.remedies[0])
    assert len(mapped(request).coordinates) == answer.cores


def test_a_network_far_too_large_is_refused_before_it_is_tiled(chip):
    """The bound on its cores says so; remedies that were not tried say no more than they know."""
    shape = (1, 1, 2000)
    net = build_network({"I": (shape, None), "A": (shape, 1)}, {("I", "A"): np.eye(2000, dtype=int)})
    request = Request(streaming(net), chip(cores=(2, 2), name="own"))
    refusal = refuse_early(request)
    assert refusal is not None
    found = refusal.infeasibility
    assert (found.limit, found.node, found.demand, found.bound) == ("cores", None, 8, 4)
    first = try_remedies(request, found).remedies[0]
    assert (first.lever, first.value, first.tried, first.cores) == ("chip", "ranc", True, 8)
    assert refuse_early(apply_remedy(request, found, first)) is None


def test_without_time_nothing_is_tried(chip):
    net = dense([400, 4], np.random.default_rng(0))
    request = Request(streaming(net), chip())
    found = try_remedies(request, refused(request), seconds=0.0)
    assert [r.lever for r in found.remedies] == ["wide", "groups", "chip.axons"]
    assert not any(r.tried for r in found.remedies)


@pytest.mark.parametrize("groups", [2, 4])
def test_groups_keep_the_weights_that_lie_within_them(groups):
    rng = np.random.default_rng(groups)
    shape, end = (3, 3, 8), (3, 3, 4)
    features = np.arange(72) % 8 // (8 // groups), np.arange(36) % 4 // (4 // groups)
    same = features[1][:, None] == features[0][None, :]
    for transform in (
        Conv(shape, end, kernel=(3, 3), weights=rng.integers(-9, 9, (3, 3, 8, 4))),
        Conv(shape, end, kernel=(3, 3), groups=2, weights=rng.integers(-9, 9, (3, 3, 4, 4))),
        Dense(shape, end, weights=rng.integers(-9, 9, (36, 72))),
        Dense(shape, end, groups=2, weights=rng.integers(-9, 9, (2, 18, 36))),
    ):
        net = build_network({"I": (shape, None), "A": (end, 1)}, {("I", "A"): transform})
        refusal = Infeasibility("axons", "A", 2, 1, "")
        request = Request(streaming(net), nm.load_chip("truenorth"))
        made = apply_remedy(request, refusal, Remedy("groups", groups, "")).rollout.network
        expected = np.where(same, net.edges["I", "A"].matrix().toarray(), 0)
        np.testing.assert_array_equal(made.edges["I", "A"].matrix().toarray(), expected)
        assert made.edges["I", "A"].transform.groups == groups


def test_other_networks_are_offered_where_they_map_and_say_so(chip):
    """A dense layer too wide: its hidden source is pooled, or has fewer features; both with cores and ticks."""
    rng = np.random.default_rng(0)
    shapes = {"I": (4, 4, 8), "H": (4, 4, 8), "O": (1, 1, 4)}
    edges = {
        ("I", "H"): Conv(shapes["I"], shapes["H"], kernel=(1, 1), weights=rng.integers(-1, 2, (1, 1, 8, 8))),
        ("H", "O"): Dense(shapes["H"], shapes["O"], weights=np.ones((4, 128), int)),
    }
    net = build_network({n: (s, None if n == "I" else 1) for n, s in shapes.items()}, edges)
    request = Request(streaming(net), chip(axons=64, neurons=64))
    refusal = refused(request)
    found = {remedy.lever: remedy for remedy in try_remedies(request, refusal).remedies if remedy.tried}
    assert (found["pool"].value, found["source_features"].value) == (2, 4)
    for lever in ("pool", "source_features"):
        assert found[lever].text.startswith("another network, ")
        assert " tick" in found[lever].text
        assert len(mapped(apply_remedy(request, refusal, found[lever])).coordinates) == found[lever].cores
    levers = [remedy.lever for remedy in try_remedies(request, refusal).remedies]
    assert levers.index("wide") < levers.index("pool")


def test_smaller_networks_keep_the_weights_between_neurons_that_stay():
    rng = np.random.default_rng(1)
    shape, thresholds = (5, 4, 6), np.arange(120)
    weights = {key: rng.integers(-3, 4, (120, 120)) for key in [("I", "A"), ("A", "A"), ("A", "O")]}
    net = build_network({"I": (shape, None), "A": (shape, thresholds), "O": (shape, 1)}, weights)
    request = Request(streaming(net), nm.load_chip("truenorth"))
    fewer = apply_remedy(request, Infeasibility("cores", "A", 2, 1, ""), Remedy("features", 4, "")).rollout.network
    stays = np.arange(120) % 6 < 4
    assert fewer.nodes["A"].shape == (5, 4, 4)
    np.testing.assert_array_equal(fewer.nodes["A"].threshold, thresholds[stays])
    np.testing.assert_array_equal(fewer.edges["I", "A"].matrix().toarray(), weights["I", "A"][stays])
    np.testing.assert_array_equal(fewer.edges["A", "A"].matrix().toarray(), weights["A", "A"][stays][:, stays])
    np.testing.assert_array_equal(fewer.edges["A", "O"].matrix().toarray(), weights["A", "O"][:, stays])
    pooled = apply_remedy(request, Infeasibility("axons", "O", 2, 1, ""), Remedy("pool", 2, "")).rollout
    (pool,) = set(pooled.network.nodes) - set(net.nodes)
    assert pooled.network.nodes[pool].shape == (2, 2, 6)
    streams = dict(zip(pooled.network.edges, pooled.pattern.values, strict=True))
    assert (streams["A", pool], streams[pool, "O"], ("A", "O") in streams) == (0, 1, False)
    row, column, _ = np.unravel_index(np.arange(120), shape)
    first = (row % 2 == 0) & (column % 2 == 0) & (row < 4)
    np.testing.assert_array_equal(pooled.network.edges[pool, "O"].matrix().toarray(), weights["A", "O"][:, first])


@pytest.mark.parametrize(
    ("lever", "value"),
    [
        ("size", None),
        ("groups", 3),
        ("pool", 2),
        ("features", 0),
        ("source_features", 1),
        ("chip.colour", 3),
        ("colour", 1),
        ("chip", "loihi9"),
        ("splitters", "nowhere"),
    ],
)
def test_what_cannot_be_applied_is_bad_input(lever, value):
    net = build_network(
        {"I": (4, None), "A": (4, 1)}, {("I", "A"): Dense((1, 1, 4), (1, 1, 4), weights=np.eye(4, dtype=int))}
    )
    request = Request(streaming(net), nm.load_chip("truenorth"))
    with pytest.raises(InputError):
        apply_remedy(request, Infeasibility("axons", "A", 2, 1, ""), Remedy(lever, value, ""))


def test_cores_are_counted_without_those_that_are_dead(chip):
    from neuromap.hardware.chip.chip_spec import Defects

    spec = chip(cores=(2, 2), defects=Defects(cores=((0, 0), (1, 1))))
    refusal: Any = Infeasibility("cores", "A", 3, 2, "")
    net = dense([2, 2], np.random.default_rng(0))
    for cores in range(1, 30):
        made = apply_remedy(Request(streaming(net), spec), refusal, Remedy("chip.cores", cores, "")).chip
        assert made.n_usable_cores >= cores
        assert made.defects == spec.defects


def test_a_neuron_that_is_left_out_asks_for_no_more_than_a_core_has(chip):
    """Its two signs need two axon types, but nothing reads it: the rest fits, and has a bound."""
    weights = {("I", "A"): np.array([[1, 0], [-1, 1]]), ("A", "O"): np.array([[1, 0]])}
    net = build_network({"I": (2, None), "A": (2, 1), "O": (1, 1)}, weights)
    found = dry_run(streaming(net), chip(axon_types=1), seconds=0.0)
    assert (found.fits, found.cores, found.bound.total) == (True, 1, 1)
