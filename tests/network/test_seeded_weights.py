"""Seeded weights: pinned numbers, and the documented generator written out in plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import NetworkError
from neuromap.network import Conv, Dense, SeededWeights

MASK = 2**64 - 1


def philox(seed, count):
    """Philox 4x64-10 (Salmon et al. 2011), written from the paper: counter from 1, key (seed, 0)."""
    raw = []
    for block in range(1, math.ceil(count / 4) + 1):
        c0, c1, c2, c3 = block, 0, 0, 0
        k0, k1 = seed, 0
        for _ in range(10):
            p0, p1 = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
            c0, c1, c2, c3 = (p1 >> 64) ^ c1 ^ k0, p1 & MASK, (p0 >> 64) ^ c3 ^ k1, p0 & MASK
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) & MASK, (k1 + 0xBB67AE8584CAA73B) & MASK
        raw += [c0, c1, c2, c3]
    return raw[:count]


def test_golden_numbers():
    drawn = SeededWeights(7, (-1, 0, 1)).tensor((2, 12))
    assert drawn.tolist() == [
        [1, -1, 0, 0, -1, 1, -1, 0, -1, 1, 1, 0],
        [0, 1, 0, 1, -1, 0, 1, 0, 0, 0, -1, -1],
    ]
    assert drawn.dtype == np.int64
    assert not drawn.flags.writeable
    assert SeededWeights(2**63 - 1, (-128, 5, 5, 127)).tensor((2, 3, 2)).tolist() == [
        [[127, -128], [5, 5], [127, 127]],
        [[5, 5], [-128, 5], [5, -128]],
    ]


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 2**63 - 1),
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=9),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
)
def test_the_documented_generator_draws_in_c_order(seed, values, shape):
    expected = [values[((r >> 32) * len(values)) >> 32] for r in philox(seed, math.prod(shape))]
    tensor = SeededWeights(seed, tuple(values)).tensor(tuple(shape))
    assert tensor.shape == tuple(shape)
    assert tensor.ravel().tolist() == expected


def test_long_tensors_continue_the_stream():
    count = 2**20 + 5
    raw = np.random.Philox(key=3).random_raw(count).tolist()[-6:]
    assert SeededWeights(3, (1, 2, 3)).tensor((count,))[-6:].tolist() == [((r >> 32) * 3 >> 32) + 1 for r in raw]


def test_values_come_with_equal_odds_and_repeats_weigh_more():
    drawn = SeededWeights(1, (0, 0, 0, 9)).tensor((40_000,))
    assert abs((drawn == 9).mean() - 0.25) < 0.01
    assert SeededWeights(2, tuple(range(2**16))).tensor((10,)).max() < 2**16


def test_a_transform_draws_its_tensor_in_its_layout():
    weights = SeededWeights(5, (1, 2, 3, 4))
    dense = Dense((1, 1, 3), (1, 1, 2), weights=weights)
    np.testing.assert_array_equal(dense.matrix().toarray(), weights.tensor((2, 3)))
    conv = Conv((1, 1, 3), (1, 1, 2), (1, 1), weights=weights)
    np.testing.assert_array_equal(conv.matrix().toarray(), weights.tensor((1, 1, 3, 2))[0, 0].T)


@pytest.mark.parametrize(
    ("seed", "values", "message"),
    [
        (-1, (1,), "seed: found -1"),
        (2**63, (1,), "seed: found 9223372036854775808; allowed are the integers 0 to"),
        (True, (1,), "seed: found True"),
        (1.0, (1,), "seed: found 1.0"),
        (1, (), "values: found shape [0]; allowed is a list of 1 to"),
        (1, ((1, 2),), "values: found shape [1, 2]"),
        (1, (1.5,), "values: found float64"),
        (1, (2**31,), "values: found the value 2147483648"),
        (1, (0,) * (2**16 + 1), "values: found shape [65537]"),
    ],
)
def test_seeds_and_values_out_of_range_are_refused(seed, values, message):
    with pytest.raises(NetworkError) as caught:
        SeededWeights(seed, values)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
