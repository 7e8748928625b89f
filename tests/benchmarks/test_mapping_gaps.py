"""Crops of the mapping benchmark are solved exactly; what is committed of them and of the networks fits together."""

import json
from itertools import product
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
        pytest.skip("benchmarks/ is not here: it is no part of the wheel")
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


def test_committed_crops_and_gaps_fit_together():
    crops, rows = (json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text()) for name in NAMES)
    assert all(row["proven"] <= row["least"] <= row["most"] <= row["found"] for row in crops)
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
