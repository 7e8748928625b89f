"""Axon plans: the sum over a source's axons is its weight, with as few axons as the weights allow."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from neuromap.hardware.chip.chip_spec import NeuronRules
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.core.core_of import core_of
from neuromap.network.spiking_neuron import LeakNeuron


def rebuilt(plan, shape):
    """Weights, and bias plus leak minus alpha, as the crossbar adds them up."""
    weights, bias = np.zeros(shape, np.int64), np.zeros(shape[0], np.int64)
    for source, kind, synapses in zip(plan.source, plan.axon_type, plan.synapses, strict=True):
        column = synapses * plan.weights[:, kind]
        if source == BIAS:
            bias += column
        else:
            weights[:, source] += column
    return weights, bias + plan.leak - plan.alpha


def assert_same_spikes(found, theta, weights, free):
    """Thresholds are as asked for; those beyond the free ones may lie anywhere between the same two sums."""
    step = np.where(theta > free, np.maximum(1, np.gcd.reduce(weights, axis=1, initial=0)), 1)
    np.testing.assert_array_equal(-(-found // step), -(-theta // step))


def clipped(theta, weights):
    return np.clip(theta, np.minimum(weights, 0).sum(axis=1), np.maximum(weights, 0).sum(axis=1) + 1)


SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)
VALUES = st.sampled_from([(-1, 1), (0, 1), (-8, 7), (-3, 9), (-400, 400), (-255, 255)])


@settings(deadline=None, max_examples=400)
@given(
    data=st.data(),
    span=VALUES,
    types=st.integers(1, 5),
    weight_bits=st.integers(2, 9),
    leak_bits=st.integers(2, 9),
    number_format=st.sampled_from(["sign_magnitude", "twos_complement"]),
)
def test_weights_and_thresholds_are_exact(chip, data, span, types, weight_bits, leak_bits, number_format):
    weights = data.draw(hnp.arrays(np.int64, SHAPES, elements=st.integers(*span)))
    weights = weights[:, (weights != 0).any(axis=0)]
    theta = data.draw(hnp.arrays(np.int64, len(weights), elements=st.integers(-900, 900)))
    theta = clipped(theta, weights)
    rules = NeuronRules(number_format=number_format)
    spec = chip(axon_types=types, axons=100_000, weight_bits=weight_bits, leak_bits=leak_bits, rules=rules)
    plan = core_of(spec).plan(weights, theta)
    if plan is None:
        event("no plan")
        assert types < 3  # a type of each sign and one for bias express everything
        return
    event("plan")
    found, constant = rebuilt(plan, weights.shape)
    np.testing.assert_array_equal(found, weights)
    assert_same_spikes(-constant, theta, weights, -spec.leak_range[0] + 1)
    assert plan.leak.max() <= -1
    assert set(plan.alpha.tolist()) <= {0, 1}
    assert plan.leak.min() >= spec.leak_range[0]
    assert plan.weights.min(initial=0) >= spec.weight_range[0]
    assert plan.weights.max(initial=0) <= spec.weight_range[1]


@pytest.mark.parametrize("seed", range(5))
def test_sign_fixed_takes_one_axon_per_source(chip, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 2, (60, 80)) * rng.choice([-1, 1], (1, 80))
    weights[0] = rng.choice([-1, 1], 80) * 0 + np.where((weights < 0).any(axis=0), -1, 1)
    plan = core_of(chip()).plan(weights, np.full(60, 3))
    assert plan.n_axons == 80


def test_few_neurons_take_types_by_pattern_of_signs(chip):
    """Two neurons have four patterns of signs: one axon per ternary source."""
    weights = np.array(list(itertools.product([-1, 1], repeat=2)) * 20).T
    assert core_of(chip()).plan(weights, np.full(2, 1)).n_axons == 80


def test_ternary_takes_two_axons_and_four_bits_take_four(chip):
    rng = np.random.default_rng(0)
    ternary = rng.integers(-1, 2, (64, 50))
    assert core_of(chip()).plan(ternary, np.full(64, 2)).n_axons == 100
    four_bits = rng.integers(-8, 8, (200, 50))
    four_bits[:16] = np.arange(-8, 8)[:, None]
    assert core_of(chip()).plan(four_bits, np.full(200, 2)).n_axons == 200


@settings(deadline=None, max_examples=80)
@given(
    weights=hnp.arrays(np.int64, st.tuples(st.integers(1, 3), st.integers(1, 4)), elements=st.integers(-1, 1)),
    types=st.integers(1, 3),
)
def test_one_axon_per_source_wherever_a_colouring_exists(chip, weights, types):
    """Brute force over all assignments of types to sources (Brélaz's order is exact on graphs this small)."""
    weights = weights[:, (weights != 0).any(axis=0)]
    theta = clipped(np.ones(len(weights), np.int64), weights)
    exists = any(
        all(
            len({w for w, c in zip(row, colours, strict=True) if c == kind and w}) <= 1
            for row in weights
            for kind in range(types)
        )
        for colours in itertools.product(range(types), repeat=weights.shape[1])
    )
    plan = core_of(chip(axon_types=types)).plan(weights, theta)
    if (theta >= 1).all():  # else bias axons come on top
        assert (plan is not None and plan.n_axons == weights.shape[1]) == exists


def test_a_potential_too_narrow_is_no_plan(chip):
    weights = np.full((1, 3), 200)
    assert core_of(chip(potential_bits=10)).plan(weights, np.array([5])) is None
    assert core_of(chip(potential_bits=11)).plan(weights, np.array([5])) is not None


@pytest.mark.parametrize(
    ("weight", "theta", "free"), [(1, 256, True), (1, 257, False), (3, 258, True), (3, 259, False)]
)
def test_the_last_threshold_without_bias_axons(chip, weight, theta, free):
    """Leak -255 and alpha 1 hold 256; sums of threes reach 258 where they reach 256."""
    plan = core_of(chip(axons=1000)).plan(np.full((1, 300), weight), np.array([theta]))
    assert (plan.n_axons == 300) == free
    assert not free or (plan.leak[0], plan.alpha[0]) == (-255, 1)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_weights_with_a_common_divisor_take_the_axons_of_their_quotients(chip, data):
    weights = data.draw(hnp.arrays(np.int64, SHAPES, elements=st.integers(-8, 7)))
    weights = weights[:, (weights != 0).any(axis=0)]
    step = data.draw(hnp.arrays(np.int64, (len(weights), 1), elements=st.integers(1, 31)))
    neuron = LeakNeuron(threshold=np.full(len(weights), 900), floor=900)
    core, ones = core_of(chip(axon_types=4, axons=256)), np.ones(len(weights), np.int64)
    divisor = np.maximum(1, np.gcd.reduce(weights * step, axis=1, initial=0))[:, None]
    small, plan = core.plan(weights * step // divisor, ones, neuron), core.plan(weights * step, ones, neuron)
    (low, high), scaled = core.weight_range, small.weights * divisor
    if low <= scaled.min(initial=0) and scaled.max(initial=0) <= high:  # a digit beyond the weight may be too large
        assert plan.n_axons <= small.n_axons
    np.testing.assert_array_equal(rebuilt(plan, weights.shape)[0], weights * step)
    assert low <= plan.weights.min(initial=0) <= plan.weights.max(initial=0) <= high
