"""What the mapper makes of values: digits of biases, wide weights, compartments, memory; and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import neuromap as nm
from neuromap.cores.graded.engines import GradedNumpyEngine
from neuromap.cores.graded.fast_engine import GradedFastEngine
from neuromap.cores.synapse_list.list_network import bias_digits
from neuromap.cores.synapse_list.program import powers_needed
from neuromap.errors import DoesNotFitError, InputError
from neuromap.faults.edited_program import ThresholdEdit, WeightEdit, apply_edits, with_stuck
from neuromap.hardware.checker import check_program
from neuromap.hardware.program.ports import BIAS
from neuromap.network import Conv, GradedNeuron, Pool, build_network
from neuromap.simulation import random_frames, reference
from neuromap.simulation.engine.engine import HostEvents

IMAGE = GradedNeuron(-128, 127)


def chain(weights, unit=None, size=None):
    weights = np.atleast_2d(weights)
    unit = GradedNeuron(-(2**22), 2**22, 1, 2) if unit is None else unit
    return build_network({"I": (weights.shape[1], IMAGE), "O": (len(weights), unit)}, {("I", "O"): weights})


def mapped(network, chip, pattern="sequential"):
    return nm.map_rollout(nm.Rollout(network, pattern), chip, placer="row-major")


@given(st.lists(st.integers(-(2**31) + 1, 2**31 - 1), min_size=1), st.integers(1, 7))
def test_digits_of_biases_add_up_to_them(biases, bits):
    biases = np.array(biases)
    parts = bias_digits(biases, bits)
    assert (sum((value * digit for value, digit in parts), start=np.zeros_like(biases)) == biases).all()
    for value, digit in parts:
        assert value & (value - 1) == 0
        assert np.abs(digit).max() < 2**bits
        assert (digit * biases >= 0).all()


def test_every_digit_of_a_bias_arrives(graded_chip, fed, frames_of):
    biases = np.concatenate([np.arange(-64, 64) << 7 * k for k in range(3)])
    network = chain(np.zeros((len(biases), 1), int) + 1, GradedNeuron(-(2**22), 2**22, 1, 0, biases))
    program = mapped(network, graded_chip(neurons=400))
    rows = program.host.index[program.host.node == BIAS]
    assert sorted(set(rows.tolist())) == [1, 2**7, 2**14]
    found = frames_of(program, GradedNumpyEngine(program).run(fed(program, {"I": np.zeros((3, 1), int)}, 20)), 3)
    assert found["O"].tolist() == [[0] * len(biases), biases.tolist(), biases.tolist()]


@given(st.lists(st.integers(-300, 300), min_size=1, max_size=6))
def test_powers_of_a_list_are_as_few_as_can_be(weights):
    chip = nm.load_chip("loihi2")
    chip = replace(chip, weight_bits=4, core_figures=replace(chip.lists, weight_shifts=(0, 5)))
    sets = [{s for s in range(6) if w % 2**s == 0 and -8 <= w >> s <= 7} for w in weights]
    found = int(powers_needed(np.array(weights), np.zeros(len(weights), np.int64), 1, chip)[0])
    if not all(sets):
        assert found == 0
        return
    fewest = next(
        n
        for n in range(1, 7)
        if any(
            all(any(k in one for k in chosen) for one in sets)
            for chosen in ([k for k in range(6) if mask >> k & 1] for mask in range(64) if mask.bit_count() == n)
        )
    )
    assert found == fewest


def test_wide_weights_are_several_synapses(graded_chip, fed, frames_of):
    weights = np.array([[200, 201, -16319, 16319, -129, 3]])
    network = chain(weights)
    program = mapped(network, graded_chip(accumulator_bits=32))
    assert check_program(program) == []
    assert len(program.synapses.weight) == 6 + 4  # 200 is 25 times 2^3
    frames = random_frames(network, 4)
    found = frames_of(program, GradedFastEngine(program).run(fed(program, frames, 20)), 4)
    assert (found["O"] == reference(nm.Rollout(network, "sequential"), frames)["O"]).all()


def test_digits_take_no_sum_beyond_that_of_weights_and_biases(graded_chip):
    weight = 2**16 - 8  # next to a round number, whose digits in both signs would be a carry and -8
    network = chain([[weight]], GradedNeuron(-(2**22), 2**22, 1, 9, 2**23 - 1 - 127 * weight))
    program = mapped(network, graded_chip(weight_bits=4, weight_shifts=(0, 15), accumulator_bits=24))
    assert check_program(program) == []


def test_every_synapse_of_a_greatest_input_takes_a_compartment(graded_chip):
    pool = Pool((4, 4, 2), (2, 2, 2), (2, 2))
    nodes = {"I": ((4, 4, 2), IMAGE), "P": ((2, 2, 2), GradedNeuron(-128, 127, maximum=1))}
    program = mapped(build_network(nodes, {("I", "P"): pool}), graded_chip())
    assert program.memory_figures()["compartments"] == 8 * 4
    assert (program.joined >= 0).sum() == 8 * 3
    single = {"I": (3, IMAGE), "O": (3, GradedNeuron(-128, 127, maximum=1))}
    alone = mapped(build_network(single, {("I", "O"): -np.eye(3, dtype=int)}), graded_chip())
    assert alone.joined is None


def test_lists_of_a_kernel_are_stored_once_where_that_takes_fewer_cores(graded_chip, fed, frames_of):
    shape = (12, 12, 1)
    conv = Conv(shape, (12, 12, 8), (3, 3), weights=np.arange(1, 73).reshape(3, 3, 1, 8))
    nodes = {"I": (shape, IMAGE), "O": ((12, 12, 8), GradedNeuron(0, 255, 1, 5))}
    network = build_network(nodes, {("I", "O"): conv})
    small = {"synapse_memory_bits": 40_000, "neuron_bits": 8, "program_bits": 1000, "neurons": 4000}
    shared, apart = (mapped(network, graded_chip(**small, shares_lists=k)) for k in (1, 0))
    assert shared.n_cores < apart.n_cores
    frames = random_frames(network, 3)
    defined = reference(nm.Rollout(network, "sequential"), frames)["O"]
    for program in (shared, apart):
        assert check_program(program) == []
        sent = GradedFastEngine(program, threads=2).run(fed(program, frames, 12))
        assert (frames_of(program, sent, 3)["O"] == defined).all()


def test_dense_lists_take_less_memory_and_the_checker_agrees(graded_chip):
    rng = np.random.default_rng(0)
    full, sparse = rng.integers(1, 9, (60, 60)), rng.integers(1, 9, (60, 60)) * (rng.random((60, 60)) < 0.1)
    room = {"neurons": 60, "synapse_memory_bits": 30_000, "program_bits": 0}
    for weights, cores in ((full, (2, 4)), (sparse, (1, 1))):
        found = [mapped(chain(weights), graded_chip(**room, dense_bits=bits)) for bits in (8, 0)]
        assert tuple(program.n_cores for program in found) == cores
        for program in found:
            assert check_program(program) == []
            used = program.synapses.bits(program.chip) + program.other_bits()
            tight = replace(program.chip.lists, synapse_memory_bits=int(used.max()) - 1, shares_lists=0)
            broken = replace(program, chip=replace(program.chip, core_figures=tight))
            assert {v.rule for v in check_program(broken)} == {"synapse-memory"}


def test_neurons_and_their_program_take_of_the_memory(graded_chip):
    network = chain(np.ones((64, 1), int))
    each = nm.load_chip("loihi2").lists.synapse_bits + 100
    chip = graded_chip(
        neurons=64, neuron_bits=100, dense_bits=0, program_bits=1000, synapse_memory_bits=1064 + 16 * each
    )
    assert mapped(network, chip).n_cores == 4
    assert mapped(network, graded_chip(neurons=64)).n_cores == 1


@pytest.mark.parametrize(
    ("network", "figures", "limit", "said"),
    [
        (lambda: chain([[2**14 + 1]]), {}, "weights", "node O: it has a weight of 16385; tiny holds 8 bits with the"),
        (
            lambda: chain(np.full((1, 600), 127)),
            {},
            "potential",
            "node O: a sum of its neurons can reach -9753600; those of tiny hold -8388608 to 8388607 (1364993 too many",
        ),
        (
            lambda: chain([[1]], GradedNeuron(0, 2**23)),
            {},
            "potential",
            "node O: its values reach 8388608; messages of tiny carry -8388608 to 8388607",
        ),
        (
            lambda: chain([[1]], GradedNeuron(0, 5, bias=2**14)),
            {"value_bits": 8},
            "potential",
            "node O: its bias takes a message of 16384; those of tiny carry -128 to 127",
        ),
        (
            lambda: chain([[1, 2]], GradedNeuron(0, 5, maximum=1)),
            {"joins_maximum": 0},
            "neuron",
            "node O: its neurons take the greatest input, which those of tiny do not; maximum = 0",
        ),
        (
            lambda: chain(np.ones((1, 50), int), GradedNeuron(0, 5, maximum=1)),
            {},
            "neuron",
            "node O: one neuron needs 50 compartments, one for each synapse, a tiny core has 40",
        ),
    ],
)
def test_what_the_chip_cannot_hold_is_refused_in_one_line(graded_chip, network, figures, limit, said):
    with pytest.raises(DoesNotFitError) as refused:
        mapped(network(), graded_chip(**figures))
    assert refused.value.infeasibility.limit == limit
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("weight", [-(2**31), 2**31 - 2**16])
def test_sums_beyond_64_bits_are_refused_and_found(graded_chip, weight):
    # 2^65 and more: integers of 64 bits would be back near 0
    chip = graded_chip(weight_bits=16, weight_shifts=(0, 16), accumulator_bits=32)

    def network(weight, high):
        nodes = {"I": (2048, GradedNeuron(0, high)), "O": (1, GradedNeuron(0, 5))}
        return build_network(nodes, {("I", "O"): np.full((1, 2048), weight)})

    with pytest.raises(DoesNotFitError, match=r"can reach -?3689"):
        mapped(network(weight, 2**23 - 1), chip)
    program = mapped(network(1, 1), chip)
    ranges = program.ranges.copy()
    ranges[0, 1] = 2**23 - 1
    wide = replace(program.synapses, weight=np.full(2048, weight, np.int32))
    assert "sum-range" in {v.rule for v in check_program(replace(program, synapses=wide, ranges=ranges))}


def test_a_program_survives_its_file(graded_chip, fed, tmp_path):
    pool = Pool((4, 4, 2), (2, 2, 2), (2, 2))
    nodes = {"I": ((4, 4, 2), IMAGE), "P": ((2, 2, 2), GradedNeuron(-5, 127, 3, 1, maximum=1))}
    network = build_network(nodes, {("I", "P"): pool})
    program = mapped(network, graded_chip())
    program.save(tmp_path / "p.nmp")
    again = nm.load_program(tmp_path / "p.nmp")
    assert again.value_ranges == program.value_ranges == {"I": (-128, 127), "P": (-5, 127)}
    events = fed(program, random_frames(network, 4), 20)
    for a, b in zip(GradedNumpyEngine(program).run(events), GradedNumpyEngine(again).run(events), strict=True):
        assert (a == b).all()
    again.save(tmp_path / "q.nmp")
    assert (tmp_path / "p.nmp").read_bytes() == (tmp_path / "q.nmp").read_bytes()


def test_stuck_neurons_and_edits(graded_chip, fed):
    network = chain([[100, 3], [2, -100], [5, 1]], GradedNeuron(-50, 60))
    program = mapped(network, graded_chip())
    nothing = HostEvents.none(3)
    firing = np.zeros(program.shape, np.bool_)
    firing[0, 1] = True
    engines = (GradedNumpyEngine, GradedFastEngine)
    for make in engines:
        sent = make(with_stuck(program, firing, fires=True)).run(nothing)
        assert (sent.neurons.tolist(), sent.values.tolist()) == ([1] * 3, [60] * 3)
    events = fed(program, {"I": np.array([[1, 1], [1, 1]])}, 6)
    silent = [make(with_stuck(program, firing, fires=False)).run(events) for make in engines]
    assert [s.neurons.tolist() for s in silent] == [[0, 2]] * 2
    edited = apply_edits(program, [WeightEdit("I", 0, "O", 0, -7)])
    assert GradedNumpyEngine(edited).run(events).values.tolist()[0] == -4
    with pytest.raises(InputError, match="graded neurons have no threshold"):
        apply_edits(program, [ThresholdEdit("O", 0, 1)])
