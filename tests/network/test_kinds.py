"""Transforms against their definition, written as loops over neurons."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array

from neuromap.errors import NetworkError
from neuromap.network import Conv, Dense, Identity, MatrixTransform, Pool

few = settings(deadline=None, max_examples=60)
small = st.integers(1, 5)


def index(shape, row, column, feature):
    return (row * shape[1] + column) * shape[2] + feature


def windows(length, kernel, stride, padding):
    """For every window, the pairs (kernel cell, cell), by the definition of the documentation."""
    if padding == "valid":
        count, before = len(range(0, length - kernel + 1, stride)), 0
    elif padding != "same":
        before, after = padding
        count = len(range(0, before + length + after - kernel + 1, stride))
    else:
        count = math.ceil(length / stride)
        before = max((count - 1) * stride + kernel - length, 0) // 2
    return [
        [(k, i * stride - before + k) for k in range(kernel) if 0 <= i * stride - before + k < length]
        for i in range(count)
    ]


def along(padding):
    """Padding of rows and of columns."""
    return (padding, padding) if isinstance(padding, str) else (padding[0::2], padding[1::2])


def touching(source, target, kernel, stride, padding):
    """Yield target row and column, kernel row and column, source row and column."""
    first, second = along(padding)
    rows = windows(source[0], kernel[0], stride[0], first)
    columns = windows(source[1], kernel[1], stride[1], second)
    assert (len(rows), len(columns)) == target[:2]
    for (i, along_rows), (j, along_columns) in itertools.product(enumerate(rows), enumerate(columns)):
        for (a, r), (b, c) in itertools.product(along_rows, along_columns):
            yield i, j, a, b, r, c


@st.composite
def window_cases(draw):
    """Rows and columns of source and target, with kernel, stride and padding that fit."""
    padding = draw(st.sampled_from(["same", "valid"]) | st.tuples(*[st.integers(0, 3)] * 4))
    source = draw(st.tuples(st.integers(1, 7), st.integers(1, 7)))
    first, second = along(padding)
    margins = (sum(first), sum(second)) if first not in ("same", "valid") else (0, 0)
    bound = (9, 9) if padding == "same" else tuple(n + more for n, more in zip(source, margins, strict=True))
    kernel = draw(st.tuples(*(st.integers(1, n) for n in bound)))
    stride = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    lengths = zip(source, kernel, stride, (first, second), strict=True)
    target = tuple(len(windows(*one)) for one in lengths)
    return source, target, kernel, stride, padding


def assert_canonical(matrix, dense):
    """Equal to the brute-force matrix, in the promised form."""
    assert matrix.format == "csr"
    assert matrix.dtype == np.int64
    assert matrix.shape == dense.shape
    np.testing.assert_array_equal(matrix.toarray(), dense)
    assert matrix.nnz == np.count_nonzero(dense)
    assert all(np.all(np.diff(matrix.indices[a:b]) > 0) for a, b in itertools.pairwise(matrix.indptr))
    assert not matrix.data.flags.writeable


@few
@given(window_cases(), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_conv_is_the_sum_over_its_kernel(case, groups, per_source, per_target, seed):
    (rows, columns), target_cells, kernel, stride, padding = case
    source = (rows, columns, groups * per_source)
    target = (*target_cells, groups * per_target)
    weights = np.random.default_rng(seed).integers(-2, 3, (*kernel, per_source, target[2]))
    conv = Conv(source, target, kernel, stride, padding, groups, weights)
    dense = np.zeros((math.prod(target), math.prod(source)), dtype=int)
    for i, j, a, b, r, c in touching(source, target, kernel, stride, padding):
        for p, f in itertools.product(range(per_source), range(target[2])):
            feature = f // per_target * per_source + p
            dense[index(target, i, j, f), index(source, r, c, feature)] = weights[a, b, p, f]
    assert conv.kind == "conv"
    assert conv.weight_shape == weights.shape
    assert_canonical(conv.matrix(), dense)


def test_conv_that_is_built_in_several_chunks():
    source, target = (70, 70, 4), (70, 70, 64)
    weights = np.random.default_rng(0).integers(-1, 2, (3, 3, 4, 64))
    matrix = Conv(source, target, (3, 3), weights=weights).matrix()
    frame = np.random.default_rng(1).integers(0, 2, source)
    padded = np.pad(frame, ((1, 1), (1, 1), (0, 0)))
    expected = sum(padded[a : a + 70, b : b + 70] @ weights[a, b] for a, b in itertools.product(range(3), range(3)))
    np.testing.assert_array_equal((matrix @ frame.ravel()).reshape(target), expected)


def test_conv_flips_no_kernel_and_pads_the_smaller_half_before():
    # One row of four cells, kernel of four: three zeros of padding, one before and two after.
    weights = np.array([1, 2, 3, 4]).reshape(1, 4, 1, 1)
    matrix = Conv((1, 4, 1), (1, 4, 1), (1, 4), weights=weights).matrix()
    assert matrix.toarray().tolist() == [[2, 3, 4, 0], [1, 2, 3, 4], [0, 1, 2, 3], [0, 0, 1, 2]]


def test_a_kernel_far_larger_than_the_source_costs_nothing_extra():
    weights = np.zeros((4001, 4001, 1, 1), dtype=np.int8)
    weights[2000, 2000] = 5
    assert Conv((1, 1, 1), (1, 1, 1), (4001, 4001), weights=weights).matrix().toarray().tolist() == [[5]]


@few
@given(window_cases(), st.integers(1, 3))
def test_pool_counts_the_cells_of_its_window(case, features):
    (rows, columns), target_cells, kernel, stride, padding = case
    source, target = (rows, columns, features), (*target_cells, features)
    dense = np.zeros((math.prod(target), math.prod(source)), dtype=int)
    for i, j, _, _, r, c in touching(source, target, kernel, stride, padding):
        for f in range(features):
            dense[index(target, i, j, f), index(source, r, c, f)] = 1
    assert_canonical(Pool(source, target, kernel, stride, padding).matrix(), dense)


def test_pool_strides_by_its_kernel_and_stays_inside_by_default():
    pool = Pool((5, 4, 2), (2, 2, 2), (2, 2))
    assert (pool.stride, pool.padding) == ((2, 2), "valid")
    frame = np.zeros((5, 4, 2), dtype=int)
    frame[1, 3, 1] = frame[4, 0, 0] = 1  # the last row is in no window
    assert np.argwhere((pool.matrix() @ frame.ravel()).reshape(2, 2, 2)).tolist() == [[0, 1, 1]]


@few
@given(small, small, small, small, st.integers(1, 3), st.integers(1, 2), st.integers(1, 3), st.integers(0, 9))
def test_dense_connects_all_within_groups(r, c, i, j, groups, per_source, per_target, seed):
    source, target = (r, c, groups * per_source), (i, j, groups * per_target)
    rng = np.random.default_rng(seed)
    sizes = (math.prod(target) // groups, math.prod(source) // groups)
    weights = rng.integers(-1, 2, sizes if groups == 1 else (groups, *sizes))
    dense = np.zeros((math.prod(target), math.prod(source)), dtype=int)
    blocks = weights.reshape(groups, i, j, per_target, r, c, per_source)
    for g, a, b, f, p, q, s in np.ndindex(blocks.shape):
        row = index(target, a, b, g * per_target + f)
        dense[row, index(source, p, q, g * per_source + s)] = blocks[g, a, b, f, p, q, s]
    transform = Dense(source, target, groups, weights)
    assert transform.weight_shape == weights.shape
    assert_canonical(transform.matrix(), dense)


def test_identity_feeds_each_neuron_its_own():
    assert_canonical(Identity((2, 1, 3), (2, 1, 3)).matrix(), np.eye(6, dtype=int))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Identity((2, 2, 1), (4, 1, 1)), "give the target shape [2, 2, 1]"),
        (lambda: Conv((9, 9, 1), (4, 4, 8), (3, 3), (2, 2)), "target shape [4, 4, 8] does not fit"),
        (lambda: Conv((9, 9, 1), (4, 4, 8), (3, 3), (2, 2)), "make [5, 5, 8] of the source's [9, 9, 1]"),
        (lambda: Pool((8, 8, 3), (4, 4, 2), (2, 2)), "make [4, 4, 3]"),
        (lambda: Conv((2, 2, 1), (1, 1, 1), (3, 3), padding="valid"), "kernel: [3, 3] is larger"),
        (lambda: Conv((2, 2, 1), (2, 2, 1), (3, 3), padding="full"), "padding: found 'full'"),
        (lambda: Conv((2, 2, 1), (2, 2, 1), (3, 0)), "kernel: found (3, 0)"),
        (lambda: Conv((2, 2, 1), (2, 2, 1), (3, True)), "kernel: found (3, True)"),
        (lambda: Conv((2, 2, 1), (2, 2, 1), 3), "kernel: found 3"),
        (lambda: Pool((2, 2, 1), (1, 1, 1), (2, 2), (2.0, 2)), "stride: found (2.0, 2)"),
        (
            lambda: Conv((2, 2, 4), (2, 2, 6), (1, 1), groups=4),
            "groups: 4 does not divide the 6 features of the target",
        ),
        (lambda: Dense((2, 2, 3), (2, 2, 6), groups=2), "groups: 2 does not divide the 3 features of the source"),
        (lambda: Dense((2, 2, 3), (2, 2, 6), groups=0), "groups: found 0"),
        (lambda: Dense((2, 2), (2, 2, 6)), "shape: found (2, 2)"),
        (lambda: Dense((2, 2, -1), (2, 2, 6)), "shape: found (2, 2, -1)"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=np.ones((1, 2))), "weights: found float64; only integers"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=[[1, math.nan]]), "1 NaN"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=np.ones((1, 2), dtype=bool)), "weights: found bool"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=[[1, 2**31]]), "found the value 2147483648"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=[[1, -(2**31) - 1]]), "found the value -2147483649"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=[[1, 2**70]]), "weights: found dtype object"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=[[1], [1, 2]]), "weights: found [[1], [1, 2]]"),
        (lambda: Dense((1, 1, 2), (1, 1, 1), weights=[[1], [1]]).matrix(), "takes [1, 2]"),
        (lambda: Dense((1, 1, 2), (1, 1, 1)).matrix(), "dense has no weights; give a tensor"),
        (lambda: Conv((1, 1, 2), (1, 1, 1), (1, 1)).matrix(), "conv has no weights; give a tensor"),
        (lambda: MatrixTransform([1, 2]), "found 1 dimensions"),
        (lambda: MatrixTransform([[1.0, 2]]), "weights: found float64"),
        (lambda: MatrixTransform(coo_array(([0.5], ([0], [0])))), "weights: found float64"),
        (lambda: MatrixTransform(coo_array(([2**31 - 1, 1], ([0, 0], [0, 0])))), "found the value 2147483648"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(make, message):
    with pytest.raises(NetworkError) as caught:
        make()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dense((1, 1, 10**9), (1, 1, 10)),
        lambda: Dense((10**300, 10**300, 10**5000), (1, 1, 10)),
        lambda: Dense((1, 1, 2**24), (1, 1, 17)),
        lambda: Identity((10**9, 1, 1), (10**9, 1, 1)),
        lambda: Pool((2**12, 2**12, 1), (2**12, 2**12, 1), (5, 5), (1, 1), "same"),
        lambda: Conv((2**10, 2**10, 16), (2**10, 2**10, 16), (5, 5)),
        lambda: Conv((4, 4, 1), (4, 4, 1), (10**9, 10**9)),
    ],
)
def test_absurd_sizes_are_refused_before_anything_is_allocated(make):
    with pytest.raises(NetworkError, match=r"2\*\*2[48]") as caught:
        make()
    assert len(str(caught.value)) < 250


def test_sizes_at_the_limit_are_allowed():
    assert Dense((1, 1, 2**24), (1, 1, 16)).weight_shape == (16, 2**24)


@few
@given(st.data())
def test_explicit_matrices_of_any_kind_are_copied_into_one_form(data):
    shape = data.draw(st.tuples(small, small))
    dtype = data.draw(st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32]))
    dense = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 3, shape).astype(dtype)
    assert_canonical(MatrixTransform(dense).matrix(), dense)
    assert_canonical(MatrixTransform(dense.tolist()).matrix(), dense)
    assert_canonical(MatrixTransform(csc_array(dense)).matrix(), dense)
    twice = coo_array((np.r_[dense.ravel(), dense.ravel()], tuple(np.tile(np.indices(shape).reshape(2, -1), 2))))
    before = twice.data.copy()
    assert_canonical(MatrixTransform(twice).matrix(), 2 * dense.astype(int))
    np.testing.assert_array_equal(twice.data, before)


def test_weights_are_copied():
    weights = np.ones((1, 2), dtype=np.int64)
    dense, matrix = Dense((1, 1, 2), (1, 1, 1), weights=weights), MatrixTransform(weights)
    weights[:] = 9
    assert dense.matrix().toarray().tolist() == matrix.matrix().toarray().tolist() == [[1, 1]]
