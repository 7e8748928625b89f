"""Sources with two axons, against all ways to share neurons out over positions."""

from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from neuromap.mapping.bounds.window_axons import (
    areas,
    axons_by_sets,
    axons_of_feeds,
    find_windows,
    single_axon_sources,
)
from neuromap.network.transforms import Conv
from neuromap.network.weights import StoredWeights

LIMIT = 40


def windows_of(weights, positions):
    """Whole windows of a convolution over so many rows and columns of positions, with its matrix."""
    size, channels, features = weights.shape[0], weights.shape[2], weights.shape[3]
    source = (positions[0] + size - 1, positions[1] + size - 1, channels)
    target = (*positions, features)
    conv = Conv(source, target, (size, size), padding="valid", weights=StoredWeights(weights))
    matrix = sparse.csr_array(conv.matrix())
    return find_windows(matrix, np.arange(matrix.shape[0]), target, source), matrix, target


def least_by_all_ways(windows, read, double, most):
    """The oracle: fewest axons over all numbers of neurons at up to 6 positions and all sources with two axons."""
    least = [0] + [LIMIT + 1] * most
    for positions in range(1, 7):
        for held in combinations_with_replacement(range(len(double) - 1, 0, -1), positions):
            demands = np.cumsum([double[m] for m in held])
            for doubles in range(LIMIT - read[positions] + 1):
                counted = (
                    min(doubles * min(windows.overlap, q), windows.sources * q - read[q] + doubles, windows.sources * q)
                    for q in range(1, positions + 1)
                )
                if all(demand <= most_of_q for demand, most_of_q in zip(demands, counted, strict=True)):
                    for n in range(1, min(most, sum(held)) + 1):
                        least[n] = min(least[n], read[positions] + doubles)
                    break
    return least


@given(st.integers(1, 2), st.lists(st.integers(0, 8), min_size=2, max_size=4))
@settings(deadline=None, max_examples=30)
def test_axons_are_the_fewest_of_all_ways_to_share_out_neurons(channels, demands):
    windows, _, _ = windows_of(np.ones((2, 2, channels, len(demands)), int), (2, 3))
    double = np.array([0, *sorted(min(demand, windows.sources) for demand in demands)])
    read = windows.channels * areas(windows, 24)
    found = axons_by_sets([windows], read, double, 24, LIMIT)
    assert np.maximum.accumulate(found).tolist() == least_by_all_ways(windows, read.tolist(), double.tolist(), 24)


def test_a_position_of_few_neurons_does_not_help_the_others():
    # one that holds two allows every source one axon, as 4 types serve two signs; it is not read by the others
    signs = np.random.default_rng(1).choice([-1, 1], (3, 3, 8, 8))
    windows, matrix, target = windows_of(signs, (12, 12))
    single = single_axon_sources(matrix, np.arange(matrix.shape[0]), [windows], target, 4)
    assert single[2] == windows.sources
    axons = axons_of_feeds([windows], 256, single, 256)
    assert np.searchsorted(axons, 256, side="right") - 1 < 50  # 66, were positions looked at all together only
