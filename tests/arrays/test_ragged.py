"""Ragged arrays against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neuromap.arrays.packed_rows import (
    entries_of_rows,
    grouped_by,
    ragged_ranges,
    rank_in_run,
    rows_of_entries,
    run_heads,
)

LENGTHS = st.lists(st.integers(0, 5), max_size=12)
VALUES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=20)
INTS = st.sampled_from([np.int32, np.int64])


def same(found: np.ndarray, expected: list[int]) -> None:
    assert found.dtype == np.int64
    assert found.tolist() == expected


@given(parts=st.lists(st.tuples(st.integers(-99, 99), st.integers(0, 5)), max_size=12), dtype=INTS)
def test_ranges_are_those_of_python(parts, dtype):
    start, length = np.array(parts, dtype).reshape(-1, 2).T
    same(ragged_ranges(start, length), [value for first, n in parts for value in range(first, first + n)])
    same(ragged_ranges(7, length), [value for _, n in parts for value in range(7, 7 + n)])


@given(lengths=LENGTHS, dtype=INTS)
def test_rows_of_entries_repeat_every_row_by_its_entries(lengths, dtype):
    indptr = np.cumsum([0, *lengths]).astype(dtype)
    same(rows_of_entries(indptr), [row for row, n in enumerate(lengths) for _ in range(n)])


@given(lengths=LENGTHS.filter(bool), data=st.data(), dtype=INTS)
def test_entries_of_rows_are_those_of_each_row_in_turn(lengths, data, dtype):
    indptr = np.cumsum([0, *lengths]).astype(dtype)
    rows = data.draw(st.lists(st.integers(0, len(lengths) - 1), max_size=9))
    expected = [entry for row in rows for entry in range(int(indptr[row]), int(indptr[row + 1]))]
    same(entries_of_rows(indptr, np.array(rows, dtype)), expected)


@given(keys=st.lists(st.integers(0, 5), max_size=30), dtype=INTS)
def test_grouped_values_keep_their_order_within_a_key(keys, dtype):
    begin, values = grouped_by(np.array(keys, dtype), np.arange(len(keys)), 7)
    same(values, sorted(range(len(keys)), key=lambda k: keys[k]))
    same(begin, [sum(key < k for key in keys) for k in range(8)])


@given(values=VALUES)
def test_runs_begin_where_a_value_differs_from_the_one_before(values):
    heads, ranks = [], []
    for k, value in enumerate(values):
        heads.append(k == 0 or value != values[k - 1])
        ranks.append(0 if heads[-1] else ranks[-1] + 1)
    table = np.array(values, np.int64).reshape(-1, 2)
    for columns in ((table,), (table[:, 0], table[:, 1])):
        assert run_heads(*columns).dtype == np.bool_
        assert run_heads(*columns).tolist() == heads
        same(rank_in_run(*columns), ranks)
