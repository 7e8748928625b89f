"""Crops of the mapping benchmark are solved exactly; what is committed of them and of the networks fits together."""

import json
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("benchmarks/ is not here: it is not part of the wheel")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield


def fewest_by_hand(weights, axons, neurons):
    """The oracle for sources of one sign: all ways to put neurons into cores."""
    n = len(weights)
    fewest = n + 1
    for where in product(range(n), repeat=n):
        cores = [[i for i in range(n) if where[i] == c] for c in set(where)]
        if all(len(some) <= neurons and (weights[some] != 0).any(axis=0).sum() <= axons for some in cores):
            fewest = min(fewest, len(cores))
    return fewest


@given(st.integers(1, 4), st.integers(2, 5), st.integers(0, 2**32))
@settings(deadline=None, max_examples=12)
def test_the_solver_finds_the_fewest_cores(neurons, axons, seed):
    from benchmarks.mapping.gaps.fewest_cores import fits

    draw = np.random.default_rng(seed)
    weights = draw.integers(0, 2, (4, 6)) * draw.choice([-1, 1], 6)
    weights[:, axons:] = 0  # every neuron fits
    fewest = fewest_by_hand(weights, axons - 1, neurons)
    for cores in range(1, 4):
        for legal in (False, True):
            assert fits(weights, (axons - 1, neurons, 4), cores, 60, legal=legal) is (cores >= fewest)


def test_two_features_of_random_signs_take_one_axon_a_source_and_three_take_more():
    from benchmarks.mapping.gaps.fewest_cores import fits

    signs = np.array(list(product([-1, 1], repeat=3))).T  # 8 sources, all patterns of 3 features
    assert fits(signs[:2], (8, 256, 4), 1, 60, legal=True)
    assert fits(signs, (8, 256, 4), 1, 60, legal=False) is False
    assert fits(signs, (12, 256, 4), 1, 60, legal=True)  # 4 types hold 4 patterns, the others take two axons


def smallest_cover(sets, n):
    """The oracle: how few of some sets hold all of n places, by trying all."""
    return next(k for k in range(1, n + 1) for some in combinations(sets, k) if np.any(some, axis=0).all())


@given(st.integers(0, 2**32), st.integers(6, 12))
@settings(deadline=None, max_examples=12)
def test_tiles_of_any_shape_are_bounded_and_found(seed, axons):
    from benchmarks.mapping.gaps import fewest_tiles
    from benchmarks.mapping.gaps.tile_sets import Places, all_sets, best_worth

    draw = np.random.default_rng(seed)
    reads, width = draw.random((5, 7)) < 0.5, draw.integers(1, 3, 7)
    places = Places(reads & (np.cumsum(reads * width, axis=1) <= axons), width, np.ones(5, np.int64))
    every = all_sets(places, axons, 100)
    subsets = [np.array(some, bool) for some in product([0, 1], repeat=5) if any(some)]
    fit = [some for some in subsets if width[places.reads[some].any(axis=0)].sum() <= axons]
    assert {some.tobytes() for some in every} == {some.tobytes() for some in fit}
    price = draw.random(5)
    assert best_worth(places, price, axons, 60)[1] == pytest.approx(max(price @ some for some in fit), rel=2e-3)
    fewest = smallest_cover(fit, 5)
    begin = list(np.eye(5, dtype=bool))
    with pytest.MonkeyPatch.context() as patch:
        for most in (100, 0):  # all sets, and by column generation
            patch.setattr(fewest_tiles, "ALL", most)
            patch.setattr(fewest_tiles, "GROWN", 10)
            proven, found, prices = fewest_tiles.fewest_tiles(places, (axons, 5), begin)
            assert proven <= fewest + 1e-6 <= found + 1e-5
            assert max(prices @ some for some in fit) <= 1 + 1e-6
            assert most == 0 or found == fewest


def test_committed_crops_and_gaps_fit_together():
    crops, rows = (json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text()) for name in NAMES)
    assert all(row["proven"] <= row["least"] <= row["most"] <= row["found"] for row in crops)
    tiles = json.loads((ROOT / "benchmarks" / "results" / "tiles.json").read_text())
    assert all(row["proven"] <= row["least"] <= row["most"] <= row["tiles"] for row in tiles)
    assert len(rows) == 28
    for row in rows:
        assert row["before"] <= (row["after"] or row["found"]) <= row["found"]
        assert 0 < row["axons"] <= 1
        assert row["read"] >= 1


NAMES = ("crops", "bounds")


@pytest.mark.thorough
def test_the_irregular_network_takes_no_more_cores_than_it_did():
    from benchmarks.mapping.networks import irregular_network

    rollout = nm.Rollout(irregular_network(), "streaming")
    assert nm.map_rollout(rollout, "truenorth", placer="hilbert").n_cores <= 349
