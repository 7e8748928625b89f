"""Keys of axons: one number for signal, type and rank, in their order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from neuromap.mapping.partition.unpack_tiles import AxonKeys, ranks

AXONS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 6)), max_size=20)


@given(axons=AXONS)
def test_keys_order_axons_as_tuples_do(axons):
    keys = AxonKeys(n_types=4, n_ranks=7)
    signal, axon_type, rank = np.array(axons, np.int64).reshape(-1, 3).T
    found = keys.encode(signal, axon_type, rank)
    assert (np.argsort(found, kind="stable") == sorted(range(len(axons)), key=lambda k: axons[k])).all()
    np.testing.assert_array_equal(keys.signal(found), signal)
    np.testing.assert_array_equal(keys.axon_type(found), axon_type)
    assert ((keys.first_of(signal) <= found) & (found < keys.first_of(signal + 1))).all()


@given(axons=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=20))
def test_ranks_count_the_axons_of_one_signal_and_type(axons):
    signal, axon_type = np.array(axons, np.int64).reshape(-1, 2).T
    assert ranks(signal, axon_type).tolist() == [axons[:k].count(axon) for k, axon in enumerate(axons)]
