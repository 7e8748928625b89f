"""Every operation of the lanes against NumPy, for all widths of lanes and numbers of groups that the kernels use."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit

from neuromap.simulation.engine.kernel import lanes as L
from neuromap.simulation.engine.kernel import words as W

DTYPES = [np.int8, np.int16, np.int32, np.int64]
# Each is compiled in a second: all widths of lanes for the fewest and the most groups, and for all groups one.
GROUPS_AND_DTYPES = [*((groups, dtype) for groups in (1, 8) for dtype in DTYPES), (2, np.int16), (4, np.int16)]
START = 1  # loads start at the second element: nothing may rely on whole vectors lying aligned
LANE_RESULTS = 14
MASK_RESULTS = 6


@njit
def every_operation(width, a, b, m, n, scalar, by, out, masks, flags):
    size, groups = 32 * len(width), len(width)
    x, y = L.load(width, a, START), L.load(width, b, START)
    s, t = L.load_mask(width, m, START), L.load_mask(width, n, START)
    L.store(out, START, x + y)
    L.store(out, START + size, x - y)
    L.store(out, START + 2 * size, x * y)
    L.store(out, START + 3 * size, x & y)
    L.store(out, START + 4 * size, x ^ y)
    L.store(out, START + 5 * size, L.least(x, y))
    L.store(out, START + 6 * size, L.greatest(x, y))
    L.store(out, START + 7 * size, L.where(s, x, y))
    L.store(out, START + 8 * size, L.add_where(s, x, y))
    L.store(out, START + 9 * size, L.broadcast(width, scalar))
    L.store(out, START + 10 * size, L.ramp(width, scalar))
    L.store(out, START + 11 * size, L.shift_right(x, by))
    L.store(out, START + 12 * size, x)
    L.store(out, START + 13 * size, x | y)
    L.store_mask(masks, START, x >= y)
    L.store_mask(masks, START + groups, x < y)
    L.store_mask(masks, START + 2 * groups, x != y)
    L.store_mask(masks, START + 3 * groups, s & t)
    L.store_mask(masks, START + 4 * groups, s | t)
    L.store_mask(masks, START + 5 * groups, ~s)
    flags[0], flags[1], flags[2] = L.any_lane(s), L.any_lane(s & ~s), L.any_lane(t | ~t)
    flags[3] = W.count_row(width, m, START)


def bits_of(words):
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(bool)


def words_of(bits):
    return np.packbits(bits, bitorder="little").view(np.uint32)


@st.composite
def operands(draw, dtype, groups):
    size, info = 32 * groups, np.iinfo(dtype)
    values = st.one_of(st.sampled_from([info.min, info.max, -1, 0, 1]), st.integers(info.min, info.max))
    words = st.one_of(st.sampled_from([0, 2**32 - 1, 1, 2**31]), st.integers(0, 2**32 - 1))
    a, b = (draw(arrays(dtype, START + size, elements=values)) for _ in range(2))
    same = draw(arrays(np.bool_, START + size))
    m, n = (draw(arrays(np.uint32, START + groups, elements=words)) for _ in range(2))
    return a, np.where(same, a, b), m, n, dtype(draw(values)), draw(st.integers(0, info.bits - 1))


@pytest.mark.parametrize(("groups", "dtype"), GROUPS_AND_DTYPES)
@given(data=st.data())
@settings(deadline=None, max_examples=20)
def test_operations(dtype, groups, data):
    a, b, m, n, scalar, by = data.draw(operands(dtype, groups))
    size = 32 * groups
    out = np.full(START + LANE_RESULTS * size + 1, 77, dtype)
    masks = np.full(START + MASK_RESULTS * groups + 1, 77, np.uint32)
    flags = np.zeros(4, np.int64)
    every_operation((0,) * groups, a, b, m, n, scalar, by, out, masks, flags)

    x, y, s, t = a[START:], b[START:], bits_of(m[START:]), bits_of(n[START:])
    unsigned = x.view(f"u{x.itemsize}")
    with np.errstate(over="ignore"):
        ramp = (np.arange(size).astype(dtype) + scalar).astype(dtype)
        expected = [
            x + y, x - y, x * y, x & y, x ^ y, np.minimum(x, y), np.maximum(x, y), np.where(s, x, y),
            np.where(s, x + y, x), np.full(size, scalar), ramp, (unsigned >> unsigned.dtype.type(by)).view(dtype), x,
            x | y,
        ]  # fmt: skip
    for k, (found, values) in enumerate(zip(out[START:-1].reshape(-1, size), expected, strict=True)):
        assert np.array_equal(found, values), k
    expected_masks = [x >= y, x < y, x != y, s & t, s | t, ~s]
    for k, (found, bits) in enumerate(zip(masks[START:-1].reshape(-1, groups), expected_masks, strict=True)):
        assert np.array_equal(found, words_of(bits)), k
    assert flags.tolist() == [s.any(), False, True, s.sum()]
    # nothing else was written
    assert (*out[:START], out[-1], *masks[:START], masks[-1]) == (77,) * 4


@njit
def widened(width, lanes, out):
    L.store(out, START, L.widen(out.dtype.type, L.load(width, lanes, START)))


@pytest.mark.parametrize("groups", [1, 8])
@pytest.mark.parametrize(
    ("narrow", "wide"),
    [(np.int8, np.int16), (np.int16, np.int16), (np.int8, np.int32), (np.int16, np.int32), (np.int16, np.int64),
     (np.int32, np.int64)],
)  # fmt: skip
def test_widening_keeps_the_value(narrow, wide, groups):
    info = np.iinfo(narrow)
    values = np.linspace(info.min, info.max, START + 32 * groups).astype(narrow)
    values[START:][:4] = [info.min, info.max, -1, 0]
    out = np.zeros(len(values), wide)
    widened((0,) * groups, values, out)
    assert np.array_equal(out[START:], values[START:])


def test_bytes_without_a_sign_are_widened_as_if_they_had_one():
    # what the wide path says about its masks of threshold noise: 255 becomes -1, smaller masks stay
    values = (2 ** (np.arange(START + 32) % 9) - 1).astype(np.uint8)
    out = np.zeros(len(values), np.int32)
    widened((0,), values, out)
    assert np.array_equal(out[START:] & 255, values[START:])


@njit
def copied(source, target):
    for k in range(len(source)):
        W.put(target, k, W.get(source, k))


@pytest.mark.parametrize("dtype", [*DTYPES, np.uint8, np.uint16, np.uint32, np.uint64])
def test_single_elements(dtype):
    info = np.iinfo(dtype)
    values = np.array([info.min, info.max, 0, 1, info.max // 2, info.max - 1], dtype)
    same, wide, bytes_ = np.zeros_like(values), np.zeros(len(values), np.int64), np.zeros(len(values), np.uint8)
    for target in (same, wide, bytes_):
        copied(values, target)
        assert np.array_equal(target, values.astype(target.dtype))


@njit
def listed(array, position, base, word):
    return W.list_ones(array, position, base, word)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.uint64])
@given(word=st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**15, 2**16 - 1, 2**17 - 1, 2**63, 2**64 - 1]),
       part=st.floats(0, 1), position=st.integers(0, 5))  # fmt: skip
@settings(deadline=None)
def test_listing_the_set_bits(dtype, word, part, position):
    base = int(part * (min(np.iinfo(dtype).max, 2**40) - 64))
    array = np.full(position + 64 + 3, 7, dtype)
    n = listed(array, position, base, np.uint64(word))
    expected = [base + k for k in range(64) if word >> k & 1]
    assert n == len(expected)
    assert array[position : position + n].tolist() == expected
    assert set(array[:position].tolist()) | set(array[position + 64 :].tolist()) == {7}


@njit
def counted(word):
    return W.count_ones(word), W.trailing_zeros(word)


@given(word=st.integers(1, 2**64 - 1))
@settings(deadline=None)
def test_words(word):
    assert counted(np.uint64(word)) == (word.bit_count(), (word & -word).bit_length() - 1)


@njit
def counted_row(width, array, index):
    return W.count_row(width, array, index)


@pytest.mark.parametrize("groups", [1, 2, 4, 8, 16, 24])
def test_counting_a_row(groups):
    rng = np.random.default_rng(groups)
    words = rng.integers(0, 2**32, 3 + groups, dtype=np.uint32)
    for start in range(3):
        assert counted_row((0,) * groups, words, start) == np.bitwise_count(words[start : start + groups]).sum()
    assert counted_row((0,) * groups, np.full(groups, 2**32 - 1, np.uint32), 0) == 32 * groups


@njit
def asked_for(array, index):
    W.prefetch(array, index)
    W.prefetch_far(array, index)


@pytest.mark.parametrize("index", [0, -1, 10**6, 2**60, -(2**60)])
def test_asking_for_any_place_is_safe(index):
    array = np.arange(3, dtype=np.int32)
    asked_for(array, index)
    assert array.tolist() == [0, 1, 2]


@njit
def flags_taken(array, index):
    word = W.nonzero_bytes(array, index)
    W.clear_bytes(array, index)
    return word


@given(flags=arrays(np.uint8, 70, elements=st.sampled_from([0, 0, 1, 128, 255])), index=st.integers(0, 6))
@settings(deadline=None)
def test_64_flags(flags, index):
    after = flags.copy()
    word = flags_taken(after, index)
    assert word == sum(int(flags[index + k] != 0) << k for k in range(64))
    flags[index : index + 64] = 0
    assert np.array_equal(after, flags)


@njit
def copied_and_cleared(to, values, index, n, other):
    W.copy_values(to, values, index, n)
    W.clear_values(other)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64])
def test_arrays_are_copied_in_parts_and_cleared_whole(dtype):
    to, values, other = np.arange(9, dtype=dtype), np.arange(50, 59, dtype=dtype), np.arange(1, 8, dtype=dtype)
    copied_and_cleared(to, values, 2, 4, other)
    assert to.tolist() == [0, 1, 52, 53, 54, 55, 6, 7, 8]
    assert other.tolist() == [0] * 7
