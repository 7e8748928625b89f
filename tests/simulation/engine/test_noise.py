"""The random bytes of the stochastic modes: against plain Python integers, and against chance."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from neuromap.errors import InputError
from neuromap.simulation.engine.numpy_engine import LEAK, THRESHOLD, Noise, core_numbers, keys, mix, rho, streams


def plain_mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def plain_rho(seed, tick, core, purpose, neuron):
    stream = plain_mix(plain_mix(plain_mix((seed + 0x9E3779B97F4A7C15) % 2**64) ^ tick) ^ core)
    x = ((plain_mix(stream ^ purpose) >> 32) + neuron * 0x9E3779B9) % 2**32
    x = (x ^ (x >> 16)) * 0x7FEB352D % 2**32
    x = (x ^ (x >> 15)) * 0x846CA68B % 2**32
    return (x ^ (x >> 16)) >> 24


def drawn(seed, tick, cores, purposes, neurons):
    """rho for every core, purpose and neuron, shape (cores, purposes, neurons)."""
    cores, purposes, neurons = (np.asarray(list(part), dtype=np.int64) for part in (cores, purposes, neurons))
    return rho(keys(streams(seed, tick, cores)[:, None], purposes)[..., None], neurons)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        # seed, tick, core, purpose, neuron; computed once with plain_rho, so that no engine's numbers ever change
        ((0, 0, 0, 0, 0), 14),
        ((0, 0, 0, 0, 1), 159),
        ((0, 0, 0, 1, 0), 210),
        ((0, 0, 1, 0, 0), 216),
        ((0, 1, 0, 0, 0), 5),
        ((1, 0, 0, 0, 0), 122),
        ((7, 123456, 4095, 255, 255), 145),
        ((7, 123456, 4095, LEAK, 255), 224),
        ((7, 123456, 4095, THRESHOLD, 255), 53),
        ((2**64 - 1, 16777216, 65535, 65535, 65535), 117),
    ],
)
def test_known_values(where, value):
    seed, tick, core, purpose, neuron = where
    assert drawn(seed, tick, [core], [purpose], [neuron]) == value == plain_rho(*where)


def test_the_mixer_is_that_of_splitmix64():
    # Steele, Lea, Flood: the first outputs of SplitMix64 with seed 1234567, as in its public test vectors
    state = np.uint64(1234567) + np.arange(1, 4, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert mix(state).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]


words = st.integers(0, 2**64 - 1)


@given(
    seed=words,
    tick=st.integers(0, 2**40) | words,
    cores=st.lists(st.integers(0, 2**22), min_size=1, max_size=3),
    purposes=st.lists(st.integers(0, 65535) | st.sampled_from([LEAK, THRESHOLD]), min_size=1, max_size=3),
    neurons=st.lists(st.integers(0, 65535), min_size=1, max_size=5),
)
@settings(deadline=None)
def test_arrays_equal_plain_integers(seed, tick, cores, purposes, neurons):
    found = drawn(seed, tick, cores, purposes, neurons)
    assert found.dtype == np.uint8
    expected = [plain_rho(seed, tick, *where) for where in itertools.product(cores, purposes, neurons)]
    assert found.ravel().tolist() == expected


def test_a_program_draws_by_the_places_of_its_cores(make_chip, make_program):
    program = make_program(make_chip(cores=(4, 3), chips=(2, 1)), np.zeros((13, 5, 7)))
    x, y = program.coordinates[11]
    assert (x, y) == (3, 1)
    assert core_numbers(program)[11] == 3 + 8 * 1
    noise = Noise(program, 5)
    cores, axons = np.array([11, 0, 11]), np.array([4, 1, 2])
    for purposes in (axons, LEAK, THRESHOLD):
        expected = [
            [plain_rho(5, 9, int(c), int(a), n) for n in range(7)]
            for c, a in zip(cores, np.broadcast_to(purposes, 3), strict=True)
        ]
        assert noise.draw(9, cores, purposes).tolist() == expected
        some = np.array([6, 0])
        assert noise.draw(9, cores, purposes, some).tolist() == [[row[6], row[0]] for row in expected]
    assert noise.draw(0, cores[:0], LEAK).shape == (0, 7)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", None, True])
def test_seeds_that_are_none_are_refused(make_chip, make_program, seed):
    program = make_program(make_chip(), np.zeros((1, 1, 1)))
    with pytest.raises(InputError, match=r"noise seed .*; give an integer from 0 to 18446744073709551615"):
        Noise(program, seed)


def test_numpy_integers_are_seeds(make_chip, make_program):
    program = make_program(make_chip(), np.zeros((1, 1, 1)))
    assert Noise(program, np.uint64(2**64 - 1)).seed == 2**64 - 1


# What is drawn never changes, so neither do the p-values below: a test that holds today holds always.

SAMPLE = np.array([drawn(3, tick, range(40), [0, 1, LEAK, THRESHOLD], range(256)) for tick in range(12)])
"""Shape (ticks, cores, purposes, neurons)."""


def p_value(values, n):
    """Chance that n equally likely values are at least as uneven."""
    return chisquare(np.bincount(values.ravel(), minlength=n)).pvalue


@pytest.mark.parametrize("axis", range(4))
def test_every_byte_is_equally_likely_everywhere(axis):
    assert p_value(SAMPLE, 256) > 0.001
    for part in np.moveaxis(SAMPLE, axis, 0):
        assert p_value(part, 256) > 0.05 / 256


@pytest.mark.parametrize("axis", range(4), ids=["ticks", "cores", "purposes", "neurons"])
@pytest.mark.parametrize("low", [False, True], ids=["upper bits", "lower bits"])
def test_neighbours_are_independent(axis, low):
    # Pairs of half bytes, 256 of them: the upper halves decide on synapses and leaks, the lower ones are masked.
    half = (SAMPLE % 16 if low else SAMPLE // 16).astype(np.int64)
    one, next_one = (np.take(half, part, axis) for part in (range(half.shape[axis] - 1), range(1, half.shape[axis])))
    assert p_value(one * 16 + next_one, 256) > 0.001
    whole = np.diff(SAMPLE.astype(np.int64), axis=axis) % 256
    assert p_value(whole, 256) > 0.001


def test_neighbouring_seeds_are_independent():
    one, other = (drawn(seed, 0, range(64), [0, LEAK], range(256)).astype(np.int64) for seed in (0, 1))
    assert p_value(one // 16 * 16 + other // 16, 256) > 0.001
    assert p_value((one - other) % 256, 256) > 0.001


def test_bits_are_fair_and_uncorrelated():
    bits = np.unpackbits(SAMPLE.reshape(-1, 1), axis=1).astype(np.float64) * 2 - 1
    means = bits.mean(axis=0)
    products = np.corrcoef(bits.T)[np.triu_indices(8, 1)]
    deviation = len(bits) ** -0.5
    assert np.abs(means).max() < 4 * deviation
    assert np.abs(products).max() < 4 * deviation
