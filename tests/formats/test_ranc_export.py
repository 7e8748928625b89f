"""Programs written for RANC: files read back run alike, and RANC's own simulator prints what is expected."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped_runs import mapped_runs

import neuromap as nm
from neuromap.errors import NotSupportedError, ProgramError, StimulusError
from neuromap.exchange.to_ranc import export_ranc, export_ranc_vectors
from neuromap.files.whole_file import write_folder
from neuromap.formats.ranc import ranc_config, ranc_image, ranc_input, ranc_vectors, read_json, read_vectors
from neuromap.formats.ranc.image import potential_reach
from neuromap.hardware.chip.chip_file import with_figures
from neuromap.hardware.program.ports import OutputTable
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.network.weights import StoredWeights
from neuromap.simulation.run.simulate import run_events

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("NEUROMAP_DATA", ROOT / ".." / "shared" / "data")) / "ranc"
RANC = os.environ.get("NEUROMAP_RANC_SIM", "")
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}: set NEUROMAP_DATA to the shared data")
needs_ranc = pytest.mark.skipif(
    not RANC, reason="set NEUROMAP_RANC_SIM to RANC's simulator (benchmarks/peers/install.sh ranc: ranc/ranc_sim)"
)
SMALL = with_figures(
    nm.load_chip("truenorth"), {"grid.cores": [8, 8], "core.axons": 32, "core.neurons": 32, "time.delay": [1, 7]}
)


def read_back(folder, contents):
    write_folder(folder, contents)
    return read_json(folder / "config.json", folder / "input.json")


def printed(contents):
    """What RANC prints: the outputs of every line but the first."""
    lines = contents["expected.txt"].removeprefix("\ufeff").splitlines()
    assert set(lines[0].split()) == {"0"}
    return [np.flatnonzero(np.array(line.split(), int)).tolist() for line in lines[1:]]


@given(run=mapped_runs(SMALL, lengths=(1, 2, 9), largest=5))
@settings(deadline=None, max_examples=24)
def test_a_mapped_program_comes_back_and_runs_alike(run, tmp_path_factory):
    program, frames = run
    found = export_ranc(program, frames=frames)
    case = read_back(tmp_path_factory.mktemp("ranc"), found.contents)
    n_ticks = found.figures["ticks to run"] - 1
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, n_ticks, engine="numpy")
    trace = nm.simulate(program, frames, engine="numpy")
    expected = [trace.index[trace.tick == tick].tolist() for tick in range(n_ticks)]
    assert [outputs.tolist() for outputs in case.output_axons(*spikes, n_ticks)] == [sorted(e) for e in expected]
    assert printed(found.contents) == [sorted(e) for e in expected]
    assert not found.approximated


@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_any_neuron_that_ranc_has_comes_back_and_fires_alike(seed, tmp_path_factory, cases_by_hand):
    """Linear resets, potentials before the first tick, targets without a core: every spike of every neuron."""
    case = cases_by_hand(seed)
    program = case.program
    image = ranc_image(program, case.ticks, case.cores, case.axons)
    again = read_back(
        tmp_path_factory.mktemp("ranc"), {"config.json": ranc_config(image), "input.json": ranc_input(image)}
    )
    ours, theirs = (
        np.stack(run_events(c.program, c.ticks, c.cores, c.axons, 12, engine="numpy")).tolist() for c in (case, again)
    )
    assert ours == theirs
    assert again.program.outputs.index.tolist() == program.outputs.index.tolist()


@pytest.fixture(scope="module")
def cases_by_hand(tmp_path_factory):
    """Programs that no mapper made: of JSON in RANC's form, with some targets taken away."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("test_ranc", Path(__file__).with_name("test_ranc.py"))
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    folder = tmp_path_factory.mktemp("hand")

    def make(seed):
        rng = np.random.default_rng(seed)
        config = theirs.CONFIG | {"neuron_reset_type": int(rng.integers(2))}
        case = read_json(*theirs.write(folder, config, theirs.ranc_input(rng)))
        kept = (case.program.target_core >= 0) & (rng.random(case.program.shape) < 0.7)
        program = replace(
            case.program,
            target_core=np.where(kept, case.program.target_core, -1).astype(np.int32),
            target_axon=np.where(kept, case.program.target_axon, 0).astype(np.int32),
            delay=np.where(kept, case.program.delay, 0).astype(np.uint8),
        )
        return replace(case, program=program)

    return make


@needs_data
@pytest.mark.parametrize(("name", "columns", "bus", "shift"), [("128", 8, (0, 3), 2), ("256", 4, (0, 2), 1)])
def test_known_answers_come_back_word_by_word(name, columns, bus, shift, tmp_path):
    case = read_vectors(DATA / name, columns=columns, output_bus=bus)
    image = ranc_image(case.program, case.ticks, case.cores, case.axons)
    for file, text in ranc_vectors(image, case.expected).items():
        assert text.split() == (DATA / name / file).read_text().split(), file
    again = read_back(tmp_path, {"config.json": ranc_config(image), "input.json": ranc_input(image)})
    n_ticks = 10 + shift
    spikes = run_events(again.program, again.ticks, again.cores, again.axons, n_ticks, engine="numpy")
    outputs = again.output_axons(*spikes, n_ticks)
    assert [o.tolist() for o in outputs[shift:]] == [e.tolist() for e in case.expected]


@given(run=mapped_runs(SMALL, lengths=(1, 2), largest=5))
@settings(deadline=None, max_examples=6)
def test_vectors_of_a_mapped_program_come_back(run, tmp_path_factory):
    program, frames = run
    found = export_ranc_vectors(program, frames=frames)
    folder = tmp_path_factory.mktemp("vectors")
    write_folder(folder, found.contents)
    columns = int(found.figures["grid (columns x rows of cores)"].split(" x ")[0])
    bus = tuple(map(int, found.figures["output bus (x, y)"].strip("()").split(",")))
    case = read_vectors(folder, columns=columns, output_bus=bus)
    n_ticks = found.figures["ticks"]
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, n_ticks, engine="numpy")
    outputs = [o.tolist() for o in case.output_axons(*spikes, n_ticks)]
    assert outputs == [e.tolist() for e in case.expected] == printed(export_ranc(program, frames=frames).contents)


def test_several_outputs_stand_side_by_side_on_the_bus(tmp_path):
    """What the files expect, against the network worked out by hand and against the program that is read back."""
    nodes = {"I": (2, None), "A": (2, 1), "B": (3, 1), "C": (1, 2)}
    edges = {("I", "A"): np.eye(2, dtype=int), ("I", "B"): [[1, 0], [0, 1], [1, 1]], ("I", "C"): [[1, 1]]}
    frames = {"I": np.array([[0, 0], [1, 0], [0, 1], [1, 1]], bool)}
    network = nm.build_network(nodes, edges, outputs=("C", "A", "B"))
    program = nm.map_rollout(nm.Rollout(network, "streaming"), SMALL)
    found = export_ranc(program, frames=frames)
    order = [text.partition(" ")[2] for text in (note.about for note in found.kept) if text.startswith("node ")]
    shown = {name: frames["I"] @ np.asarray(edges["I", name]).T >= nodes[name][1] for name in order}
    wanted = [np.flatnonzero(np.concatenate(row)).tolist() for row in zip(*shown.values(), strict=True)]
    said = printed(found.contents)
    assert said[-3:] == wanted[:3]  # a streaming edge takes a frame
    case = read_back(tmp_path, found.contents)
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, len(said), engine="numpy")
    assert [outputs.tolist() for outputs in case.output_axons(*spikes, len(said))] == said


@needs_ranc
@given(run=mapped_runs(SMALL, largest=5))
@settings(deadline=None, max_examples=24)
def test_rancs_simulator_prints_what_is_expected(run, tmp_path_factory):
    program, frames = run
    assert_ranc_agrees(export_ranc(program, frames=frames), tmp_path_factory.mktemp("ranc"))


@needs_ranc
def test_rancs_simulator_agrees_on_digits(tmp_path):
    for pattern in ("streaming", "sequential"):
        network = nm.load_network(ROOT / "examples" / "digits" / "ff.toml")
        assert_ranc_agrees(export_ranc(nm.map_rollout(nm.Rollout(network, pattern))), tmp_path / pattern)


def assert_ranc_agrees(found, folder):
    write_folder(folder, found.contents)
    words = [RANC, "-i", "input.json", "-o", "output.txt", "-c", "config.json"]
    words += ["--ticks", str(found.figures["ticks to run"])]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=120)
    assert (folder / "output.txt").read_bytes() == (folder / "expected.txt").read_bytes()


@pytest.fixture(scope="module")
def small():
    net = nm.build_network(
        {"I": (3, None), "H": (3, 1), "O": (2, 2)}, {("I", "H"): np.eye(3, dtype=int), ("H", "O"): np.ones((2, 3), int)}
    )
    return nm.map_rollout(nm.Rollout(net, "streaming"), SMALL)


def with_neurons(program, **changes):
    """The program with parameters of its second neuron in use changed."""
    core, neuron = (index[1] for index in np.nonzero(program.neuron_node >= 0))
    changed = {}
    for name, value in changes.items():
        before = getattr(program.neurons, name)
        array = np.zeros(program.shape, np.uint8 if name == "noise_bits" else bool) if before is None else before.copy()
        array[core, neuron] = value
        changed[name] = array
    return replace(program, execution="", neurons=replace(program.neurons, **changed))


NO_EVENTS = ((), (), ())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"noise_bits": 3}, "has a stochastic mode (1 neuron)"),
        ({"leak_reversal": True, "leak": -2}, "its leak turns with the potential's sign"),
        ({"reset_mode": 2}, "keeps its potential when it spikes"),
        ({"saturate_negative": True, "negative_threshold": 5, "leak": -1}, "stops at its negative threshold"),
    ],
)
def test_what_rancs_neuron_does_not_is_refused_in_one_line(changes, words, small):
    with pytest.raises(NotSupportedError) as caught:
        ranc_image(with_neurons(small, **changes), *NO_EVENTS)
    assert words in str(caught.value)
    assert "core (0, 0), neuron" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"saturate_negative": True, "negative_threshold": 5, "reset": 5},  # -R is the floor
        {"leak_reversal": True, "leak": 0},
        {"noise_bits": 0},
        {"reset_mode": 1, "negative_threshold": 7},
    ],
)
def test_what_means_the_same_there_is_taken(changes, small):
    assert ranc_image(with_neurons(small, **changes), *NO_EVENTS).n_outputs == 2


def test_lists_and_programs_without_outputs_are_refused(small):
    nodes = {"I": Node("I", (1, 1, 2)), "O": Node("O", (1, 1, 2), neuron=CurrentNeuron(threshold=64))}
    edge = Edge("I", "O", nm.Dense((1, 1, 2), (1, 1, 2), weights=StoredWeights(np.eye(2, dtype=int))), 1)
    lists = nm.map_rollout(nm.Rollout(Network("net", nodes, {("I", "O"): edge}), "streaming"), "loihi1")
    with pytest.raises(NotSupportedError, match="keep lists of synapses; RANC has crossbars"):
        ranc_image(lists, *NO_EVENTS)
    hidden = tuple(replace(port, kind="hidden") if port.kind == "output" else port for port in small.nodes)
    blind = replace(small, nodes=hidden, outputs=OutputTable(*(np.zeros(0, np.int32),) * 4))
    with pytest.raises(ProgramError, match="has no output node"):
        ranc_image(blind, *NO_EVENTS)


def test_one_chip_of_a_board_is_a_grid_of_its_own(small):
    board = with_figures(SMALL, {"grid.chips": [2, 1]})
    apart = replace(small, chip=board, coordinates=small.coordinates + np.array([8, 3], np.int32))
    image = ranc_image(apart, *NO_EVENTS)
    assert (image.origin, image.grid) == ((8, 3), (2, 1))
    assert image.cores.coordinates.tolist() == [[0, 0]]


def test_two_chips_are_refused(small):
    board = with_figures(SMALL, {"grid.chips": [2, 1], "grid.cores": [1, 1]})
    net = nm.build_network(
        {"I": (20, None), "H": (20, 1), "O": (20, 1)},
        {("I", "H"): np.eye(20, dtype=int), ("H", "O"): np.eye(20, dtype=int)},
    )
    program = nm.map_rollout(nm.Rollout(net, "streaming"), board)
    assert program.n_cores == 2
    with pytest.raises(NotSupportedError, match=r"lies on 2 chips of .*; RANC has one"):
        ranc_image(program, *NO_EVENTS)


@pytest.mark.parametrize("events", [((-1,), (0,), (0,)), ((0,), (9,), (0,)), ((0,), (0,), (32,)), ((0, 1), (0,), (0,))])
def test_events_outside_the_program_are_refused(events, small):
    with pytest.raises(StimulusError, match="events: "):
        ranc_image(small, *events)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"threshold": 300}, "a positive threshold of 300 (-256 to 255)"),
        ({"reset": -300}, "a reset of -300"),
        ({"negative_threshold": 300}, "a negative threshold of -300"),
    ],
)
def test_what_the_fpga_has_no_room_for_is_said_and_refused(changes, words, small):
    program = with_neurons(small, **changes)
    frames = {"I": np.ones((3, 3), bool)}
    said = export_ranc(program, frames=frames).refused[-1]
    assert words in said.text
    with pytest.raises(NotSupportedError, match="has no room for") as caught:
        export_ranc_vectors(program, frames=frames)
    assert words in str(caught.value)


@given(seed=st.integers(0, 2**32 - 1), drawn=st.data())
@settings(deadline=None, max_examples=60)
def test_no_run_goes_beyond_the_reach_of_potentials(seed, drawn, cases_by_hand):
    """What is compared with the thresholds, in runs on all axons at once or some, lies within what is said."""
    case = cases_by_hand(seed)
    program, reach = case.program, potential_reach(case.program)
    rng = np.random.default_rng(seed)
    ticks, cores, axons = np.nonzero(rng.random((8, program.n_cores, 4)) < drawn.draw(st.sampled_from([0.3, 1.0])))
    _, core, neuron = run_events(program, ticks, cores, axons, 8, engine="numpy")
    assert reach.fires[core, neuron].all()
    for compared in potentials(program, ticks, cores, axons, 8):
        assert (reach.lowest <= compared).all()
        assert (compared <= reach.highest).all()


def potentials(program, ticks, cores, axons, n_ticks):
    """Potentials of every tick when they are compared with the thresholds, by the rules written anew."""
    table, chip = program.neurons, program.chip
    bits = np.unpackbits(program.crossbar, axis=2, count=chip.neurons, bitorder="little").astype(int)
    weight = np.take_along_axis(
        table.weights.astype(int), np.repeat(program.axon_types[:, None, :].astype(int), chip.neurons, axis=1), axis=2
    )
    v = table.potential.astype(int)
    for tick in range(n_ticks):
        due = np.zeros((program.n_cores, chip.axons), int)
        due[cores[ticks == tick], axons[ticks == tick]] = 1
        v = v + np.einsum("ca,can,cna->cn", due, bits, weight) + table.leak
        yield v
        fires = v >= table.threshold
        low = ~fires & (
            v <= -table.negative_threshold if chip.rules.negative_comparison == "<=" else v < -table.negative_threshold
        )
        linear = table.reset_mode == 1
        v = np.where(fires, np.where(linear, v - table.threshold, table.reset), v)
        v = np.where(low, np.where(linear, v + table.negative_threshold, -table.reset), v)
