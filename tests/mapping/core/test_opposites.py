"""Two opposite types make any weights: every weight comes out, and sources of few patterns take one axon."""

from __future__ import annotations

import numpy as np
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from neuromap.mapping.core.core_model import by_opposites
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.tile.tilings import cut_alike


@st.composite
def two_weights_each(draw):
    """Neurons that have one of two weights, or none, from every source; no source that nobody reads."""
    n, s = draw(st.integers(1, 6)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    choices = rng.choice([-9, -1, 1, 2], (n, 2)) if draw(st.booleans()) else np.array([[-1, 1]] * n)
    weights = np.take_along_axis(choices, rng.integers(0, 2, (n, s)), axis=1)
    weights = weights * (rng.random((n, s)) < draw(st.sampled_from([0.5, 1.0])))
    return weights[:, (weights != 0).any(axis=0)]


@settings(deadline=None, max_examples=300)
@given(weights=two_weights_each(), types=st.integers(2, 5))
def test_every_weight_comes_out_of_one_or_two_axons_a_source(chip, weights, types):
    core = core_of(chip(axon_types=types))
    found = by_opposites(weights, types, 1000, core)
    if not weights.size:
        assert found is None
        return
    rebuilt = np.zeros_like(weights)
    for source, kind, synapses in zip(found.source, found.axon_type, found.synapses, strict=True):
        rebuilt[:, source] += synapses * found.palette[:, kind]
    np.testing.assert_array_equal(rebuilt, weights)
    times = np.bincount(found.source)
    assert set(times.tolist()) <= {1, 2}
    event(f"{np.count_nonzero(times == 2)} with two")
    assert len(by_opposites(weights, types, len(found.source), core).source) == len(found.source)
    assert by_opposites(weights, types, len(found.source) - 1, core) is None


def test_a_third_weight_is_not_for_it(chip):
    assert by_opposites(np.array([[1, 2, 3]]), 4, 1000, core_of(chip())) is None


def test_four_neurons_of_random_signs_share_a_core_where_two_axons_a_source_are_too_many(chip):
    weights = np.random.default_rng(0).choice([-1, 1], (4, 144))
    plan = core_of(chip()).plan(weights, np.full(4, 2))
    assert 144 < plan.n_axons <= 256


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 14), st.integers(13, 24), st.integers(2, 5), st.integers(0, 2**32 - 1))
@example(5, 16, 4, 35783432)
def test_neurons_that_read_the_same_are_cut_where_the_plan_is_full(chip, n, sources, types, seed):
    rng = np.random.default_rng(seed)
    weights, copies = rng.choice([-1, 1], (n, sources)), rng.integers(0, 4, n)
    weights[rng.random(n) < rng.choice([0, 0.3])] = 0  # some read nothing
    core = core_of(chip(axons=24, neurons=8, axon_types=types))
    cut = cut_alike(sparse.csr_array(weights), copies, core)
    if not weights[copies > 0].any():
        assert cut is None
        return
    assert sorted(cut.neurons.tolist()) == np.flatnonzero(copies).tolist()
    missed = []
    for group in np.split(cut.neurons, cut.ends[:-1]):
        assert copies[group].sum() <= core.neurons
        if core.plan(weights[group], np.ones(len(group), np.int64)) is None:
            missed.append(group)
    # ends are guesses: where patterns and their opposites are equally frequent the planner may pair others than the cut
    # did, and lack an axon (50 groups in 9,000 draws); without the last neuron or two it does not
    assert len(missed) <= 1
    for group in missed:
        turned = weights[group] * weights[group[0]]
        often = np.sort(np.unique(turned, axis=1, return_counts=True)[1])
        assert len(group) > 1
        assert often[-1] == often[-2]
        fewer = [group[: len(group) - n] for n in (1, 2) if len(group) > n]
        assert any(core.plan(weights[some], np.ones(len(some), np.int64)) is not None for some in fewer)


def test_neurons_with_room_for_an_axon_a_weight_are_left_to_others(chip):
    assert (
        cut_alike(sparse.csr_array(np.ones((3, 12), np.int64)), np.ones(3, np.int64), core_of(chip(axons=24))) is None
    )
