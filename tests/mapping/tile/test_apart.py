"""Neurons no two of which fit one core."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from neuromap.mapping.tile.tile import rows_apart


@settings(deadline=None, max_examples=90)
@given(st.integers(1, 12), st.integers(1, 150), st.sampled_from([0.2, 0.6, 0.9]), st.integers(0, 2**32 - 1))
def test_any_two_have_too_much_and_nobody_else_could_join(n, n_items, density, seed):
    rng = np.random.default_rng(seed)
    rows = rng.random((n, n_items)) < density
    room = int(rng.integers(1, n_items + 1))
    matrix = sparse.csr_array(rows.astype(int))
    found = rows_apart(matrix.indptr, matrix.indices, n_items, room).tolist()

    def fit(a, b):
        return int((rows[a] | rows[b]).sum()) <= room

    assert not any(fit(a, b) for a, b in combinations(found, 2))
    widest = rows.sum(axis=1).max()
    for other in set(range(n)) - set(found):
        is_narrow = rows[other].sum() + widest <= room
        assert is_narrow or any(fit(other, member) for member in found)
