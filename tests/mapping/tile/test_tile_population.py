"""Tiles of one population: every neuron with its copies, every tile legal, every plan its matrix; all partitioners."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from scipy import sparse

from neuromap.errors import DoesNotFitError, NotSupportedError
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalised import Population
from neuromap.mapping.options.options import PARTITIONERS
from neuromap.mapping.tile.overlap_order import axon_demand, overlap_order
from neuromap.mapping.tile.partitioners import cheapest_blocks, cut_single, exchange_neurons
from neuromap.mapping.tile.tile import Planner, Stuck
from neuromap.mapping.tile.tilings import tile_population

INSTALLED = [p for p in PARTITIONERS if p != "metis" or importlib.util.find_spec("pymetis")]
SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4))


def population(shape, n, threshold):
    return Population(
        name="A",
        node=0,
        neurons=np.arange(n),
        shape=shape,
        threshold=np.asarray(threshold, np.int64),
        is_relay=shape is None,
        is_output=True,
        sample_tick=0,
    )


@st.composite
def cases(draw):
    """A population with weights of some kind, thresholds, copies from none to several cores, and a small chip."""
    shape = draw(SHAPES)
    n = int(np.prod(shape))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sources = draw(st.integers(1, 40))
    values = draw(st.sampled_from([(1,), (-1, 1), (-1, 1, 2), (-8, -3, 1, 5, 7)]))
    dense = rng.choice(values, (n, sources)) * (rng.random((n, sources)) < draw(st.sampled_from([0.05, 0.2, 0.6])))
    if draw(st.booleans()):
        dense = np.sign(dense) * rng.choice([-1, 1], (1, sources)) * np.abs(dense)
    low, high = np.minimum(dense, 0).sum(axis=1), np.maximum(dense, 0).sum(axis=1) + 1
    theta = np.clip(rng.integers(-3, 5, n), low, high)
    copies = rng.integers(0, draw(st.sampled_from([2, 4, 60])), n)
    copies[rng.integers(n)] += 1
    whole = shape if draw(st.booleans()) else None
    matrix = sparse.csr_array(dense.astype(np.int64))
    return population(whole, n, theta), matrix, rng.random(sources) < 0.5, copies


def require_legal(tiles, pop, matrix, copies, spec):
    """What every tiling owes: each neuron has exactly its copies, each tile fits, each plan adds up to the matrix."""
    given_copies = np.zeros(len(copies), np.int64)
    for tile in tiles:
        assert (np.diff(tile.neurons) > 0).all()
        assert (tile.copies > 0).all()
        assert tile.copies.sum() <= spec.neurons
        assert tile.plan.n_axons <= spec.axons
        np.add.at(given_copies, tile.neurons, tile.copies)
        weights = np.zeros((len(tile.neurons), matrix.shape[1]), np.int64)
        constant = tile.plan.leak - tile.plan.alpha
        for source, kind, synapses in zip(tile.plan.source, tile.plan.axon_type, tile.plan.synapses, strict=True):
            column = synapses * tile.plan.weights[:, kind]
            if source == BIAS:
                constant += column
            else:
                weights[:, tile.columns[source]] += column
        np.testing.assert_array_equal(weights, matrix[tile.neurons].toarray())
        np.testing.assert_array_equal(constant, -pop.threshold[tile.neurons])
    np.testing.assert_array_equal(given_copies, copies)


def same(one, other):
    return len(one) == len(other) and all(
        np.array_equal(a.neurons, b.neurons) and np.array_equal(a.copies, b.copies)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("partitioner", INSTALLED)
@settings(deadline=None, max_examples=60)
@given(
    case=cases(), axons=st.sampled_from([48, 96, 256]), neurons=st.sampled_from([16, 50, 256]), seed=st.integers(0, 9)
)
def test_every_neuron_has_its_copies_in_legal_tiles(chip, partitioner, case, axons, neurons, seed):
    pop, matrix, fed, copies = case
    spec = core_of(chip(axons=axons, neurons=neurons))
    tiles = tiled(pop, matrix, fed, copies, spec, partitioner=partitioner, seed=seed)
    if isinstance(tiles, Stuck):
        event("stuck")
        alone = np.zeros(len(copies), np.int64)
        alone[tiles.args[0]] = 1
        assert isinstance(tiled(pop, matrix, fed, alone, spec), Stuck)
        return
    event(f"tiles: {min(len(tiles), 5)}")
    require_legal(tiles, pop, matrix, copies, spec)
    again = tiled(pop, matrix, fed, copies, spec, partitioner=partitioner, seed=seed)
    assert same(tiles, again)


def tiled(pop, matrix, fed, copies, spec, **more):
    """Tile; return tiles, or the neuron that is stuck."""
    try:
        return tile_population(Planner(0, pop, matrix, spec), fed, copies, **more)
    except Stuck as stuck:
        return stuck


def attempt(pop, matrix, fed, copies, spec, **pins):
    """Tile; return tiles, or the refusal as data."""
    try:
        return tiled(pop, matrix, fed, copies, spec, **pins), None
    except DoesNotFitError as refusal:
        return None, refusal.infeasibility


@settings(deadline=None, max_examples=60)
@given(case=cases(), tile=SHAPES)
def test_a_pinned_tile_is_kept_or_refused_with_one_that_fits(chip, case, tile):
    pop, matrix, fed, copies = case
    assume(pop.shape is not None)
    spec = core_of(chip(axons=64, neurons=40))
    copies = np.minimum(copies, spec.neurons)
    tiles, data = attempt(pop, matrix, fed, copies, spec, pin_tile=tile)
    if data is not None:
        event(f"refused: {data.limit}")
        assert data.node == "A"
        assert data.gap > 0
        remedy = next(r for r in data.remedies if r.lever == "pins.tiles")
        tile = tuple(int(side) for side in remedy.text.split("tile of ")[1].split()[0].split("x"))
        assert tile == remedy.value
        tiles = tiled(pop, matrix, fed, copies, spec, pin_tile=tile)
    if isinstance(tiles, Stuck):
        event("stuck")
        return
    require_legal(tiles, pop, matrix, copies, spec)
    for found in tiles:
        cells = [set(axis // side) for axis, side in zip(np.unravel_index(found.neurons, pop.shape), tile, strict=True)]
        assert [len(cell) for cell in cells] == [1, 1, 1]


@settings(deadline=None, max_examples=60)
@given(case=cases(), cores=st.integers(1, 12))
def test_pinned_cores_are_even(chip, case, cores):
    pop, matrix, fed, copies = case
    spec = core_of(chip(axons=64, neurons=64))
    alive = int(np.count_nonzero(copies))
    tiles, data = attempt(pop, matrix, fed, copies, spec, pin_cores=cores)
    assert (data is not None) == (alive < cores)
    if data is not None:
        assert (data.node, data.demand, data.bound) == ("A", cores, alive)
        assert data.remedies[0].value == alive
        tiles = tiled(pop, matrix, fed, copies, spec, pin_cores=alive)
        cores = alive
    if isinstance(tiles, Stuck):
        event("stuck")
        return
    require_legal(tiles, pop, matrix, copies, spec)
    assert len(tiles) >= cores
    sizes = [len(tile.neurons) for tile in tiles]
    assert max(sizes) - min(sizes) <= 1


def recount(cut, demand, copies, spec):
    """Cost of a cut, from its definition, and whether it keeps the limits."""
    cost, legal = 0, True
    for part in np.split(cut.neurons, cut.ends[:-1]):
        items = np.unique(np.concatenate([demand.items[demand.indptr[n] : demand.indptr[n + 1]] for n in part]))
        legal &= len(items) <= demand.limit and copies[part].sum() <= spec.neurons
        cost += 2**20 + int(demand.price[items].sum())
    return cost, legal


@settings(deadline=None, max_examples=60)
@given(case=cases())
def test_cuts_cost_what_they_say_and_exchange_only_saves(chip, case):
    pop, matrix, fed, copies = case
    spec = core_of(chip(axons=48, neurons=60))
    copies = np.minimum(copies, spec.neurons)
    alive = np.flatnonzero(copies)
    demand = axon_demand(matrix, pop.threshold, copies, fed, spec)
    orders = [alive, overlap_order(demand, copies, spec)]
    cuts = [cut_single(order, demand, copies, spec) for order in orders]
    if pop.shape is not None:
        cuts.append(cheapest_blocks(pop.shape, demand, copies, spec))
    too_large = (np.diff(demand.indptr)[alive] > demand.limit).any()
    for cut in cuts:
        assert (cut is None) == too_large
        if cut is None:
            continue
        better = exchange_neurons(cut, demand, copies, spec)
        for one in (cut, better):
            assert recount(one, demand, copies, spec) == (one.cost, True)
            assert sorted(one.neurons.tolist()) == alive.tolist()
        assert better.cost <= cut.cost


@settings(deadline=None, max_examples=40)
@given(
    reads=st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=7),
    load=st.lists(st.integers(1, 4), min_size=7, max_size=7),
)
def test_a_cut_is_the_cheapest_of_all_cuts_of_its_order(chip, reads, load):
    """Brute force over every way to cut up to seven neurons."""
    n = len(reads)
    dense = np.array([[int(k in read) for k in range(6)] for read in reads])
    spec, copies = core_of(chip(axons=4, neurons=8)), np.array(load[:n])
    demand = axon_demand(sparse.csr_array(dense), np.ones(n, np.int64), copies, np.ones(6, bool), spec)
    demand = demand._replace(limit=4)
    found = cut_single(np.arange(n), demand, copies, spec)
    costs = []
    for mask in range(2 ** (n - 1)):
        ends = [k + 1 for k in range(n - 1) if mask >> k & 1] + [n]
        cost, legal = recount(type(found)(np.arange(n), np.array(ends), 0), demand, copies, spec)
        costs += [cost] if legal else []
    assert found.cost == min(costs)


def test_shuffled_neurons_are_brought_together(chip):
    """Eight families of 30 neurons with 30 sources each, shuffled: two families fill the axons of a core."""
    rng = np.random.default_rng(3)
    family = rng.permutation(np.repeat(np.arange(8), 30))
    dense = np.zeros((240, 240), np.int64)
    for neuron, own in enumerate(family):
        dense[neuron, own * 30 + rng.choice(30, 12, replace=False)] = 1
    pop, matrix = population(None, 240, np.full(240, 2)), sparse.csr_array(dense)
    spec, fed, copies = core_of(chip(axons=64, neurons=64)), np.ones(240, bool), np.ones(240, np.int64)
    for partitioner in INSTALLED:
        tiles = tiled(pop, matrix, fed, copies, spec, partitioner=partitioner)
        require_legal(tiles, pop, matrix, copies, spec)
        if partitioner != "blocks":
            assert len(tiles) <= 5


def test_without_pymetis_the_line_says_what_to_install(chip, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pymetis", None)
    pop, matrix = population(None, 300, np.ones(300)), sparse.csr_array(np.eye(300, dtype=np.int64))
    with pytest.raises(NotSupportedError, match=r"pip install 'neuromap-rollouts\[partition\]'"):
        tiled(pop, matrix, np.ones(300, bool), np.ones(300, np.int64), core_of(chip()), partitioner="metis")
