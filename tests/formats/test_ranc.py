"""RANC as an oracle: its hardware test vectors, and its simulator's JSON against a loop written from its rules."""

import json
import os
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuromap.errors import InputError, ProgramError, StimulusError
from neuromap.formats.ranc import read_json, read_vectors
from neuromap.hardware.checker import check_program
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.hardware.program_file import program_from_bytes
from neuromap.simulation.run.simulate import run_events

DATA = Path(os.environ.get("NEUROMAP_DATA", Path(__file__).resolve().parents[2] / ".." / "shared" / "data")) / "ranc"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"no {DATA}: set NEUROMAP_DATA to the shared data")

# set: columns, output bus, ticks from the first packets to the first outputs that depend on them
SETS = {"128": (8, (0, 3), 2), "256": (4, (0, 2), 1)}
# besides: outputs of the bus, where they are fewer than axons; shape of the cores; ticks that are compared
BENCHES = {
    "128": (*SETS["128"], None, (31, 128, 128), 10),
    "256": (*SETS["256"], None, (11, 256, 256), 10),
    "512": (2, (0, 2), 1, None, (5, 512, 512), 10),
    "512_128": (2, (0, 2), 1, 120, (5, 128, 512), 10),
    "vmm": (3, (2, 2), 3, None, (8, 256, 256), 107),
}
"""All test benches of RANC's hardware: four classifiers of ten images, and a vector times a matrix."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The folder of a test bench: one lies beside this file, the others where data do."""

    def find(name):
        if name == "vmm":
            folder = tmp_path_factory.mktemp("ranc")
            with tarfile.open(Path(__file__).with_name("ranc_vmm.tar.xz")) as archive:
                archive.extractall(folder, filter="data")
            return folder / "vmm"
        if not (DATA / name).is_dir():
            pytest.skip(f"no {DATA / name}: it is memory_files/tea/{name} of github.com/UA-RCL/RANC")
        return DATA / name

    return find


@pytest.mark.parametrize("name", BENCHES)
def test_known_answers(bench, name):
    columns, bus, shift, n_outputs, shape, length = BENCHES[name]
    case = read_vectors(bench(name), columns=columns, output_bus=bus, n_outputs=n_outputs)
    assert (*case.program.shape, case.program.chip.axons) == shape
    assert check_program(case.program) == []
    n_ticks = len(case.expected) + shift
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, n_ticks)
    outputs = case.output_axons(*spikes, n_ticks)
    assert len(case.expected) == length
    assert sum(map(len, case.expected)) > length
    for tick, expected in enumerate(case.expected):
        assert outputs[tick + shift].tolist() == expected.tolist(), tick


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("01 // 111\n10", "rows have 2 bits"),
        ("/*0\n1*/01", "rows have 2 bits"),
        ("0/**/1", "rows have 1 bits"),
        ("01/*", "rows have 2 bits"),
        ("/* " * 2**18, "counts make 372 rows; the file beside it holds 0"),
    ],
    ids=["line", "block", "between", "open", "many"],
)
def test_comments_are_no_rows(bench, tmp_path, text, found):
    folder = tmp_path / "vmm"
    shutil.copytree(bench("vmm"), folder)
    (folder / "tb_correct.txt").write_text(text)
    with pytest.raises(StimulusError, match=found):
        read_vectors(folder, columns=3, output_bus=(2, 2))


def test_the_bus_needs_no_core_and_has_as_many_outputs_as_are_given(bench, tmp_path):
    folder = bench("vmm")
    case = read_vectors(folder, columns=3, output_bus=(2, 2))
    assert case.program.coordinates.tolist() == [[i % 3, i // 3] for i in range(8)]
    with pytest.raises(ProgramError, match="holds 8 cores, which do not make rows of 3 columns"):
        read_vectors(folder, columns=3, output_bus=(1, 2))  # a core stands there, and (2, 2) has none
    for n_outputs in (0, 257):
        with pytest.raises(ProgramError, match=rf"n_outputs: found {n_outputs}; allowed are 1 to 256, the axons"):
            read_vectors(folder, columns=3, output_bus=(2, 2), n_outputs=n_outputs)
    with pytest.raises(StimulusError, match="rows have 8 bits; needs 5"):
        read_vectors(folder, columns=3, output_bus=(2, 2), n_outputs=32)


@needs_data
def test_known_answers_survive_a_program_file():
    columns, bus, shift = SETS["256"]
    case = read_vectors(DATA / "256", columns=columns, output_bus=bus)
    program = program_from_bytes(program_bytes(case.program), "test")
    spikes = run_events(program, case.ticks, case.cores, case.axons, 10 + shift)
    outputs = case.output_axons(*spikes, 10 + shift)
    assert [o.tolist() for o in outputs[shift:]] == [e.tolist() for e in case.expected]


@needs_data
def test_the_outputs_of_a_changed_threshold_differ():
    columns, bus, shift = SETS["256"]
    case = read_vectors(DATA / "256", columns=columns, output_bus=bus)
    threshold = case.program.neurons.threshold.copy()
    threshold[4] += 1
    changed = replace(case.program, neurons=replace(case.program.neurons, threshold=threshold))
    spikes = run_events(changed, case.ticks, case.cores, case.axons, 10 + shift)
    outputs = case.output_axons(*spikes, 10 + shift)
    assert [o.tolist() for o in outputs[shift:]] != [e.tolist() for e in case.expected]


@needs_data
@pytest.mark.parametrize(
    ("file", "content", "error", "words"),
    [
        ("csram_003.mem", None, ProgramError, "rows of 4 columns"),
        ("csram_003.mem", "0101\n", ProgramError, "holds [1, 4] rows and bits"),
        ("csram_000.mem", "01\n2\n", ProgramError, "row 2 is '2'"),
        ("tc_003.mem", None, ProgramError, "does not exist"),
        ("tc_000.mem", "\u00e9", ProgramError, "not a text of bits"),
        ("tb_input.txt", "0101\n", StimulusError, "rows have 4 bits; needs 30"),
        ("tb_num_inputs.txt", "3\n", StimulusError, "counts make 3 rows"),
        ("tb_num_inputs.txt", "-3\n", StimulusError, "found -3"),
        ("tb_num_inputs.txt", "9" * 5000, StimulusError, "needs one count per line"),
        ("tb_num_outputs.txt", "", StimulusError, "found nothing"),
        ("tb_correct.txt", None, StimulusError, "does not exist"),
    ],
)
def test_damaged_vectors(tmp_path, file, content, error, words):
    folder = tmp_path / "256"
    shutil.copytree(DATA / "256", folder)
    target = folder / file
    target.chmod(0o644)
    target.unlink()
    if content is not None:
        target.write_text(content, encoding="utf-8")
    with pytest.raises(error) as caught:
        read_vectors(folder, columns=4, output_bus=(0, 2))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@needs_data
def test_wrong_grids():
    with pytest.raises(ProgramError, match="12 cores, which do not make rows of 5"):
        read_vectors(DATA / "256", columns=5, output_bus=(0, 2))
    with pytest.raises(ProgramError, match="output bus"):
        read_vectors(DATA / "256", columns=4, output_bus=(0, 3))
    with pytest.raises(
        ProgramError, match=r"core \(\d, \d\), neuron \d+: target is \[-?\d, -?\d\]; needs a place on the grid"
    ):
        read_vectors(DATA / "256", columns=3, output_bus=(0, 2))


def test_no_vectors(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ProgramError, match="holds no csram_000"):
            read_vectors(folder, columns=1, output_bus=(0, 0))


@needs_data
@given(width=st.integers(1, 200), file=st.sampled_from(["tb_correct.txt", "tb_input.txt"]))
@settings(deadline=None, max_examples=40)
def test_rows_of_any_other_width_are_refused_by_name(tmp_path_factory, width, file):
    """Outputs of 78 bits came back as negative numbers."""
    folder = tmp_path_factory.mktemp("ranc") / "256"
    folder.mkdir()
    for path in (DATA / "256").iterdir():
        (folder / path.name).symlink_to(path)
    rows = (DATA / "256" / file).read_text().split()
    (folder / file).unlink()
    (folder / file).write_text("\n".join((row * 200)[:width] for row in rows))
    if width == len(rows[0]):
        read_vectors(folder, columns=4, output_bus=(0, 2))
        return
    with pytest.raises(InputError, match=rf"{file}: .*{width}") as caught:
        read_vectors(folder, columns=4, output_bus=(0, 2))
    assert str(caught.value).isprintable()


CONFIG = {
    "num_neurons": 3, "num_axons": 4, "num_cores_x": 3, "num_cores_y": 1, "num_weights": 2, "max_tick_offset": 4,
    "neuron_block_trace_verbosity": 0, "core_controller_trace_verbosity": 0, "scheduler_trace_verbosity": 0,
    "neuron_reset_type": 0,
}  # fmt: skip


def ranc_neuron(rng):
    return {
        "reset_potential": int(rng.integers(-3, 4)),
        "weights": rng.integers(-4, 5, 2).tolist(),
        "leak": int(rng.integers(-2, 3)),
        "positive_threshold": int(rng.integers(-1, 6)),
        "negative_threshold": int(rng.integers(-6, 2)),
        "destination_core_offset": [int(rng.integers(0, 3)), 0],
        "destination_axon": int(rng.integers(0, 4)),
        "destination_tick": int(rng.integers(0, 3)),
        "current_potential": int(rng.integers(-3, 4)),
        "reset_mode": int(rng.integers(2)),
    }


def ranc_input(rng):
    """Two cores at x = 0 and 1, the bus at x = 2; offsets are made relative."""
    cores = []
    for x in range(2):
        n = int(rng.integers(1, 4))
        neurons = [ranc_neuron(rng) for _ in range(n)]
        for neuron in neurons:
            neuron["destination_core_offset"][0] -= x
        connections = rng.integers(0, 2, (n, 4)).tolist()
        cores.append(
            {
                "axons": rng.integers(0, 2, 4).tolist(),
                "neurons": neurons,
                "connections": connections,
                "coordinates": [x, 0],
            }
        )
    packets = [
        [
            {"destination_core": [int(rng.integers(2)), 0], "destination_axon": int(rng.integers(4)),
             "destination_tick": int(rng.integers(3))}
            for _ in range(rng.integers(0, 4))
        ]
        for _ in range(6)
    ]  # fmt: skip
    return {"packets": packets, "output_bus": {"coordinates": [2, 0], "num_outputs": 4}, "cores": cores}


def run_by_hand(config, data, n_ticks):
    """RANC's rules, neuron by neuron; returns the outputs of every tick."""
    due = {}
    for group, packets in enumerate(data["packets"]):
        for p in packets:
            due.setdefault(group + p["destination_tick"], set()).add((p["destination_core"][0], p["destination_axon"]))
    potential = [[n["current_potential"] for n in core["neurons"]] for core in data["cores"]]
    outputs = []
    for tick in range(n_ticks):
        outputs.append(set())
        for core in data["cores"]:
            x = core["coordinates"][0]
            for i, n in enumerate(core["neurons"]):
                v = potential[x][i]
                for axon in range(4):
                    if (x, axon) in due.get(tick, ()) and core["connections"][i][axon]:
                        v += n["weights"][core["axons"][axon]]
                v += n["leak"]
                below = v <= n["negative_threshold"] if config["neuron_reset_type"] else v < n["negative_threshold"]
                if v >= n["positive_threshold"]:
                    target = x + n["destination_core_offset"][0]
                    if target == 2:
                        outputs[tick].add(n["destination_axon"])
                    else:
                        slot = due.setdefault(tick + n["destination_tick"] + 1, set())
                        slot.add((target, n["destination_axon"]))
                    v = n["reset_potential"] if n["reset_mode"] == 0 else v - n["positive_threshold"]
                elif below:
                    v = -n["reset_potential"] if n["reset_mode"] == 0 else v - n["negative_threshold"]
                potential[x][i] = v
    return outputs


def write(folder, config, data):
    config_path, input_path = folder / "config.json", folder / "input.json"
    config_path.write_text(config if isinstance(config, str) else json.dumps(config))
    input_path.write_text(data if isinstance(data, str) else json.dumps(data))
    return config_path, input_path


@given(seed=st.integers(0, 2**32), reset_type=st.integers(0, 1))
@settings(deadline=None, max_examples=30)
def test_simulator_files_run_as_ranc_does(tmp_path_factory, seed, reset_type):
    data = ranc_input(np.random.default_rng(seed))
    config = CONFIG | {"neuron_reset_type": reset_type}
    case = read_json(*write(tmp_path_factory.mktemp("ranc"), config, data))
    n_ticks = 16
    outputs = case.output_axons(
        *run_events(case.program, case.ticks, case.cores, case.axons, n_ticks, engine="numpy"), n_ticks
    )
    assert [set(o.tolist()) for o in outputs] == run_by_hand(config, data, n_ticks)


def changed(**changes):
    """Input files with one value replaced, by a path like cores__0__neurons__0__leak."""
    data = ranc_input(np.random.default_rng(1))
    for path, value in changes.items():
        owner = data
        *way, last = [int(key) if key.isdigit() else key for key in path.split("__")]
        for key in way:
            owner = owner[key]
        if value is ...:
            del owner[last]
        else:
            owner[last] = value
    return data


@pytest.mark.parametrize(
    ("config", "data", "words"),
    [
        ("{", changed(), "config.json: is not valid JSON"),
        ("[" * 100_000, changed(), "is not valid JSON"),
        ("3", changed(), "found 3; needs an object"),
        ('{"a": ' * 5_000, changed(), "is not valid JSON"),
        ('{"num_axons": ' + "9" * 5_000 + "}", changed(), "is not valid JSON"),
        ('{"num_axons": NaN}', changed(), "config.json: found NaN; needs integers"),
        ('{"num_axons": 4, "num_axons": 5}', changed(), "config.json: key 'num_axons' stands twice"),
        ("\x00{}", changed(), "is not valid JSON"),
        (CONFIG | {"num_neurons": 2**13, "num_axons": 2**13, "num_cores_x": 9},
         changed(cores=[{"axons": [], "neurons": [], "connections": [], "coordinates": [x, 0]} for x in range(9)]),
         "take 603979776 bytes; at most 536870912 are read"),
        (CONFIG | {"num_axons": 10**30}, changed(), "num_axons: found 1000000000"),
        (CONFIG | {"num_axons": True}, changed(), "num_axons: found True"),
        (CONFIG | {"num_axons": 0}, changed(), "core.axons: found 0"),
        (CONFIG | {"num_axons": "4"}, changed(), "num_axons: found '4'"),
        (CONFIG | {"neuron_reset_type": 2}, changed(), "neuron_reset_type: found 2"),
        ({k: v for k, v in CONFIG.items() if k != "num_weights"}, changed(), "num_weights: missing"),
        (CONFIG, changed(cores=...), "cores: missing"),
        (CONFIG, changed(cores=[]), "cores: holds none"),
        (CONFIG, changed(output_bus__coordinates=[1, 0], cores=changed()["cores"][1:]), "none stands beside the"),
        (CONFIG, changed(cores__0__axons=[0, 1, 2, 0]), "cores[0]: axons: found 2"),
        (CONFIG, changed(cores__0__axons=[0] * 5), "cores[0]: axons: found 5 values"),
        (CONFIG, changed(cores__0__connections__0=[0, 2]), "connections[0]: found 2"),
        (CONFIG, changed(cores__0__coordinates=[3, 0]), "coordinates: found [3, 0]"),
        (CONFIG, changed(cores__1__coordinates=[0, 0]), "[0, 0] is described twice"),
        (CONFIG, changed(cores__0__neurons__0__leak=...), "cores[0]: neurons[0]: leak: missing"),
        (CONFIG, changed(cores__0__neurons__0__leak=1.5), "leak: found 1.5"),
        (CONFIG, changed(cores__0__neurons__0__leak=10**6), "neuron 0: leak is 1000000; needs -32768 to 32767"),
        (CONFIG, changed(cores__0__neurons__0__weights=[1, 2, 3]), "weights: found 3 values"),
        (CONFIG, changed(cores__0__neurons__0__reset_mode=2), "reset mode is 2; needs 0 or 1"),
        (CONFIG, changed(cores__0__neurons__0__positive_threshold=2**31 - 1), "rule threshold-range"),
        (CONFIG, changed(cores__0__neurons__0__destination_core_offset=[-1, 0]), "target is [-1, 0]"),
        (CONFIG, changed(cores__0__neurons__0__destination_core_offset=[0]), "needs two integers"),
        (CONFIG, changed(cores__0__neurons__0__destination_axon=4), "destination axon is 4; needs 0 to 3"),
        (CONFIG, changed(output_bus__coordinates=[9, 0]), "output bus (9, 0)"),
        (CONFIG, changed(packets=[[{"destination_core": [7, 0], "destination_axon": 0, "destination_tick": 0}]]),
         "packet 0: x is 7; needs 0 to 2"),
        (CONFIG, changed(packets=[[{"destination_core": [0, 0], "destination_axon": 0, "destination_tick": 3}]]),
         "packet 0: destination tick is 3; needs 0 to 2"),
        (CONFIG, changed(packets=[{}]), "packets[0]: found {}"),
        (CONFIG, changed(packets=[[3]]), "packets[0][0]: found 3"),
    ],
)  # fmt: skip
def test_bad_simulator_files(tmp_path, config, data, words):
    with pytest.raises(InputError) as caught:
        read_json(*write(tmp_path, config, data))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("which", ["config.json", "input.json"])
def test_truncated_and_flipped_files_get_one_line_or_run(which, tmp_path):
    """Cut at every 1/50th, and a byte flipped there: a case, or one line that names the file."""
    write(tmp_path, CONFIG, changed())
    whole = (tmp_path / which).read_bytes()
    read, said = 0, []
    for k in range(50):
        at = k * len(whole) // 50
        for damaged in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :]):
            (tmp_path / which).write_bytes(damaged)
            try:
                read_json(tmp_path / "config.json", tmp_path / "input.json")
                read += 1
            except InputError as error:
                said.append(str(error))
    assert all(line and "\n" not in line for line in said)
    assert read < 50  # only some flips leave a file of other numbers


def test_packets_for_places_without_a_core_are_lost(tmp_path):
    data = changed(packets=[[{"destination_core": [2, 0], "destination_axon": 0, "destination_tick": 0}]])
    assert len(read_json(*write(tmp_path, CONFIG, data)).ticks) == 0


def test_missing_files(tmp_path):
    with pytest.raises(ProgramError, match=r"a\.json: does not exist"):
        read_json(tmp_path / "a.json", tmp_path / "b.json")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_among_the_vectors_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "csram_000.mem")
    with pytest.raises(ProgramError, match=r"csram_000\.mem: is not a regular file"):
        read_vectors(tmp_path, columns=1, output_bus=(0, 0))
