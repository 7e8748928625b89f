"""Windows with holes read at least what their masks say: against all sets of positions."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from neuromap.mapping.bounds.lower_bounds import cores_by_two_hops
from neuromap.mapping.bounds.neuron_capacity import Feed, HostKey, Reader, find_masks, mask_sources
from neuromap.network.transforms import Conv


def least_unions(matrix):
    """The oracle: fewest columns that any n rows read, by looking at all sets of rows."""
    rows = [frozenset(np.flatnonzero(row).tolist()) for row in np.asarray(matrix)]
    return [min(len(frozenset().union(*some)) for some in combinations(rows, n)) for n in range(len(rows) + 1)]


@pytest.mark.theorem
@given(
    st.sampled_from([(3, 3, 1), (2, 5, 1), (1, 9, 1), (2, 2, 2), (5, 2, 1), (1, 5, 2), (2, 3, 2), (4, 3, 1)]),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.sampled_from([(1, 1), (1, 2), (2, 1)]),
    st.booleans(),
    st.integers(0, 2**32),
)
@settings(deadline=None, max_examples=1000)
def test_rows_that_read_all_of_a_mask_read_at_least_what_it_says(target, kernel, stride, layout, same, seed):
    groups, channels = layout if target[2] % layout[0] == 0 else (1, 2)
    source = tuple((t - 1) * s + (1 if same else k) for t, s, k in zip(target, stride, kernel, strict=False))
    weights = np.random.default_rng(seed).integers(0, 2, (*kernel, channels, target[2]))
    padding = "same" if same else "valid"
    shape = (*source, groups * channels)
    matrix = sparse.csr_array(Conv(shape, target, kernel, stride, padding, groups, weights).matrix().toarray())
    masks = find_masks(matrix, np.arange(matrix.shape[0]), target, shape)
    assume(masks is not None)
    rows = matrix.toarray()[masks.rows] != 0
    least = mask_sources(masks, len(rows))
    assert all(least <= least_unions(rows))
    assert (np.diff(least) >= 0).all()


def test_a_full_box_is_bounded_as_windows_are():
    # 12 positions of a 3x3 kernel, 3 x 4 of them, cover 5 x 6 places
    weights = np.ones((3, 3, 1, 1), int)
    matrix = sparse.csr_array(Conv((8, 8, 1), (6, 6, 1), (3, 3), padding="valid", weights=weights).matrix())
    masks = find_masks(matrix, np.arange(36), (6, 6, 1), (8, 8, 1))
    assert masks.rows.all()
    assert mask_sources(masks, 36)[[1, 4, 12, 36]].tolist() == [9, 16, 30, 64]


@given(st.integers(1, 5), st.integers(1, 7), st.integers(2, 6), st.floats(0.2, 1), st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_a_source_is_read_in_as_many_cores_as_hold_all_that_its_readers_read(rows, columns, axons, density, seed):
    pattern = np.random.default_rng(seed).random((rows, columns)) < density
    assume(pattern.sum(axis=1).max() <= axons)
    reader = Reader(
        0, "A", np.arange(rows), None, (Feed(HostKey(0, 1, 0), sparse.csr_array(pattern.astype(int)), None),)
    )
    found = cores_by_two_hops((reader,), axons)[HostKey(0, 1, 0)]
    for u in range(columns):
        least = rows + 1
        for cores in product(range(rows), repeat=rows):  # the core of every row
            held = [pattern[[k for k in range(rows) if cores[k] == core]].any(axis=0) for core in set(cores)]
            if all(some.sum() <= axons for some in held):
                least = min(least, sum(bool(some[u]) for some in held))
        assert found[u] <= least
