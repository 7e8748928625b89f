"""The characterisation network: what is asked for is what the program holds and does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.arrays.frozen import frozen
from neuromap.bench.characterisation import RandomBits, board_of, characterisation_program, drive_for, set_bits
from neuromap.errors import ChipError, InputError
from neuromap.hardware.checker import check_program
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.program_bytes import program_bytes, program_tensors
from neuromap.hardware.program_file import program_from_bytes
from neuromap.simulation.engine.numpy_engine import NumpyEngine

TINY = ChipSpec(
    name="tiny",
    cores=(4, 4),
    chips=(1, 1),
    axons=20,
    neurons=20,
    axon_types=4,
    weight_bits=9,
    leak_bits=9,
    threshold_bits=18,
    potential_bits=20,
    reach=(7, 7),
)


def unpacked(program):
    """The synapses as booleans, shape (C, A, N)."""
    return np.unpackbits(program.crossbar, axis=2, bitorder="little")[:, :, : program.chip.neurons].astype(bool)


def spikes_per_core(program, n_ticks):
    engine = NumpyEngine(program)
    fired = [engine.step()[0] for _ in range(n_ticks)]
    return np.bincount(np.concatenate(fired), minlength=program.n_cores)


def same(one, other):
    a, b = program_tensors(one), program_tensors(other)
    return all(np.array_equal(a[name], b[name]) for name in a)


requests = st.fixed_dictionaries(
    {
        "n_cores": st.integers(1, 40),
        "synapses": st.integers(0, 20),
        "delay": st.tuples(st.integers(1, 15), st.integers(1, 15)).map(lambda pair: tuple(sorted(pair))),
        "at_rest": st.floats(0, 1),
        "heterogeneous": st.booleans(),
        "seed": st.integers(0, 2**40),
        "rate_hz": st.floats(0.01, 1000),
    }
).filter(lambda request: not request["heterogeneous"] or 2 * drive_for(request["rate_hz"], TINY).leak <= 255)
"""What is not refused: a few rates near simple fractions of 1000 Hz have leaks that leave no room for others."""


@given(requests)
@settings(deadline=None, max_examples=60)
def test_the_program_is_legal_and_what_was_asked_for(request):
    n_cores = request.pop("n_cores")
    program = characterisation_program(n_cores, chip=TINY, **request)
    assert check_program(program) == []
    assert program.n_cores == n_cores

    axons = program.target_core.astype(int) * 20 + program.target_axon
    assert sorted(axons.ravel()) == list(range(20 * n_cores)), "every axon is fed by exactly one neuron"
    assert (unpacked(program).sum(axis=2) == request["synapses"]).all()
    least, greatest = request["delay"]
    assert least <= program.delay.min() <= program.delay.max() <= greatest

    resting = (program.neurons.leak == 0).all(axis=1)
    assert resting.sum() == round(request["at_rest"] * n_cores)
    assert (resting[program.target_core] == resting[:, None]).all(), "active and resting cores are apart"
    signs = np.take_along_axis(
        program.neurons.weights, program.axon_types[:, :, None].astype(int).repeat(4, axis=2), axis=1
    )
    assert (program.neurons.weights.sum(axis=2) == 0).all()
    assert (signs != 0).all()
    assert (np.bincount(program.axon_types[0], minlength=4) == 5).all()


@given(requests)
@settings(deadline=None, max_examples=15)
def test_equal_arguments_give_equal_programs_and_the_file_gives_the_same(request):
    n_cores = request.pop("n_cores")
    program, again = (characterisation_program(n_cores, chip=TINY, **request) for _ in range(2))
    assert same(program, again)
    assert same(program, program_from_bytes(program_bytes(program), "here"))


def test_seeds_differ_and_arguments_change_only_what_they_name():
    program = characterisation_program(4, chip=TINY, synapses=9)
    other = characterisation_program(4, chip=TINY, synapses=9, seed=1)
    assert not np.array_equal(program.crossbar, other.crossbar)
    assert not np.array_equal(program.target_axon, other.target_axon)
    assert not np.array_equal(program.neurons.potential, other.neurons.potential)
    late = characterisation_program(4, chip=TINY, synapses=9, delay=(1, 15))
    assert np.array_equal(program.crossbar, late.crossbar)
    assert np.array_equal(program.target_core, late.target_core)
    assert set(np.unique(late.delay)) == set(range(1, 16))


def test_random_numbers_are_pinned():
    """PCG64 and what is made of it must not change under anybody's figures."""
    program = characterisation_program(2, synapses=128)
    assert program.neurons.potential[0, :8].tolist() == [25, 44, 47, 43, 34, 16, 29, 15]
    row = "857b5441bc97603e0ea21caa81f646d312c528fc6e9fed6e48f59bc407d06fd8"
    assert program.crossbar[1, 7].tobytes().hex() == row


@pytest.mark.parametrize(("rate", "leak", "threshold"), [(2, 1, 500), (20, 1, 50), (100, 5, 50), (30, 3, 100)])
def test_drive_of_the_usual_rates(rate, leak, threshold):
    drive = drive_for(rate, load_chip("truenorth"))
    assert (drive.leak, drive.threshold) == (leak, threshold)
    assert drive.rate_hz == pytest.approx(rate)


@given(st.floats(0.004, 1000))
def test_the_drive_comes_near_every_rate(rate):
    chip = load_chip("truenorth")
    drive = drive_for(rate, chip)
    assert drive.rate_hz == pytest.approx(drive.leak / drive.threshold * 1000)
    assert drive.rate_hz == pytest.approx(rate, rel=5e-3)
    assert drive.threshold >= 50
    assert drive.threshold <= chip.threshold_range[1]
    assert drive.leak <= chip.leak_range[1]


@pytest.mark.parametrize("heterogeneous", [False, True])
@pytest.mark.parametrize("rate", [20, 100])
def test_the_measured_rate_is_the_one_asked_for_less_the_excess(rate, heterogeneous):
    program = characterisation_program(3, rate_hz=rate, heterogeneous=heterogeneous)
    n_ticks = 400
    measured = spikes_per_core(program, n_ticks).sum() / (n_ticks * 3 * 256) * 1000
    # start potentials are as if the last spike had been at any time, so the rate is stationary from tick 0
    assert 0.92 * rate < measured < 1.02 * rate


def test_without_synapses_the_rate_is_exact():
    program = characterisation_program(2, synapses=0)
    assert spikes_per_core(program, 200).tolist() == [4 * 256] * 2


def test_resting_cores_stay_silent_and_do_not_change():
    program = characterisation_program(16, at_rest=0.75, heterogeneous=True)
    resting = (program.neurons.leak == 0).all(axis=1)
    assert np.flatnonzero(~resting).tolist() == [0, 4, 8, 12], "spread evenly"
    engine = NumpyEngine(program)
    fired = np.concatenate([engine.step()[0] for _ in range(60)])
    assert set(fired) == {0, 4, 8, 12}
    assert np.array_equal(engine.potentials[resting], program.neurons.potential[resting])
    assert not set(engine.pending[:, 1]) & set(np.flatnonzero(resting))
    ports = {port.name: port.size for port in program.nodes}
    assert ports == {"active": 4 * 256, "at_rest": 12 * 256}
    assert np.array_equal(program.neuron_node == 1, np.repeat(resting[:, None], 256, axis=1))
    assert all(
        sorted(program.neuron_index[program.neuron_node == k]) == list(range(n * 256)) for k, n in ((0, 4), (1, 12))
    )


def test_a_chip_all_at_rest_does_nothing():
    assert spikes_per_core(characterisation_program(3, at_rest=1), 60).sum() == 0


def test_scale_and_offset_leave_the_spikes_as_they_are():
    """Take scales and offsets out again: the same neurons must fire in the same ticks."""
    program = characterisation_program(2, chip=TINY, synapses=10, rate_hz=60, heterogeneous=True)
    table = program.neurons
    scale = (np.abs(table.weights).max(axis=2)).astype(np.int32)
    assert set(np.unique(scale)) == {1, 2}
    plain = replace(
        program,
        neurons=replace(
            table,
            weights=(table.weights // scale[:, :, None]).astype(np.int16),
            leak=(table.leak // scale).astype(np.int16),
            threshold=(table.threshold - table.reset) // scale,
            potential=(table.potential - table.reset) // scale,
            reset=np.zeros_like(table.reset),
        ),
    )
    one, other = NumpyEngine(program), NumpyEngine(plain)
    for _ in range(120):
        for mine, theirs in zip(one.step(), other.step(), strict=True):
            assert np.array_equal(mine, theirs)
    assert one.totals.spikes > 0


def test_heterogeneous_cores_share_no_parameter():
    table = characterisation_program(2, heterogeneous=True).neurons
    for name in ("leak", "threshold", "reset", "potential"):
        assert (np.ptp(getattr(table, name), axis=1) > 0).all(), name
    assert (np.ptp(table.weights, axis=1) > 0).all()


def test_arrays_are_locked_and_the_crossbar_starts_on_a_cache_line():
    program = characterisation_program(3)
    assert program.crossbar.ctypes.data % 64 == 0
    for name, array in program_tensors(program).items():
        assert frozen(array) is array, name


@given(st.integers(1, 40), st.data())
@settings(deadline=None)
def test_rows_have_the_exact_sum_and_no_spare_bits(width, data):
    n_set = data.draw(st.integers(0, width))
    rows = np.zeros((50, -(-width // 8)), np.uint8)
    set_bits(rows, width, n_set, RandomBits(data.draw(st.integers(0, 2**32)), 0))
    bits = np.unpackbits(rows, axis=1, bitorder="little")
    assert (bits[:, :width].sum(axis=1) == n_set).all()
    assert not bits[:, width:].any()


@pytest.mark.parametrize("n_set", [3, 16, 128, 200, 250])
def test_no_place_of_a_row_is_favoured(n_set):
    rows = np.zeros((4000, 32), np.uint8)
    set_bits(rows, 256, n_set, RandomBits(5, 0))
    bits = np.unpackbits(rows, axis=1, bitorder="little").astype(float)
    part = n_set / 256
    deviation = (bits.mean(axis=0) - part) / np.sqrt(part * (1 - part) / len(rows))
    assert np.abs(deviation).max() < 4.5
    pairs = (bits[:, :-1] * bits[:, 1:]).mean()  # neighbours, as of drawing without putting back
    assert pairs == pytest.approx(part * (n_set - 1) / 255, rel=0.05)


def test_boards_hold_what_one_chip_does_not():
    chip = load_chip("truenorth")
    assert board_of(chip, 4096) is chip
    assert board_of(chip, 4097).chips == (2, 1)
    assert board_of(chip, 65536).chips == (4, 4)
    for n_cores in (5, 17, 33, 64):
        board = board_of(TINY, n_cores)
        assert board.n_cores >= n_cores
        assert check_program(characterisation_program(n_cores, chip=TINY, synapses=2)) == []
    assert board_of(replace(TINY, reach=None), 1000).n_cores >= 1000
    flat = board_of(replace(TINY, reach=(7, 31)), 128)
    assert (flat.columns, flat.rows) == (8, 16)
    with pytest.raises(InputError, match="at most 64 cores of chip tiny reach each other"):
        board_of(TINY, 65)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"n_cores": 0}, "cores 0: must be 1 to"),
        ({"n_cores": -3}, "cores -3"),
        ({"n_cores": 10**9}, "cores 1000000000"),
        ({"n_cores": 70000}, "at most 65536 cores of chip truenorth reach each other"),
        ({"synapses": 257}, "synapses 257: chip truenorth allows 0 to 256"),
        ({"synapses": -1}, "synapses -1"),
        ({"rate_hz": 0}, "rate 0 Hz"),
        ({"rate_hz": -20}, "rate -20 Hz"),
        ({"rate_hz": 1001}, "rate 1001 Hz: chip truenorth allows 0.00381 to 1000 Hz"),
        ({"rate_hz": float("nan")}, "rate nan Hz"),
        ({"rate_hz": float("inf")}, "rate inf Hz"),
        ({"rate_hz": 1e-3}, "rate 0.001 Hz"),
        ({"rate_hz": 5e-3, "heterogeneous": True}, "too wide for chip truenorth"),
        ({"rate_hz": 994, "synapses": 1, "heterogeneous": True, "chip": TINY}, "too wide for chip tiny"),
        ({"delay": 0}, "delay 0 to 0: chip truenorth allows 1 to 15"),
        ({"delay": (1, 16)}, "delay 1 to 16"),
        ({"delay": (5, 3)}, "delay 5 to 3"),
        ({"at_rest": 1.01}, "at rest 1.01: must be 0 to 1"),
        ({"at_rest": -0.1}, "at rest -0.1"),
        ({"at_rest": float("nan")}, "at rest nan"),
        ({"seed": -1}, "seed -1"),
        ({"chip": replace(TINY, axons=19)}, "chip tiny: 20 neurons, 19 axons"),
        ({"chip": replace(TINY, axon_types=1)}, "1 axon types"),
        ({"chip": "loihi1"}, "chip loihi1: has synapse-list cores"),
    ],
)
def test_refusals_are_one_line(change, found):
    with pytest.raises(InputError, match=found) as caught:
        characterisation_program(**{"n_cores": 2, **change})
    assert "\n" not in str(caught.value)


def test_unknown_chips_are_refused():
    with pytest.raises(ChipError, match="is not known"):
        characterisation_program(1, chip="truenorht")


def test_other_chips_and_progress():
    told = []
    program = characterisation_program(4, chip="ranc", synapses=40, rate_hz=20, progress=lambda *n: told.append(n))
    assert check_program(program) == []
    assert told[-1] == (1024, 1024)
    odd = characterisation_program(4, chip=replace(TINY, axon_types=3, axons=21, neurons=21), synapses=21)
    assert check_program(odd) == []
    assert set(np.unique(odd.axon_types)) == {0, 1}
    assert (odd.neurons.weights[:, :, 2] == 0).all()
