"""What is of the wrong type is named in one line, with what would do, at every public door."""

import inspect
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap import explorer, hardware, mapping, network, report, rollout, simulation, verification
from neuromap.errors import InputError
from neuromap.files.argument_checks import real_number, whole_number, yes_or_no
from neuromap.mapping import MappingOptions, Pins
from neuromap.mapping.options.pins_file import save_tables

NET = nm.build_network({"I": (2, None), "O": (2, 1)}, {("I", "O"): np.ones((2, 2), int)})
ROLLOUT = nm.Rollout(NET, "streaming")
FRAMES = nm.random_frames(NET, 3)


@pytest.fixture(scope="module")
def program():
    return nm.map_rollout(ROLLOUT)


def test_a_network_is_no_rollout_and_the_line_says_how_it_becomes_one(program):
    with pytest.raises(InputError) as caught:
        nm.map_rollout(NET)
    assert str(caught.value) == "map_rollout: needs a Rollout, got a Network; Rollout(network, 'streaming')"
    with pytest.raises(InputError) as caught:
        nm.simulate(ROLLOUT, FRAMES)
    assert str(caught.value) == "simulate: needs a Program, got a Rollout; map_rollout(rollout)"
    with pytest.raises(InputError) as caught:
        nm.verify(program, ROLLOUT)
    assert str(caught.value) == "verify: needs a Rollout first, got a Program; swap them: verify(rollout, program)"


def test_what_is_not_quite_right_is_told_with_what_would_do(program, tmp_path):
    network_file, model = tmp_path / "net.toml", tmp_path / "model.onnx"
    NET.save(network_file)
    model.write_bytes(b"\x08\x08\x12\x07pytorch\x1a\x052.1.0:" + bytes(100))
    ones = np.ones((3, 2))
    lines = {
        "swap them: reference(rollout, frames)": lambda: nm.reference(FRAMES, ROLLOUT),
        "swap them: simulate(program, frames)": lambda: nm.simulate(FRAMES, program),
        "swap them: simulate_batch(program, stimuli)": lambda: nm.simulate_batch(FRAMES, program),
        "neuromap.simulation.load_frames('a.npz')": lambda: nm.simulate(program, "a.npz"),
        'name its input node: {"I": array}': lambda: nm.simulate(program, ones),
        'found an array; name its input node: {"I": array}': lambda: nm.simulate_batch(program, ones),
        "(2, 3); must be (n_frames, 2) or": lambda: nm.simulate(program, {"I": ones.T}),
        "give its transpose, array.T": lambda: nm.simulate(program, {"I": ones.T}),
        "dtype float64; must be bool, or integer with values 0 and 1; give array.astype(bool)": lambda: nm.simulate(
            program, {"I": ones}
        ),
        "give spikes, such as array > 0.5": lambda: nm.simulate(program, {"I": ones / 2}),
        "is not a program file but a network file": lambda: nm.load_program(network_file),
        "is a network file, not a file of frames": lambda: simulation.load_frames(network_file),
        "is an ONNX model, not a file of frames": lambda: nm.verify(ROLLOUT, program, model),
        "node: found the name 'O O'; allowed are names": lambda: nm.build_network(
            {"I": (2, None), "O O": (2, 1)}, {("I", "O O"): np.ones((2, 2), int)}
        ),
        "node: found the name 1;": lambda: nm.build_network({1: (2, None)}, {("I", "O"): [[1]]}),
    }
    for line, call in lines.items():
        with pytest.raises(InputError) as caught:
            call()
        assert line in str(caught.value)
        assert "\n" not in str(caught.value)


def doors():
    """Calls that each give one thing that is of no use there, by the function."""
    for thing in (None, 3, "text", ROLLOUT, {}):
        is_network_like = isinstance(thing, nm.Rollout)
        yield from (
            lambda p, t=thing: nm.simulate(t, FRAMES),
            lambda p, t=thing: nm.simulate_batch(t, FRAMES),
            lambda p, t=thing: nm.simulate_to_file("never.h5", t, FRAMES),
            lambda p, t=thing: nm.measure_activity(t, FRAMES),
            lambda p, t=thing: nm.check_program(t),
            lambda p, t=thing: nm.verify(ROLLOUT, t),
            lambda p, t=thing: verification.measure(t),
            lambda p, t=thing: report.report_on_program(ROLLOUT, t),
            lambda p, t=thing: nm.latency_report(t),
            lambda p, t=thing: nm.explore(t),
            lambda p, t=thing: nm.Rollout(t, "streaming"),
            lambda p, t=thing: nm.RolloutPattern(t, (1,)),
            lambda p, t=thing: nm.RolloutPattern.streaming(t),
            lambda p, t=thing: rollout.count_valid_patterns(t),
            lambda p, t=thing: rollout.behaviour_classes(t),
            lambda p, t=thing: rollout.check_theorem1(t),
            lambda p, t=thing: rollout.equivalent(t, t),
            lambda p, t=thing: rollout.maximum_cycle_ratio(t),
            lambda p, t=thing: rollout.RolloutWindow(t, 1),
            lambda p, t=thing: network.require_weights(t),
        )
        if not is_network_like:
            yield from (
                lambda p, t=thing: nm.map_rollout(t),
                lambda p, t=thing: mapping.dry_run(t),
                lambda p, t=thing: nm.reference(t, FRAMES),
                lambda p, t=thing: nm.verify(t, p),
            )
        if not isinstance(thing, str):
            yield from (
                lambda p, t=thing: nm.load_network(t),
                lambda p, t=thing: nm.load_program(t),
                lambda p, t=thing: nm.load_trace(t),
                lambda p, t=thing: nm.load_chip(t),
                lambda p, t=thing: simulation.load_frames(t),
                lambda p, t=thing: mapping.load_pins(t),
                lambda p, t=thing: hardware.load_defects(t),
                lambda p, t=thing: p.save(t),
                lambda p, t=thing: nm.simulate(p, FRAMES, engine="numpy").save(t),
                lambda p, t=thing: nm.latency_report(NET).save(t),
                lambda p, t=thing: simulation.save_frames(t, FRAMES),
                lambda p, t=thing: save_tables(t, {}),
                lambda p, t=thing: report.save_figures(None, t),
            )
        if thing is not None:
            yield from (
                lambda p, t=thing: nm.map_rollout(ROLLOUT, options=t),
                lambda p, t=thing: nm.latency_report(NET, options=t),
                lambda p, t=thing: nm.simulate(p, FRAMES, record=t),
                lambda p, t=thing: nm.simulate_batch(p, FRAMES, record=t),
                lambda p, t=thing: nm.explore(NET, limits=t),
            )


def test_every_door_refuses_in_one_line(program):
    for call in doors():
        with pytest.raises(InputError) as caught:
            call(program)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MappingOptions(seed="1"), "seed = '1': must be a whole number, not a str"),
        (lambda: MappingOptions(seed=1.5), "seed = 1.5: must be a whole number, not a float"),
        (lambda: MappingOptions(seed=True), "seed = True: must be a whole number, not a bool"),
        (lambda: MappingOptions(pins={}), "pins: needs a Pins, got a dict; Pins(cores={'H1': 4})"),
        (lambda: MappingOptions(packing="no"), "packing = 'no': must be True or False, not a str"),
        (lambda: MappingOptions(seconds=True), "seconds = True: must be a number, not a bool"),
        (lambda: MappingOptions(ticks_per_step=2.0), "ticks_per_step = 2.0: must be a whole number, not a float"),
        (lambda: nm.map_rollout(ROLLOUT, sed=1), "did you mean 'seed'?"),
        (lambda: Pins(tiles={"A": 3}), "pins: tiles.A: found 3; allowed are 3 whole numbers"),
        (lambda: Pins(cores={"A": 1.5}), "pins: cores.A = 1.5: must be a whole number, not a float"),
        (lambda: Pins(splitters=["ab"]), "pins: splitters: found ['ab']; allowed are edges"),
        (lambda: nm.Recording(counts="no"), "recording: counts = 'no': must be True or False, not a str"),
        (lambda: nm.Recording(b"outputs"), "recording: spikes = b'outputs': must be words"),
        (lambda: nm.Recording(spikes=3), "recording: spikes = 3: must be words"),
        (lambda: explorer.Limits(cores="9"), "limit on cores = '9': must be a number, not a str"),
        (lambda: nm.random_frames(NET, 3.5), "frames: n_frames = 3.5: must be a whole number, not a float"),
        (lambda: nm.random_frames(NET, 3, seed="1"), "frames: seed = '1': must be a whole number, not a str"),
        (lambda: nm.explore(NET, processes="2"), "processes = '2': must be a whole number, not a str"),
        (lambda: nm.explore(NET, most_mapped=1.5), "most_mapped = 1.5: must be a whole number, not a float"),
        (lambda: nm.explore(NET, "truenorth", chip="truenorth"), "explore: both chips and chip are given"),
        (lambda: nm.Network.from_edges(["ab"]), "edge 'ab': is not a pair (source, target)"),
    ],
)
def test_options_of_the_wrong_type_are_no_options(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    options = MappingOptions(seed=np.int64(3), packing=np.bool_(False), ticks_per_step=np.uint8(2))
    assert (options.seed, options.packing, options.ticks_per_step) == (3, False, 2)
    assert type(options.seed) is int
    assert whole_number("n", np.uint64(2**63)) == 2**63
    assert real_number("x", Fraction(1, 2)) == 0.5
    assert yes_or_no("y", np.True_) is True


def test_explore_takes_a_chip_as_other_functions_do():
    by_chip, by_chips = nm.explore(NET, chip="ranc", n_frames=3), nm.explore(NET, ["ranc"], n_frames=3)
    assert by_chip.to_json() == by_chips.to_json()
    assert [chip.name for chip in by_chip.chips] == ["ranc"]


ROOMS = [nm, *filter(inspect.ismodule, (getattr(nm, name) for name in dir(nm))), nm.formats.ranc]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_a_room_lists_its_public_names_and_nothing_else(room):
    assert sorted(dir(room)) == sorted(set(room.__all__) - {"__version__"})
    assert all(hasattr(room, name) for name in room.__all__)


def test_what_a_first_script_takes_is_at_the_top():
    assert {"Conv", "Dense", "Identity", "MappingOptions", "Pool", "build_network", "random_frames"} <= set(dir(nm))
    assert nm.Conv is network.Conv
    assert Path(nm.__file__).exists()
