import copy
import dataclasses
import re
import tomllib
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import ChipError, NotSupportedError
from neuromap.hardware.chip.chip_document import (
    ENERGY_KEYS,
    ENERGY_TERM_KEYS,
    ROUTER_KEYS,
    TIMING_KEYS,
    chip_document,
    chip_from_document,
)
from neuromap.hardware.chip.chip_spec import NeuronRules
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.hardware.program_file import load_program

TINY = """
format = 1
name = "tiny"
[grid]
cores = [8, 4]
chips = [1, 2]
[core]
axons = 64
neurons = 32
axon_types = 4
weight_bits = 9
leak_bits = 8
threshold_bits = 18
potential_bits = 20
targets_per_neuron = 1
[time]
tick_seconds = 1e-3
delay = [2, 15]
"""
MODELS = [f for f in resources.files("hardware_models").iterdir() if f.name.endswith(".toml")]


def tiny(**changes):
    """Tables of the tiny chip with values set by key path; ``...`` removes a key."""
    document = copy.deepcopy(tomllib.loads(TINY))
    for path, value in changes.items():
        table, _, key = path.rpartition("__")
        owner = document.setdefault(table, {}) if table else document
        if value is ...:
            del owner[key]
        else:
            owner[key] = value
    return document


def test_the_format_of_the_issue(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TINY)
    for given_as in (path, str(path)):
        chip = nm.load_chip(given_as)
        assert (chip.name, chip.cores, chip.chips) == ("tiny", (8, 4), (1, 2))
        assert (chip.columns, chip.rows, chip.n_cores) == (8, 8, 64)
        assert (chip.axons, chip.neurons, chip.axon_types) == (64, 32, 4)
        assert (chip.weight_bits, chip.leak_bits, chip.threshold_bits, chip.potential_bits) == (9, 8, 18, 20)
        assert (chip.delay, chip.tick_seconds, chip.targets_per_neuron) == ((2, 15), 1e-3, 1)
        assert chip.reach is None
        assert dict(chip.router) == dict(chip.energy) == {}
        assert chip.rules == NeuronRules()


def test_truenorth_has_its_published_figures():
    chip = nm.load_chip("truenorth")
    assert chip.n_cores == 4096
    assert (chip.axons, chip.neurons, chip.axon_types) == (256, 256, 4)
    assert chip.weight_range == chip.leak_range == (-255, 255)
    assert chip.threshold_range == (0, 2**18 - 1)
    assert chip.potential_range == (-(2**19), 2**19 - 1)
    assert (chip.delay, chip.tick_seconds, chip.reach) == ((1, 15), 1e-3, (255, 255))
    assert (chip.rules.overflow, chip.rules.negative_comparison) == ("saturate", "<")
    assert chip.rules.stochastic
    # nobody has published these
    assert "hop_seconds" not in chip.router
    assert "neuron_update_joules" not in chip.energy
    assert dict(chip.timing) == {}
    assert chip.energy_included == nm.load_chip("truenorth_ns16e").energy_included == ("hop_joules",)
    board = nm.load_chip("truenorth_ns16e")
    assert board.n_cores == 16 * 4096
    assert board.rules == chip.rules


def test_ranc_wraps_and_has_signed_thresholds():
    chip = nm.load_chip("ranc")
    assert chip.weight_range == chip.threshold_range == chip.potential_range == (-256, 255)
    assert (chip.rules.overflow, chip.rules.number_format) == ("wrap", "twos_complement")
    assert not chip.rules.stochastic


@pytest.mark.parametrize("model", MODELS, ids=lambda f: f.name)
def test_packaged_figures_name_their_evidence(model):
    document = tomllib.loads(model.read_text())
    assert f"{document['name']}.toml" == model.name
    figures = [line for line in model.read_text().split("[grid]")[1].splitlines() if re.match(r"\w+ =", line)]
    assert len(figures) > 15
    for line in figures:
        assert re.search(r"# [PCRDS]( |$)", line), line


def test_list_holds_every_packaged_chip_by_name():
    chips = nm.list_chips()
    assert [c.name for c in chips] == sorted(f.name.removesuffix(".toml") for f in MODELS)
    assert all(nm.load_chip(c.name) == c and nm.load_chip(c) is c for c in chips)


@given(seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=50)
def test_document_round_trip(random_chip, seed):
    chip = random_chip(seed)
    assert chip_from_document(chip_document(chip), "test") == chip
    noisy = dataclasses.replace(chip, rules=dataclasses.replace(chip.rules, stochastic=True))
    assert chip_from_document(chip_document(noisy), "test") == noisy != chip


@pytest.mark.parametrize("timed", [False, True])
def test_optional_tables(timed):
    document = tiny(
        grid__chips=..., core__targets_per_neuron=..., grid__reach=[3, 0], description="two\nlines", source="me",
        neuron__overflow="wrap", neuron__negative_comparison="<=", neuron__signed_threshold=True,
        neuron__number_format="twos_complement",
    )  # fmt: skip
    # hops are of one kind, or told apart by their way; some events are counted only where ticks are timed
    router = [
        key for key in ROUTER_KEYS if key not in (("hop_seconds",) if timed else ("hop_x_seconds", "hop_y_seconds"))
    ]
    of_timed = ("neuron_access_joules", "fire_joules", "arrival_joules", "hop_x_joules", "hop_y_joules")
    energy = [key for key in ENERGY_KEYS if key not in (("hop_joules",) if timed else of_timed)]
    document["router"] = dict.fromkeys(router, 1) | dict.fromkeys(
        (key for key in router if key.startswith("hop_")), 1e-4
    )
    included = [key for key in energy if key in ENERGY_TERM_KEYS]
    document["energy"] = {**dict.fromkeys(energy, 2.5), "included": included}
    document["time"] |= dict.fromkeys(TIMING_KEYS, 3e-9)
    document["time"] |= {"ticks": "timed", "barrier_seconds": [[1, 1e-6], [3, 2e-6]]} if timed else {}
    chip = chip_from_document(document, "test")
    assert (chip.chips, chip.targets_per_neuron, chip.reach) == ((1, 1), 1, (3, 0))
    assert chip.rules.signed_threshold
    assert (chip.rules.overflow, chip.rules.negative_comparison) == ("wrap", "<=")
    assert set(chip.router) == set(router)
    assert (chip.is_timed, chip.barrier_seconds) == (timed, ((1, 1e-6), (3, 2e-6)) if timed else ())
    assert set(chip.energy.values()) == {2.5}
    assert chip.energy_included == tuple(included)
    assert dict(chip.timing) == dict.fromkeys(TIMING_KEYS, 3e-9)
    assert chip_document(chip)["time"] == document["time"]
    assert chip_document(chip)["energy"] == document["energy"]
    assert chip_from_document(chip_document(chip), "test") == chip


def test_what_is_included_needs_no_figure_of_its_own():
    chip = chip_from_document(tiny(energy__included=["spike_joules"]), "test")
    assert dict(chip.energy) == {}
    assert chip_from_document(chip_document(chip), "test") == chip


def test_a_saved_program_carries_timing_and_what_is_included(random_program, tmp_path):
    program = random_program(0)
    bare = dataclasses.replace(program.chip, timing={}, energy_included=())
    chip = dataclasses.replace(bare, timing={"synaptic_event_seconds": 1e-9}, energy_included=("hop_joules",))
    path = tmp_path / "p.nmp"
    dataclasses.replace(program, chip=chip).save(path)
    assert load_program(path).chip == chip
    without = program_bytes(dataclasses.replace(program, chip=bare))
    assert b"included" not in without
    assert b"synaptic_event_seconds" not in without


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, ["format: found 2; allowed is 1", "format = 1"]),
        ({"format": True}, ["format: found True"]),
        ({"format": ...}, ["format: missing"]),
        ({"name": ...}, ["name: missing"]),
        ({"name": ""}, ["name: found ''", "1 to 100 characters"]),
        ({"name": "two\nlines"}, ["name: found", "one line"]),
        ({"name": 3}, ["name: found 3; allowed is a text"]),
        ({"description": 3}, ["description: found 3"]),
        ({"grids": {}}, ["grids: unknown key; allowed are format, ", "did you mean 'grid'?"]),
        ({"grid__core": [1, 1]}, ["grid.core: unknown key; allowed are cores, chips, tile, reach; ", "mean 'cores'?"]),
        ({"core__weight_bit": 9}, ["core.weight_bit: unknown key; ", "; did you mean 'weight_bits'?"]),
        ({"energy__joules": 1}, ["energy.joules: unknown key"]),
        ({"router__hop_second": 1}, ["router.hop_second", "did you mean 'hop_seconds'?"]),
        ({"grid": 3}, ["grid: found 3; allowed is a table"]),
        ({"core": ...}, ["core.axons: missing; allowed are integers from 1 to 65536"]),
        ({"grid__cores": ...}, ["grid.cores: missing", "two integers"]),
        ({"grid__cores": [8]}, ["grid.cores: found [8]", "two integers"]),
        ({"grid__cores": [8, 8, 8]}, ["grid.cores: found [8, 8, 8]"]),
        ({"grid__cores": [8, 0]}, ["grid.cores: found [8, 0]"]),
        ({"grid__cores": [8, 1.5]}, ["grid.cores: found [8, 1.5]"]),
        ({"grid__cores": [True, True]}, ["grid.cores: found [True, True]"]),
        ({"grid__cores": [10**9, 1]}, ["grid.cores: found [1000000000, 1]"]),
        ({"grid__cores": [2048, 2048]}, ["grid: 8388608 cores", "4194304"]),
        ({"grid__reach": [-1, 0]}, ["grid.reach: found [-1, 0]"]),
        ({"core__axons": 0}, ["core.axons: found 0", "1 to 65536"]),
        ({"core__neurons": 10**9}, ["core.neurons: found 1000000000"]),
        ({"core__axons": 65536, "core__neurons": 65536}, ["core: 65536 axons x 65536 neurons"]),
        ({"core__axon_types": 257}, ["core.axon_types: found 257", "1 to 256"]),
        ({"core__weight_bits": 17}, ["core.weight_bits: found 17", "2 to 16"]),
        ({"core__leak_bits": 1}, ["core.leak_bits: found 1", "2 to 16"]),
        ({"core__threshold_bits": 32}, ["core.threshold_bits: found 32", "1 to 31"]),
        ({"core__potential_bits": 33}, ["core.potential_bits: found 33", "2 to 32"]),
        ({"core__axons": "256"}, ["core.axons: found '256'; allowed are integers"]),
        ({"core__axons": 16**5000}, ["core.axons: found a huge int"]),
        ({"core__targets_per_neuron": 0}, ["core.targets_per_neuron: found 0"]),
        ({"core__threshold_bits": 1, "neuron__signed_threshold": True}, ["threshold_bits: found 1", "signed"]),
        ({"time__tick_seconds": 0}, ["time.tick_seconds: found 0"]),
        ({"time__tick_seconds": float("nan")}, ["time.tick_seconds: found nan"]),
        ({"time__tick_seconds": float("inf")}, ["time.tick_seconds: found inf"]),
        ({"time__tick_seconds": "1 ms"}, ["time.tick_seconds: found '1 ms'"]),
        ({"time__tick_seconds": True}, ["time.tick_seconds: found True"]),
        ({"time__delay": [0, 15]}, ["time.delay: found [0, 15]"]),
        ({"time__delay": [1, 256]}, ["time.delay: found [1, 256]"]),
        ({"time__delay": [5, 4]}, ["time.delay: found [5, 4]", "least delay first"]),
        ({"neuron__overflow": "wraps"}, ["neuron.overflow: found 'wraps'", "did you mean 'wrap'?"]),
        ({"neuron__negative_comparison": ">"}, ["neuron.negative_comparison: found '>'"]),
        ({"neuron__signed_threshold": 1}, ["neuron.signed_threshold: found 1", "true or false"]),
        ({"neuron__stochastic": "yes"}, ["neuron.stochastic: found 'yes'", "true or false"]),
        ({"time__synaptic_event_seconds": -1e-9}, ["time.synaptic_event_seconds: found -1e-09", "0 to 1e+30"]),
        ({"time__neuron_update_seconds": "1 ns"}, ["time.neuron_update_seconds: found '1 ns'"]),
        ({"time__neuron_seconds": 1}, ["time.neuron_seconds: unknown key", "did you mean 'neuron_update_seconds'?"]),
        ({"energy__included": "hop_joules"}, ["energy.included: found 'hop_joules'; allowed is a list of texts"]),
        ({"energy__included": [1]}, ["energy.included: found [1]; allowed is a list"]),
        ({"energy__included": ["hop_joule"]}, ["energy.included: found 'hop_joule'", "did you mean 'hop_joules'?"]),
        ({"energy__included": ["supply_volts"]}, ["energy.included: found 'supply_volts'; allowed are "]),
        ({"energy": {"hop_x_joules": 1, "hop_y_joules": 1, "included": ["hop_joules"]}},
         ["energy.hop_x_joules: needs hop_x_joules and hop_y_joules, and no hop_joules beside them, nor in included"]),
        ({"energy__included": ["hop_x_joules", "hop_y_joules"]}, ["energy.hop_x_joules: needs hop_x_joules and"]),
        ({"energy__included": ["fire_joules"]}, ["energy.fire_joules: is counted where ticks are timed"]),
        ({"energy__included": ["spike_joules"] * 2}, ["energy.included: spike_joules is named twice"]),
        ({"energy__hop_joules": -1}, ["energy.hop_joules: found -1"]),
        ({"router__hop_seconds": 10**400}, ["router.hop_seconds: found 1000"]),
        ({"router__link_spikes_per_second": 0}, ["router.link_spikes_per_second: found 0", "from 1e-30 to 1e+30"]),
        ({"router__link_spikes_per_second": 5e-324}, ["link_spikes_per_second: found 5e-324", "from 1e-30 to 1e+30"]),
        ({"router__boundary_spikes_per_second": 1e-300}, ["boundary_spikes_per_second: found 1e-300", "1e-30 to"]),
        ({"router__boundary_bits_per_second": 0.0}, ["router.boundary_bits_per_second: found 0.0", "from 1e-30"]),
        ({"router": {"link_spikes_per_second": 1e30, "hop_seconds": 1e30}},
         ["router.hop_seconds: found 1e+30 with link_spikes_per_second = 1e+30", "1e+60 router cycles", "2147483648"]),
        ({"router": {"link_spikes_per_second": 1e9, "hop_seconds": 0, "boundary_seconds": 2.2}},
         ["router.boundary_seconds: found 2.2", "2.2e+09 router cycles"]),
        ({"router": {"link_spikes_per_second": 1e9, "hop_seconds": 0, "boundary_spikes_per_second": 0.1}},
         ["router.boundary_spikes_per_second: found 0.1", "1e+10 router cycles"]),
    ],
)  # fmt: skip
def test_every_fault_names_key_value_and_bound(changes, words):
    with pytest.raises(ChipError) as caught:
        chip_from_document(tiny(**changes), "mine.toml")
    message = str(caught.value)
    assert message.startswith("mine.toml: ")
    assert "\n" not in message
    assert len(message) < 400
    for word in words:
        assert word in message


def test_several_targets_are_not_supported_yet():
    with pytest.raises(NotSupportedError, match="targets_per_neuron: found 2"):
        chip_from_document(tiny(core__targets_per_neuron=2), "test")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"format = 1\nname = ]", "line 2, column 8: is not TOML"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"a = " + b"[" * 100_000, "nested too deep"),
        (b"a = " + b"9" * 10_000, "too many digits"),
        (b"#" * (2**20 + 1), "is larger than 1 MiB; expected a chip file"),
        (b"", "format: missing; allowed is 1"),
        (b'format = 1\n"two\\nlines" = 1', "unknown key"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_files_that_are_no_chip_files(tmp_path, content, words):
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    with pytest.raises(ChipError, match=words) as caught:
        nm.load_chip(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("truenort", ["did you mean 'truenorth'?", "ranc"]),
        ("TrueNorth", ["did you mean 'truenorth'?"]),
        ("", ["not known"]),
        ("no/such.toml", ["does not exist"]),
        ("nosuch.toml", ["does not exist"]),
        ("a\0b.toml", ["is not a path"]),
        (Path("truenorth"), ["does not exist"]),
        ("../", ["is a folder; expected a chip file"]),
    ],
)
def test_unknown_chips(name, words):
    with pytest.raises(ChipError) as caught:
        nm.load_chip(name)
    assert all(word in str(caught.value) for word in words)


def test_a_file_without_suffix_needs_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mychip").write_text(TINY)
    with pytest.raises(ChipError, match=r"\./mychip"):
        nm.load_chip("mychip")
    assert nm.load_chip("./mychip").name == "tiny"


def test_chips_made_in_python_are_checked_too():
    chip = nm.load_chip("truenorth")
    with pytest.raises(ChipError, match=r"core\.weight_bits: found 40"):
        nm.load_chip(dataclasses.replace(chip, weight_bits=40))


@given(
    st.fixed_dictionaries({}, optional=dict.fromkeys(ROUTER_KEYS, st.floats(0, 1e30, allow_subnormal=True))),
)
@settings(deadline=None, max_examples=300)
def test_what_is_loaded_makes_a_clock_and_finite_quotients(router):
    """Whatever figures are taken, each for itself and together, can be counted with."""
    from neuromap.simulation.cost.energy import bits_off_chip
    from neuromap.simulation.noc.traffic import RouterClock

    try:
        chip = chip_from_document(tiny(router=router), "mine.toml")
    except ChipError:
        return
    clock = RouterClock.of(chip)
    assert (clock.cycle_seconds is None) == (not {"link_spikes_per_second", "hop_seconds"} <= set(router))
    assert clock.cycle_seconds is None or 0 < clock.cycle_seconds < float("inf")
    bits = bits_off_chip(chip)
    assert bits is None or bits < float("inf")
