"""Rules of graded cores: a mapped program keeps them all, and each is found where it is broken once."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm
from neuromap.errors import ProgramError
from neuromap.hardware.checker import check_program, require_legal
from neuromap.hardware.program.ports import BIAS
from neuromap.network import GradedNeuron, Pool, build_network
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice

INDICES = [
    ("synapses.lists", 0, 1, "list-start", "core 0, axon 0: start 0 of lists is 1"),
    ("synapses.neuron", 3, 40, "synapse-neuron", "neuron of synapse 3 is 40; needs a neuron 0 to 39"),
    ("synapses.delay", 2, 63, "synapse-delay", "delay of synapse 2 is 63; needs 0 to 62 ticks"),
    ("targets.core", 1, 9, "target-exists", "target core is 9; needs a core 0 to"),
    ("targets.axon", 0, 4000, "target-exists", "target axon is 4000; needs an axon in use"),
    ("units.joined", (0, 0), 40, "join-exists", "core 0, neuron 0: neuron that it is joined to is 40"),
    ("units.multiplier", (0, 1), -1, "unit-range", "core 0, neuron 1: multiplier is -1; needs 0 or more"),
    ("units.shift", (0, 1), 63, "unit-range", "core 0, neuron 1: shift is 63; needs 0 to 62"),
    ("units.low", (0, 0), -(2**24), "unit-range", "least value is -16777216; needs -16777215 to 16777215"),
    ("units.high", (0, 0), 2**24, "unit-range", "greatest value is 16777216"),
    ("ranges", (1, 0), 1, "node-range", "range of node H is (1, 127); needs -16777215 to 0 and 0 to 16777215"),
    ("synapses.weight", 5, 2**30, "sum-range", "greatest sum of its inputs is"),
    ("host.index", 0, 99, "host-row", "host row 0: index is 99"),
    ("neuron_node", (0, 0), 9, "neuron-label", "core 0, neuron 0: node label is 9"),
]
LIMITS = [
    ("coordinates", (0, 0), 400, "coordinate-on-grid", "core 0: coordinate is (400, 0)"),
    ("synapses.weight", 0, 129, "weight-range", "weight of synapse 0 is 129; needs mantissas of -128 to 127 times 2^k"),
    ("synapses.weight", 0, 2**15, "weight-range", "times 2^k, k 0 to 7"),
    ("synapses.weight", 0, 127 << 7, "sum-range", "needs -524288 to 524287"),
    ("units.high", (0, 0), 2**23, "value-range", "greatest value is 8388608; needs -8388608 to 8388607"),
    ("ranges", (0, 1), 2**23, "value-range", "range of I is (-128, 8388608)"),
    ("units.high", (0, 0), 128, "node-range", "core 0, neuron 0: greatest value is 128; needs that of its node"),
]


@pytest.fixture(scope="module")
def program(graded_chip):
    rng = np.random.default_rng(1)
    hidden = GradedNeuron(0, 127, 1, 4, rng.integers(-300, 300, 32))
    network = build_network(
        {
            "I": ((4, 4, 1), GradedNeuron(-128, 127)),
            "H": ((4, 4, 2), hidden),
            "P": ((2, 2, 2), GradedNeuron(0, 127, maximum=1)),
        },
        {("I", "H"): rng.integers(-40, 41, (32, 16)), ("H", "P"): Pool((4, 4, 2), (2, 2, 2), (2, 2))},
    )
    return nm.map_rollout(nm.Rollout(network, "sequential"), graded_chip(accumulator_bits=20))


def edited(program, path, at, value):
    table, _, field = path.rpartition(".")
    owner = getattr(program, table) if table else program
    array = getattr(owner, field).copy()
    array[at] = value
    return replace(program, **({table: replace(owner, **{field: array})} if table else {field: array}))


def test_a_mapped_program_keeps_all_rules(program):
    assert check_program(program) == []
    assert program.joined is not None
    assert (program.host.node == BIAS).any()


@pytest.mark.parametrize(("path", "at", "value", "rule", "message"), [*INDICES, *LIMITS])
def test_each_rule_is_found_where_it_is_broken(program, path, at, value, rule, message):
    broken = edited(program, path, at, value)
    found = [v for v in check_program(broken) if v.rule == rule]
    assert any(message in v.message for v in found), [v.message for v in check_program(broken)]
    with pytest.raises(ProgramError, match="program"):
        require_legal(broken)


@pytest.mark.parametrize(("path", "at", "value", "rule", "message"), INDICES)
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_refuse_what_they_cannot_run_exactly(program, path, at, value, rule, message, engine):
    with pytest.raises(ProgramError) as refused:
        make_engine(edited(program, path, at, value), EngineChoice(engine, 1))
    assert "\n" not in str(refused.value)


def test_an_axon_with_two_sources_is_found(program):
    targets = program.targets
    first = [0, 0, *range(2, len(targets.core))]
    twice = replace(targets, core=targets.core[first], axon=targets.axon[first])
    found = [v.message for v in check_program(replace(program, targets=twice)) if v.rule == "axon-source"]
    assert len(found) == 1
    assert "number of sources is 2; needs at most 1" in found[0]


@pytest.mark.parametrize(
    ("figures", "rule", "message"),
    [
        ({"neuron_bits": 150_000}, "synapse-memory", "memory of its lists and neurons in bits"),
        ({"program_bits": 1_600_000}, "synapse-memory", "needs at most 1572864"),
        ({"joins_maximum": 0}, "join-maximum", "needs -1: none"),
        ({"accumulator_bits": 16}, "sum-range", "needs -32768 to 32767"),
        ({"value_bits": 8}, "value-range", "value of a bias row"),
        ({"output_axons": 3}, "output-axons", "number of output axons"),
    ],
)
def test_each_limit_of_the_chip_is_kept(program, figures, rule, message):
    chip = program.chip
    lacking = replace(program, chip=replace(chip, core_figures=replace(chip.lists, **figures)))
    found = [v for v in check_program(lacking) if v.rule == rule]
    assert any(message in v.message for v in found), [v.message for v in check_program(lacking)]


def test_the_checker_counts_the_memory_that_the_program_tells(program):
    bits = program.synapses.bits(program.chip) + program.other_bits()
    for core, used in enumerate(bits.tolist()):
        lists = replace(program.chip.lists, synapse_memory_bits=used - 1, shares_lists=0)
        found = check_program(replace(program, chip=replace(program.chip, core_figures=lists)))
        said = [v.message for v in found if v.rule == "synapse-memory" and v.place.core == core]
        assert [f"is {used}; needs at most {used - 1}" in message for message in said] == [True]
