import dataclasses
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import ProgramError
from neuromap.hardware.checker import Place, check_program, require_legal
from neuromap.hardware.program.ports import BIAS
from neuromap.hardware.program.program_bytes import BEST, EXECUTIONS, MAX_CHOSEN_PERIOD
from neuromap.rollout.schedule.execution import BEST as ROLLOUT_BEST
from neuromap.rollout.schedule.execution import EXECUTIONS as rollout_executions
from neuromap.rollout.schedule.execution import MAX_PERIOD

seeds = st.integers(0, 2**32)


@given(seed=seeds, mapped=st.booleans(), noise=st.booleans())
@settings(deadline=None, max_examples=60)
def test_legal_programs_break_no_rule(random_program, with_noise, seed, mapped, noise):
    program = random_program(seed, mapped=mapped)
    if noise:
        program = with_noise(program, seed)
    assert check_program(program) == []
    assert check_program(program, mapped=mapped) == []
    require_legal(program)


def setter(value):
    """Edit that sets the entry given by the test."""

    def change(array, at):
        array[at] = value

    return change


def rich(random_program):
    """Return a mapped program that has everything there is to break."""
    for seed in range(1000):
        program = random_program(seed, mapped=True)
        host, outputs = program.host, program.outputs
        unused = program.neuron_node == -1
        if (
            program.n_cores >= 3
            and program.chip.reach
            and np.any(program.target_core[0] >= 0)
            and len(outputs) >= 3
            and np.any(host.node == BIAS)
            and np.any(host.node == 0)
            and np.any(unused[0])
            and program.chip.weight_bits < 16
            and program.chip.leak_bits < 16
            and program.chip.threshold_bits < 30
        ):
            return program
    raise AssertionError("no seed gives such a program")


@pytest.fixture(scope="module")
def program(random_program):
    return rich(random_program)


def first(mask):
    return tuple(int(i) for i in np.argwhere(mask)[0])


def where_target(p):
    return first(p.target_core >= 0)


def where_unused(p):
    return first(p.neuron_node == -1)


def neuron(at, **more):
    return Place(core=at[0], neuron=at[1], **more)


# rule, array, position in the program, value from the program, place of the violation
BREAKS = [
    ("axon-type", "axon_types", lambda p: (0, 0), lambda p: p.chip.axon_types, lambda at: Place(core=0, axon=0)),
    ("reset-mode", "neurons.reset_mode", lambda p: (1, 0), lambda p: 3, neuron),
    ("target-exists", "target_core", where_target, lambda p: p.n_cores, neuron),
    ("target-exists", "target_core", where_target, lambda p: -2, neuron),
    ("target-exists", "target_axon", where_target, lambda p: p.chip.axons, neuron),
    ("target-exists", "target_axon", where_target, lambda p: -1, neuron),
    ("target-exists", "target_axon", where_unused, lambda p: 1, neuron),
    ("delay-range", "delay", where_target, lambda p: p.chip.delay[1] + 1, neuron),
    ("delay-range", "delay", where_target, lambda p: p.chip.delay[0] - 1, neuron),
    ("delay-range", "delay", where_target, lambda p: 0, neuron),
    ("delay-range", "delay", where_unused, lambda p: p.chip.delay[0], neuron),
    ("neuron-label", "neuron_node", lambda p: (0, 0), lambda p: len(p.nodes), neuron),
    ("neuron-label", "neuron_node", lambda p: (0, 0), lambda p: -2, neuron),
    ("neuron-label", "neuron_index", lambda p: first(p.neuron_node == 1), lambda p: 30, neuron),
    ("neuron-label", "neuron_index", lambda p: first(p.neuron_node == 1), lambda p: -1, neuron),
    ("neuron-label", "neuron_index", where_unused, lambda p: 1, neuron),
    ("host-row", "host.node", lambda p: (0,), lambda p: len(p.nodes), lambda at: Place(host_row=0)),
    ("host-row", "host.node", lambda p: first(p.host.index == 0), lambda p: len(p.nodes),
     lambda at: Place(host_row=at[0])),
    ("host-row", "host.node", lambda p: (0,), lambda p: -2, lambda at: Place(host_row=0)),
    ("host-row", "host.index", lambda p: first(p.host.node == 0), lambda p: 12, lambda at: Place(host_row=at[0])),
    ("host-row", "host.index", lambda p: first(p.host.node == -1), lambda p: 1, lambda at: Place(host_row=at[0])),
    ("host-row", "host.core", lambda p: (0,), lambda p: p.n_cores, lambda at: Place(host_row=0)),
    ("host-row", "host.axon", lambda p: (0,), lambda p: p.chip.axons, lambda at: Place(host_row=0)),
    ("host-row", "host.axon", lambda p: (0,), lambda p: -1, lambda at: Place(host_row=0)),
    ("host-row", "host.first_frame", lambda p: (0,), lambda p: 2, lambda at: Place(host_row=0)),
    ("host-arrival", "host.arrival", lambda p: first(p.host.first_frame == 1), lambda p: -p.period - 1,
     lambda at: Place(host_row=at[0])),
    ("host-arrival", "host.arrival", lambda p: (0,), lambda p: -(2**62), lambda at: Place(host_row=0)),
    ("host-arrival", "host.arrival", lambda p: (0,), lambda p: 2**62, lambda at: Place(host_row=0)),
    ("output-row", "outputs.node", lambda p: (0,), lambda p: -1, lambda at: Place(output_row=0)),
    ("output-row", "outputs.index", lambda p: (0,), lambda p: p.nodes[2].size, lambda at: Place(output_row=0)),
    ("output-row", "outputs.core", lambda p: (0,), lambda p: p.n_cores, lambda at: Place(output_row=0)),
    ("output-row", "outputs.neuron", lambda p: (0,), lambda p: -1, lambda at: Place(output_row=0)),
    ("coordinate-on-grid", "coordinates", lambda p: (1, 0), lambda p: p.chip.columns, lambda at: Place(core=1)),
    ("coordinate-on-grid", "coordinates", lambda p: (1, 1), lambda p: -1, lambda at: Place(core=1)),
    ("coordinate-unique", "coordinates", lambda p: (1,), lambda p: p.coordinates[2], lambda at: Place(core=1)),
    ("weight-range", "neurons.weights", lambda p: (0, 0, 0), lambda p: p.chip.weight_range[1] + 1,
     lambda at: Place(core=0, neuron=0, axon_type=0)),
    ("weight-range", "neurons.weights", lambda p: (0, 0, 0), lambda p: p.chip.weight_range[0] - 1,
     lambda at: Place(core=0, neuron=0, axon_type=0)),
    ("leak-range", "neurons.leak", lambda p: (0, 0), lambda p: p.chip.leak_range[0] - 1, neuron),
    ("threshold-range", "neurons.threshold", lambda p: (0, 0), lambda p: p.chip.threshold_range[1] + 1, neuron),
    ("threshold-range", "neurons.threshold", lambda p: (0, 0), lambda p: p.chip.threshold_range[0] - 1, neuron),
    ("output-target", "target_core", lambda p: (int(p.outputs.core[0]), int(p.outputs.neuron[0])), lambda p: 0,
     lambda at: neuron(at, output_row=0)),
    ("bias-frame", "host.first_frame", lambda p: first(p.host.node == -1), lambda p: 0,
     lambda at: Place(host_row=at[0])),
    ("node-kind", "host.node", lambda p: first(p.host.node == 0), lambda p: 1, lambda at: Place(host_row=at[0])),
    ("node-kind", "outputs.node", lambda p: (0,), lambda p: 1, lambda at: Place(output_row=0)),
    ("node-kind", "neuron_node", lambda p: first(p.neuron_node == 1), lambda p: 0, neuron),
    ("output-label", "neuron_index", lambda p: (int(p.outputs.core[0]), int(p.outputs.neuron[0])),
     lambda p: (p.outputs.index[0] + 1) % p.nodes[2].size, lambda at: neuron(at, output_row=0)),
    ("output-label", "is_relay", lambda p: (int(p.outputs.core[0]), int(p.outputs.neuron[0])), lambda p: True,
     lambda at: neuron(at, output_row=0)),
    ("output-label", "outputs.index", lambda p: (1,), lambda p: p.outputs.index[0], lambda at: Place(output_row=1)),
    ("unused-neuron", "crossbar", lambda p: (where_unused(p)[0], 0, where_unused(p)[1] // 8),
     lambda p: 1 << where_unused(p)[1] % 8, None),
    ("unused-neuron", "is_relay", where_unused, lambda p: True, neuron),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "path", "where", "what", "place"), BREAKS, ids=lambda v: v if type(v) is str else "")
def test_every_rule_broken_once_is_found(program, edited, rule, path, where, what, place):
    at = where(program)

    def change(array):
        array[at] = what(program)

    violations = check_program(edited(program, path, change))
    mine = [v for v in violations if v.rule == rule]
    expected = neuron(where_unused(program)) if place is None else place(at)
    assert expected in [v.place for v in mine]
    for v in violations:
        assert "\n" not in v.message
        assert v.rule in v.message
        assert str(v.place) in v.message
        assert v.bound in v.message


@pytest.mark.parametrize(
    ("table", "at", "place"),
    [
        ("stochastic_weight", (1, 0, 0), Place(core=1, neuron=0, axon_type=0)),
        ("stochastic_leak", (1, 0), Place(core=1, neuron=0)),
        ("noise_bits", (1, 0), Place(core=1, neuron=0)),
    ],
)
def test_stochastic_modes_need_a_chip_that_has_them(program, with_noise, table, at, place):
    noisy = with_noise(program)
    full = getattr(noisy.neurons, table)
    one = np.zeros_like(full)
    one[at] = 1
    for chip, marks, places in (
        (program.chip, one, [place]),
        (program.chip, np.zeros_like(full), []),
        (noisy.chip, full, []),
    ):
        neurons = dataclasses.replace(program.neurons, **{table: marks})
        found = check_program(dataclasses.replace(program, chip=chip, neurons=neurons), most=1)
        assert [v.place for v in found] == places
        assert [v.rule for v in found] == ["stochastic-mode"] * len(places)
        assert all(f"needs 0 (chip {chip.name} has no stochastic modes)" in v.message for v in found)


@pytest.mark.parametrize("bits", [9, 255])
def test_noise_masks_a_byte(program, with_noise, edited, bits):
    broken = edited(with_noise(program), "neurons.noise_bits", lambda a: a.__setitem__((1, 0), bits))
    found = check_program(broken)
    assert [(v.rule, v.place, v.found) for v in found] == [("noise-bits", Place(core=1, neuron=0), bits)]
    with pytest.raises(ProgramError, match=f"number of noise bits is {bits}; needs 0 to 8"):
        require_legal(broken, indices_only=True)


def test_signed_chips_bound_the_stored_negative_threshold(random_program, edited):
    program = next(
        p for p in map(random_program, range(99)) if p.chip.rules.signed_threshold and p.chip.threshold_bits < 30
    )
    low, high = program.chip.threshold_range
    for beta, legal in ((-low, True), (-high, True), (-low + 1, False), (-high - 1, False)):
        broken = edited(program, "neurons.negative_threshold", lambda a, beta=beta: a * 0 + beta)
        assert [v.rule for v in check_program(broken)][:1] == ([] if legal else ["threshold-range"])


def test_reset_and_potential_stay_between_the_rails(random_program, edited):
    program = next(p for p in map(random_program, range(99)) if p.chip.potential_bits < 30)
    low, high = program.chip.potential_range
    for path in ("neurons.reset", "neurons.potential"):
        for value, n in ((low, 0), (high, 0), (low - 1, 1), (high + 1, 1)):
            broken = check_program(edited(program, path, lambda a, value=value: a * 0 + value), most=1)
            assert [v.rule for v in broken] == ["potential-range"] * n


@pytest.mark.parametrize(("distance", "legal"), [((2, 1), True), ((3, 0), False), ((0, -2), False), ((-2, -1), True)])
def test_reach_is_measured_along_both_axes(program, edited, distance, legal):
    assert program.chip.reach == (2, 1)
    lonely = edited(program, "target_core", lambda a: a * 0 - 1)
    sending = edited(lonely, "target_core", lambda a: a.__setitem__((0, 0), 1))
    grid = dataclasses.replace(program.chip, cores=(90, 90), chips=(1, 1))
    places = np.array([(10 * c + 10, 10 * c + 10) for c in range(program.n_cores)], np.int32)
    places[1] = places[0] + distance
    moved = dataclasses.replace(sending, chip=grid, coordinates=places)
    found = [v for v in check_program(moved, mapped=False) if v.rule == "target-reach"]
    assert [v.place for v in found] == ([] if legal else [Place(core=0, neuron=0)])
    assert all(v.found == tuple(map(abs, distance)) for v in found)


@given(seed=seeds)
@settings(deadline=None, max_examples=40)
def test_axons_with_several_sources_are_all_found(random_program, seed):
    program = random_program(seed)
    sources = Counter(
        (int(c), int(a))
        for c, a in zip(
            np.concatenate([program.target_core[program.target_core >= 0], program.host.core]),
            np.concatenate([program.target_axon[program.target_core >= 0], program.host.axon]),
            strict=True,
        )
    )
    found = {
        (v.place.core, v.place.axon): v.found for v in check_program(program, mapped=True) if v.rule == "axon-source"
    }
    assert found == {place: n for place, n in sources.items() if n > 1}


def test_programs_by_hand_may_share_an_axon(random_program, edited):
    program = next(p for p in map(random_program, range(99)) if np.sum(p.target_core[0] >= 0) > 1)
    shared = edited(program, "target_axon", lambda a: a * 0)
    assert check_program(shared) == []
    named = dataclasses.replace(shared, execution="windowed")
    assert "axon-source" in {v.rule for v in check_program(named)}
    assert check_program(named, mapped=False) == []


@given(seed=seeds, bits=st.integers(4, 14), noise=st.booleans())
@settings(deadline=None, max_examples=40)
def test_potential_width_equals_brute_force(random_program, with_noise, seed, bits, noise):
    program = random_program(seed, mapped=True)
    if noise:
        program = with_noise(program, seed)
    stochastic, leaks = program.neurons.stochastic_weight, program.neurons.stochastic_leak
    chip = dataclasses.replace(program.chip, potential_bits=bits)
    program = dataclasses.replace(program, chip=chip)
    low, high = chip.potential_range
    expected = set()
    for c in range(program.n_cores):
        for n in range(chip.neurons):
            steps = [
                (int(program.neurons.weights[c, n, g]), noise and stochastic[c, n, g])
                for a, g in enumerate(program.axon_types[c])
                if program.crossbar[c, a, n // 8] >> (n % 8) & 1
            ] + [(int(program.neurons.leak[c, n]), noise and leaks[c, n])]
            weights = [max(-1, min(w, 1)) if by_chance else w for w, by_chance in steps]
            up, down = sum(w for w in weights if w > 0), sum(w for w in weights if w < 0)
            alpha, beta = int(program.neurons.threshold[c, n]), int(program.neurons.negative_threshold[c, n])
            kept = max(alpha - 1, 0)  # the most that is left from the tick before
            if program.neurons.reset_mode[c, n] == 1:
                kept = max(kept, up - 1)
            floor = min(-beta, 0) if program.neurons.saturate_negative[c, n] else 0
            if kept + up > high or floor + down < low:
                expected.add((c, n))
    found = {(v.place.core, v.place.neuron) for v in check_program(program) if v.rule == "potential-width"}
    assert found == expected


@given(seed=seeds, garbage=seeds)
@settings(deadline=None, max_examples=60)
def test_garbage_in_any_array_never_breaks_the_checker(random_program, edited, seed, garbage):
    rng = np.random.default_rng(garbage)
    program = random_program(seed, mapped=True)
    for path in rng.permutation([
        "coordinates", "axon_types", "target_core", "target_axon", "delay", "neuron_node", "neuron_index", "is_relay",
        "neurons.weights", "neurons.leak", "neurons.threshold", "neurons.negative_threshold", "neurons.reset",
        "neurons.reset_mode", "host.node", "host.index", "host.core", "host.axon", "host.arrival", "host.first_frame",
        "outputs.node", "outputs.index", "outputs.core", "outputs.neuron",
    ])[:8]:  # fmt: skip

        def change(array):
            if array.dtype == bool:
                return ~array
            bounds = np.iinfo(array.dtype)
            return rng.integers(bounds.min, bounds.max, array.shape, array.dtype, endpoint=True)

        program = edited(program, str(path), change)
    for violation in check_program(program, mapped=True, most=3):
        assert "\n" not in violation.message


def test_require_legal_names_the_first_and_counts_the_rest(program, edited):
    def change(array):
        array[0, 0], array[0, 1] = 3, 4

    with pytest.raises(ProgramError, match=r"core 0, neuron 0: reset mode is 3; .*; 1 more violation$") as caught:
        require_legal(edited(program, "neurons.reset_mode", change))
    assert program.name in str(caught.value)
    many = edited(program, "neurons.reset_mode", lambda a: a * 0 + 9)
    with pytest.raises(ProgramError, match=f"; {many.target_core.size - 1} more violations$"):
        require_legal(many)
    assert len(check_program(many, most=2)) == 2


def test_shapes_that_do_not_match_cannot_be_checked(program):
    with pytest.raises(ProgramError, match="tensor target_core: found shape"):
        check_program(dataclasses.replace(program, target_core=program.target_core[:, :-1]))


def test_two_rows_that_read_one_neuron_are_refused_by_engines_too(program):
    outputs = program.outputs
    core, neuron = outputs.core.copy(), outputs.neuron.copy()
    core[1], neuron[1] = core[0], neuron[0]
    twice = dataclasses.replace(program, outputs=dataclasses.replace(outputs, core=core, neuron=neuron))
    found = [v for v in check_program(twice, mapped=False) if v.rule == "output-row"]
    assert [(v.place, v.found) for v in found] == [(Place(output_row=0), 2), (Place(output_row=1), 2)]
    with pytest.raises(ProgramError, match="output row 0: number of rows that read its neuron is 2"):
        require_legal(twice, mapped=False, indices_only=True)


def test_executions_are_those_of_the_schedule():
    assert set(EXECUTIONS) == {"", *rollout_executions}
    assert (BEST, MAX_CHOSEN_PERIOD) == (ROLLOUT_BEST, MAX_PERIOD)


def test_labels_of_chosen_periods_are_those_of_a_rollout(program):
    def rules(execution, **changes):
        labelled = dataclasses.replace(program, execution=execution, **changes)
        return [(violation.rule, violation.found) for violation in check_program(labelled)]

    least = program.ticks_per_step
    assert rules("pipelined:1") == []
    assert rules("pipelined:1000000") == [("frame-period", program.period)]
    assert rules("pipelined:7", period=7 * least - 1)[0] == ("frame-period", 7 * least - 1)
    assert "frame-period" not in dict(rules("pipelined:7", period=7 * least))
    with pytest.raises(
        ProgramError, match=f": frame period in ticks is 1; needs {9 * least} ticks or more for pipelined:9"
    ):
        require_legal(dataclasses.replace(program, execution="pipelined:9", period=1))
    for label in ("pipelined:1000001", "pipelined:9999999", "pipelined:0", "pipelined:"):
        with pytest.raises(ProgramError, match="execution: found"):
            check_program(dataclasses.replace(program, execution=label))


def test_the_documentation_lists_every_rule():
    page = Path(__file__).resolve().parents[3] / "docs" / "program-file.md"
    package = Path(nm.__file__).parent
    files = [package / "hardware" / "checker.py", *(package / "cores").glob("*/rules.py")]
    sources = "".join(path.read_text() for path in files)
    rules = set(re.findall(r'"([a-z]+(?:-[a-z]+)+)"', sources))
    assert {rule for rule, *_ in BREAKS} <= rules
    assert rules == set(re.findall(r"^\| `([a-z-]+)` \|", page.read_text().split("## Rules")[1], re.M))


def test_a_full_truenorth_chip_is_checked_in_seconds(random_program):
    chip = nm.load_chip("truenorth")
    small = random_program(0)
    n_cores = chip.n_cores
    shape = (n_cores, 256)
    rng = np.random.default_rng(0)
    neurons = dataclasses.replace(
        small.neurons,
        weights=np.ones((*shape, 4), np.int16),
        **{
            field: np.zeros(shape, table.dtype)
            for field, table in vars(small.neurons).items()
            if field != "weights" and table is not None
        },
    )
    axis = np.arange(256)
    program = dataclasses.replace(
        small,
        chip=chip,
        nodes=tuple(dataclasses.replace(port, sample_tick=0) for port in small.nodes),
        period=1,
        coordinates=np.stack(np.divmod(np.arange(n_cores), 64), axis=1).astype(np.int32),
        axon_types=rng.integers(0, 4, shape).astype(np.uint8),
        crossbar=rng.integers(0, 256, (n_cores, 256, 32)).astype(np.uint8),
        neurons=neurons,
        target_core=np.tile(rng.permutation(n_cores)[:, None], (1, 256)).astype(np.int32),
        target_axon=np.tile(axis, (n_cores, 1)).astype(np.int32),
        delay=np.ones(shape, np.uint8),
        neuron_node=np.ones(shape, np.int32),
        neuron_index=np.zeros(shape, np.int32),
        is_relay=np.zeros(shape, bool),
        host=dataclasses.replace(small.host, **{k: v[:0] for k, v in vars(small.host).items() if v is not None}),
        outputs=dataclasses.replace(small.outputs, **{k: v[:0] for k, v in vars(small.outputs).items()}),
        execution="windowed",
    )
    start = time.process_time()
    assert check_program(program) == []
    assert time.process_time() - start < 60  # about 4 s
