"""How a program lies in memory for the kernels."""

from dataclasses import replace

import numpy as np
import pytest
from numba import typeof

from neuromap.arrays.frozen import adopted
from neuromap.simulation.engine.kernel import layout
from neuromap.simulation.engine.kernel.memory_layout import make_image, make_state, vector_groups


def moved(array, offset):
    """The same values in read-only memory that starts so many bytes after a cache line."""
    raw = np.empty(array.nbytes + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    raw[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    return adopted(raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape))


@pytest.mark.parametrize("offset", [0, 16, 32])
def test_the_kernels_are_compiled_once_wherever_a_program_lies(make_chip, torture_program, offset):
    # The type of an array says whether it may be written to, and every type is compiled for itself.
    rng = np.random.default_rng(0)
    program = torture_program(rng, make_chip(axons=256, neurons=256), 3)
    smaller = torture_program(rng, make_chip(axons=250, neurons=250), 3, modes=())
    away = replace(
        program, crossbar=moved(program.crossbar, offset),
        neurons=replace(program.neurons, leak=moved(program.neurons.leak, offset)),
    )  # fmt: skip
    assert away.crossbar.ctypes.data % 64 == offset
    images = [make_image(p) for p in (program, away, smaller)]
    assert len({typeof(image) for image in images}) == 1
    states = [make_state(p, image) for p, image in zip((program, away, smaller), images, strict=True)]
    assert len({typeof(state) for state in states}) == 1


@pytest.mark.parametrize(("n_neurons", "groups"), [(1, 1), (32, 1), (33, 2), (100, 4), (129, 8), (256, 8), (1000, 8)])
def test_vectors_take_as_many_groups_as_a_core_has_or_eight(n_neurons, groups):
    assert vector_groups(n_neurons) == groups


def flags_of(program):
    return make_image(program).header.reshape(-1, layout.HEADER)[:, layout.FLAGS]


def test_weights_take_the_least_form_that_holds_them(make_chip, make_program):
    # Cores: equal weights; equal but for a neuron without synapses; int8; beyond int8 by one, both ways.
    chip = make_chip(axons=4, neurons=8, axon_types=2)
    synapses = np.ones((5, 4, 8), bool)
    synapses[1, :, 3] = False
    weights = np.full((5, 8, 2), [200, -200])
    weights[1, 3] = [7, 9]
    weights[2:] = np.arange(16).reshape(8, 2) * 8 - 128
    weights[2, 7], weights[3, 7], weights[4, 0] = [127, -128], [128, 0], [-129, 0]
    program = make_program(chip, synapses, weights=weights)
    forms = flags_of(program) & (layout.UNIFORM | layout.BYTES)
    assert forms.tolist() == [layout.UNIFORM, layout.UNIFORM, layout.BYTES, 0, 0]
    image = make_image(program)
    assert len(image.weights8) == 1 * 2 * 32
    assert len(image.weights16) == 2 * 2 * 32


def test_parameters_that_all_neurons_share_take_no_plane(make_chip, make_program):
    chip = make_chip(axons=4, neurons=32)
    leak = np.zeros((4, 32), int)
    leak[1], leak[2], leak[3] = 9, np.arange(32) - 16, np.arange(32) * 8
    image = make_image(make_program(chip, np.ones((4, 4, 32)), leak=leak))
    header = image.header.reshape(4, layout.HEADER)
    assert header[:2, layout.LEAK].tolist() == [0, 9]
    assert header[:, layout.LEAK + 1].tolist() == [-1, -1, 0, 1]  # plane 0 of the bytes, plane 0 of the others
    assert image.planes8.tolist() == leak[2].tolist()
    assert image.planes16.tolist() == leak[3].tolist()


def test_what_has_to_be_wide_and_what_cannot_rest(make_chip, make_program):
    # Cores: plain; leak reversal; each stochastic mode; a reset beyond 16 bits; resets that set and that step.
    chip = make_chip(axons=4, neurons=8, axon_types=2)
    one = np.arange(8) == 5
    table = np.zeros((7, 8), int)

    def on(core, value=1):
        changed = table.copy()
        changed[core, one] = value
        return changed

    program = make_program(
        chip, np.ones((7, 4, 8)), leak_reversal=on(1), stochastic_weight=on(2)[:, :, None], stochastic_leak=on(3),
        noise_bits=on(4, 8), reset=on(5, 2**16), reset_mode=on(6), threshold=9,
    )  # fmt: skip
    flags = flags_of(program)
    assert np.flatnonzero(flags & layout.WIDE_ONLY).tolist() == [1, 2, 3, 4, 5, 6]
    assert np.flatnonzero(flags & layout.RESTLESS).tolist() == [3, 4]
    assert np.flatnonzero(flags & layout.NOISE).tolist() == [2, 3, 4]
    assert make_state(program, make_image(program)).is_wide.tolist() == [0, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(("bits", "dtype"), [(20, np.int32), (30, np.int32), (31, np.int64), (40, np.int64)])
def test_wide_potentials_are_as_wide_as_needed(make_chip, make_program, bits, dtype):
    program = make_program(make_chip(potential_bits=bits), np.ones((1, 4, 8)))
    assert make_state(program, make_image(program)).wide.dtype == dtype
    beyond = make_program(make_chip(potential_bits=20), np.ones((1, 4, 8)), threshold=2**30)
    assert make_state(beyond, make_image(beyond)).wide.dtype == np.int64


def test_targets_are_records_of_core_axon_and_delay(make_chip, make_program):
    chip = make_chip(cores=(64, 64), delay=(1, 255))
    targets = [(0, 0, 2999, 99, 255), (5, 2, 0, 0, 1), (2999, 1, 7, 64, 16)]
    synapses = np.zeros((3000, 100, 3))
    image = make_image(make_program(chip, synapses, targets=targets))
    assert image.target.dtype == np.uint32  # 12 bits for the core, 7 for the axon, 8 for the delay
    records = image.target.reshape(3000, 32)
    assert (image.shape.axon_bits, image.shape.slot_bits) == (7, 8)
    for core, neuron, *target in targets:
        record = int(records[core, neuron])
        assert [record >> 15, record >> 8 & 127, record & 255] == target
    assert np.count_nonzero(records) == 3


def test_records_have_64_bits_where_32_are_too_few(make_chip, make_program):
    # 2^12 cores or more, 2^13 axons or more, 8 bits of delay
    n_cores, n_axons = 2**12 + 1, 2**12 + 1
    chip = make_chip(cores=(256, 256), delay=(1, 255))
    small = make_program(chip, np.zeros((n_cores, 1, 1)), targets=[(3, 0, n_cores - 1, 0, 200)])
    program = replace(
        small, chip=replace(small.chip, axons=n_axons), axon_types=np.zeros((n_cores, n_axons), np.uint8),
        crossbar=np.zeros((n_cores, n_axons, 1), np.uint8),
        target_axon=np.where(small.target_core >= 0, n_axons - 1, 0).astype(np.int32),
    )  # fmt: skip
    image = make_image(program)
    assert image.target.dtype == np.uint64
    assert int(image.target[3 * 32]) == (((n_cores - 1) << 13) + n_axons - 1 << 8) + 200


@pytest.mark.parametrize("n_types", [1, 2, 4, 5, 16, 17, 200, 256])
def test_axon_types_are_packed(make_chip, make_program, n_types):
    rng = np.random.default_rng(n_types)
    types = rng.integers(n_types, size=(3, 11))
    image = make_image(make_program(make_chip(axon_types=n_types), np.zeros((3, 11, 2)), axon_types=types, weights=1))
    bits = image.shape.type_bits
    assert 2**bits >= n_types
    unpacked = np.unpackbits(image.axon_types.reshape(3, -1), axis=1, bitorder="little").reshape(3, -1, bits)
    assert np.array_equal((unpacked << np.arange(bits)).sum(axis=2)[:, :11], types)
