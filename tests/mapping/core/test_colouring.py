"""Axon types of sources: held against the order of saturation, source by source from its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from neuromap.mapping.core.core_model import colour_sources


def by_definition(weights, types):
    n, s = weights.shape

    def may_share(a, b):
        return all(weights[k, a] == weights[k, b] or 0 in (weights[k, a], weights[k, b]) for k in range(n))

    colour = {}

    def left(a):
        return [t for t in range(types) if all(may_share(a, b) for b in colour if colour[b] == t)]

    while len(colour) < s:
        waiting = [a for a in range(s) if a not in colour]
        if not all(left(a) for a in waiting):
            return None
        chosen = min(waiting, key=lambda a: (len(left(a)), -np.count_nonzero(weights[:, a]), a))
        colour[chosen] = left(chosen)[0]
    return [colour[a] for a in range(s)]


@settings(deadline=None, max_examples=150)
@given(
    shape=st.tuples(st.integers(1, 6), st.integers(1, 9)),
    types=st.integers(1, 4),
    values=st.sampled_from([(0, 1), (-1, 0, 1), (-3, 0, 0, 1, 2, 255)]),
    seed=st.integers(0, 2**32 - 1),
)
def test_sources_take_types_in_the_order_of_saturation(shape, types, values, seed):
    weights = np.random.default_rng(seed).choice(values, shape)
    weights = weights[:, (weights != 0).any(axis=0)].astype(np.int64)
    found, wanted = colour_sources(weights, types), by_definition(weights, types)
    event(f"possible: {wanted is not None}")
    assert (None if found is None else found.tolist()) == wanted
