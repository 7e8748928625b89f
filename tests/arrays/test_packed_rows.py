"""Rows packed into words, and one of equal ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neuromap.arrays.packed_rows import first_of_equal, pack

COLUMNS = st.lists(st.integers(1, 40), min_size=0, max_size=6)


@given(COLUMNS, st.integers(1, 10), st.data())
def test_packed_rows_are_equal_iff_their_columns_are(bits, n_rows, data):
    columns = [
        np.array(data.draw(st.lists(st.sampled_from([0, 1, 2**b - 1]), min_size=n_rows, max_size=n_rows)), np.int64)
        for b in bits
    ]
    words = pack(columns, n_rows, bits)
    for a in range(n_rows):
        for b in range(n_rows):
            same = all(column[a] == column[b] for column in columns)
            assert (words[a] == words[b]).all() == same


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_one_of_equal_rows(rows):
    keys = np.array([row[:2] for row in rows], np.uint64).reshape(-1, 2)
    rank = np.array([row[2] for row in rows], np.int64)
    chosen, group = first_of_equal(keys, rank)
    assert [tuple(map(int, keys[k])) for k in chosen] == sorted({row[:2] for row in rows})
    for k, row in enumerate(rows):
        best = int(chosen[group[k]])
        assert rows[best][:2] == row[:2]
        assert (rows[best][2], best) <= (row[2], k)
