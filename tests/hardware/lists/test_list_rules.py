"""Rules of synapse-list cores: the program by hand keeps them all, and each is found where it is broken once."""

from dataclasses import replace

import numpy as np
import pytest

from neuromap.errors import ProgramError
from neuromap.hardware.checker import check_program, require_legal
from neuromap.hardware.chip.chip_spec import Defects
from neuromap.simulation.engine.engine import make_engine
from neuromap.simulation.engine.engine_choice import ENGINES, EngineChoice

INDICES = [
    ("synapses.axons", 1, 5, "list-start", "core 0: start 1 of axons is 5; needs starts that rise from 0 to 4"),
    ("synapses.axons", 2, 3, "list-start", "start 2 of axons is 3"),
    ("synapses.lists", 0, 1, "list-start", "core 0, axon 0: start 0 of lists is 1; needs starts that rise from 0 to 8"),
    ("synapses.lists", 4, 7, "list-start", "core 1, axon 1: start 4 of lists is 7"),
    ("targets.start", 2, 2, "list-start", "core 0, neuron 1: start 2 of targets is 2"),
    ("synapses.neuron", 3, 3, "synapse-neuron", "core 0, axon 1: neuron of synapse 3 is 3; needs a neuron 0 to 2"),
    ("synapses.delay", 6, 4, "synapse-delay", "core 1, axon 0: delay of synapse 6 is 4; needs 0 to 3 ticks"),
    ("targets.core", 4, 2, "target-exists", "core 1, neuron 0: target core is 2; needs a core 0 to 1"),
    ("targets.axon", 1, 2, "target-exists", "core 0, neuron 0: target axon is 2; needs an axon in use, 0 to 1"),
    ("neurons.current_decay", (0, 1), 17, "decay-range", "core 0, neuron 1: current decay is 17; needs 0 to 16"),
    ("neurons.voltage_decay", (1, 0), -1, "decay-range", "core 1, neuron 0: voltage decay is -1"),
    ("neurons.refractory", (0, 2), 4, "refractory-range", "core 0, neuron 2: refractory period is 4"),
    ("host.axon", 0, 2, "host-row", "host row 0: axon is 2"),
    ("host.core", 0, 2, "host-row", "host row 0: core is 2"),
    ("outputs.neuron", 1, 3, "output-row", "output row 1: neuron is 3"),
    ("neuron_node", (0, 0), 3, "neuron-label", "core 0, neuron 0: node label is 3"),
]
LIMITS = [
    ("coordinates", (1, 0), 2, "coordinate-on-grid", "core 1: coordinate is (2, 0)"),
    ("synapses.weight", 3, 57, "weight-range", "core 0, axon 1: least and greatest weight, all multiples of 1"),
    ("synapses.weight", 3, 64, "weight-range", "core 0, axon 1: least and greatest weight"),
    # of both signs: 4 is 2 * 2^1, and 24 is 12 * 2^1, beyond 7; 4 and 16 alone are 1 and 4 times 2^2, 24 is 3 times 2^3
    ("synapses.weight", 0, 4, "synapse-memory", "core 0: memory of its lists in bits is 155; needs at most 145"),
    ("synapses.weight", 0, 1, "weight-range", "times one 2^k, k 1 to 3, or of 2 where both signs share one"),
    ("neurons.threshold", (0, 1), 65, "threshold-range", "threshold is 65; needs multiples of 64 from 0 to 1984"),
    ("neurons.threshold", (0, 2), 2048, "threshold-range", "core 0, neuron 2: threshold is 2048"),
    ("neurons.bias", (0, 1), 17, "bias-range", "bias is 17; needs mantissas of -16 to 15 times 2^k, k 0 to 2"),
    ("neurons.bias", (1, 2), -68, "bias-range", "core 1, neuron 2: bias is -68"),
    ("neurons.current", (0, 1), 2048, "potential-range", "core 0, neuron 1: current before the first tick is 2048"),
    ("neurons.voltage", (0, 0), -2048, "potential-range", "core 0, neuron 0: voltage before the first tick is -2048"),
]


def broken(edited, program, path, at, value):
    def put(array):
        array[at] = value

    return edited(program, path, put)


OPTIONS = [
    ({}, "subtract", (0, 1), 1, "reset-range", "core 0, neuron 1: soft reset is 1; needs 0"),
    ({"soft_reset": True}, "subtract", (0, 1), 2, "reset-range", "core 0, neuron 1: soft reset is 2; needs 0 or 1"),
    ({}, "reset", (1, 0), -1, "reset-range", "core 1, neuron 0: reset is -1; needs 0"),
    ({"reset_values": True}, "reset", (1, 0), -2048, "reset-range", "reset is -2048; needs -floor to 2047"),
    ({}, "floor", (1, 1), 3, "floor-range", "core 1, neuron 1: floor is 3; needs 2047 or more"),
    (
        {"floors": "shared"},
        "floor",
        (1, 1),
        3,
        "floor-range",
        "floor is 3; needs one 2^k - 1 for all neurons of a core",
    ),
    ({"floors": "shared"}, "floor", (1, slice(None)), 4, "floor-range", "floor is 4; needs one 2^k - 1"),
    ({"floors": "any"}, "floor", (1, 1), -1, "floor-range", "core 1, neuron 1: floor is -1; needs 0 or more"),
    ({"floors": "any"}, "floor", (0, 0), 2046, "floor-range", "first voltage is -2047; needs -floor or more"),
]
IDLE = {"subtract": np.uint8(0), "reset": np.int32(0), "floor": np.int32(2**31 - 1)}


@pytest.mark.parametrize(("figures", "field", "at", "value", "rule", "message"), OPTIONS)
def test_each_rule_of_options_is_found_where_it_is_broken(lists_by_hand, figures, field, at, value, rule, message):
    chip = lists_by_hand.chip
    idle = np.full(lists_by_hand.shape, IDLE[field])
    program = replace(lists_by_hand, chip=replace(chip, core_figures=replace(chip.lists, **figures)))
    assert check_program(replace(program, neurons=replace(program.neurons, **{field: idle}))) == []
    idle[at] = value
    violations = check_program(replace(program, neurons=replace(program.neurons, **{field: idle})))
    assert {violation.rule for violation in violations} == {rule}
    assert any(message in violation.message for violation in violations)


def test_the_program_by_hand_is_legal(lists_by_hand):
    assert check_program(lists_by_hand) == []


@pytest.mark.parametrize(("path", "at", "value", "rule", "message"), INDICES + LIMITS)
def test_each_rule_is_found_where_it_is_broken(lists_by_hand, edited, path, at, value, rule, message):
    violations = check_program(broken(edited, lists_by_hand, path, at, value))
    assert rule in {violation.rule for violation in violations}
    assert any(message in violation.message for violation in violations)


@pytest.mark.parametrize(("path", "at", "value", "rule", "_"), INDICES)
def test_no_engine_takes_what_points_outside(lists_by_hand, edited, path, at, value, rule, _):
    program = broken(edited, lists_by_hand, path, at, value)
    for engine in ENGINES:
        with pytest.raises(ProgramError, match=rf"program by hand on chip little: .*\(rule {rule}\)"):
            make_engine(program, EngineChoice(engine, threads=1))


@pytest.mark.parametrize(
    ("limit", "value", "rule", "message"),
    [
        ("axons", 1, "axon-count", "core 0: number of axons in use is 2; needs at most 1"),
        ("synapse_memory_bits", 144, "synapse-memory", "core 0: memory of its lists in bits is 145"),
        ("output_axons", 2, "output-axons", "core 0: number of output axons is 3; needs at most 2"),
        ("reach", (0, 1), "target-reach", "core 0, neuron 0: distance to the target is (1, 0)"),
    ],
)
def test_each_limit_of_the_chip_counts(lists_by_hand, limit, value, rule, message):
    chip = lists_by_hand.chip
    if limit in ("axons", "reach"):
        chip = replace(chip, **{limit: value})
    else:
        chip = replace(chip, core_figures=replace(chip.lists, **{limit: value}))
    violations = check_program(replace(lists_by_hand, chip=chip))
    assert {violation.rule for violation in violations} == {rule}
    assert message in violations[0].message


def test_defects_count_for_every_wire(lists_by_hand):
    chip = lists_by_hand.chip
    dead = chip.with_defects(Defects(cores=((1, 0),)))
    assert [v.rule for v in check_program(replace(lists_by_hand, chip=dead))] == ["dead-core"]
    cut = chip.with_defects(Defects(links=(((0, 0), (1, 0)),)))
    violations = check_program(replace(lists_by_hand, chip=cut))
    assert [(v.rule, v.place.core, v.place.neuron) for v in violations] == [("dead-route", 0, 0)] * 2 + [
        ("dead-route", 0, 1)
    ]


@pytest.mark.parametrize(
    ("key", "value"), [("current_bits", 33), ("potential_bits", 33), ("decay_bits", 17), ("delay", (0, 3))]
)
def test_widths_that_engines_do_not_hold_are_refused(lists_by_hand, key, value):
    chip = lists_by_hand.chip
    if key in ("potential_bits", "delay"):
        chip = replace(chip, **{key: value})
    else:
        chip = replace(chip, core_figures=replace(chip.lists, **{key: value}))
    with pytest.raises(ProgramError, match=rf"chip little: {key}: found .*; allowed is"):
        require_legal(replace(lists_by_hand, chip=chip))


def test_a_program_is_for_the_cores_of_its_chip(lists_by_hand, random_program):
    crossbars = random_program(1)
    for program, chip in ((crossbars, lists_by_hand.chip), (lists_by_hand, crossbars.chip)):
        with pytest.raises(
            ProgramError, match=r"needs (Program|ListProgram): chip \w+ has (crossbar|synapse-list) cores"
        ):
            make_engine(replace(program, chip=chip), EngineChoice("numpy"))


def test_the_memory_of_lists_is_what_the_chip_says(lists_by_hand):
    table, limits = lists_by_hand.synapses, lists_by_hand.chip.lists
    found = [limits.list_memory(2, int(n)) for n in np.diff(table.lists[table.axons])]
    assert found == [145, 95]
