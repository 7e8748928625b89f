"""Bad input: one clear line on stderr, the right exit code, no traceback, no partial output file."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import neuromap as nm
from neuromap.cli.main import COMMANDS

VALUES = "seed = 3, values = [-1, 0, 1]"
MINIMAL = "format = 1\n[nodes.I]\nshape = [1, 1, 2]\n[nodes.O]\nshape = [1, 1, 2]\nthreshold = 1\n"
DENSE = 'transform = "dense"\nweights = { seed = 1, values = [1] }\n'

NETWORKS = {
    "unknown key": (lambda t: t.replace('name = "SR"', 'name = "SR"\ncolour = 3'), ["colour"]),
    "unknown key of a node": (lambda t: t.replace("[nodes.O]", "[nodes.O]\nsize = 3"), ["size", "O"]),
    "unknown key of an edge": (lambda t: t.replace('[edges."H2 -> O"]', '[edges."H2 -> O"]\npad = 1'), ["pad"]),
    "no format": (lambda t: t.replace("format = 1\n", ""), ["format"]),
    "later format": (lambda t: t.replace("format = 1", "format = 2"), ["format", "2"]),
    "shape that does not fit": (lambda t: t.replace("shape = [2, 2, 2]", "shape = [3, 2, 2]"), ["H1"]),
    "shape of two": (lambda t: t.replace("shape = [2, 2, 2]", "shape = [2, 2]"), ["H1", "shape"]),
    "absurd shape": (lambda t: t.replace("[1, 1, 6]", "[1000000000, 1, 1]"), ["H2", "shape"]),
    "absurd shape in all": (lambda t: t.replace("[1, 1, 6]", "[100000, 100000, 1]"), ["H2"]),
    "negative shape": (lambda t: t.replace("[1, 1, 6]", "[1, 1, -6]"), ["H2", "shape"]),
    "parallel edges": (lambda t: t + '[edges."H1->O"]\n' + DENSE, ["H1", "O"]),
    "unreachable node": (lambda t: t + '[nodes.A]\nshape = [1,1,1]\nthreshold = 1\n[edges."A -> A"]\n' + DENSE, ["A"]),
    "node without edges": (lambda t: t + "[nodes.A]\nshape = [1, 1, 1]\n", ["A"]),
    "edge to nowhere": (lambda t: t + '[edges."H1 -> X"]\n' + DENSE, ["X"]),
    "unknown transform": (lambda t: t.replace('"dense"', '"dance"', 1), ["dance"]),
    "pattern of unknown edges": (lambda t: t.replace('["H1 -> H1", ', '["H1 -> I", '), ["H1 -> I", "hybrid"]),
    "no TOML": (lambda t: "{]", []),
    "empty": (lambda t: "", []),
    "threshold beyond all bounds": (lambda t: t.replace("threshold = 0", "threshold = 1e99"), ["threshold"]),
    "NaN as a threshold": (lambda t: t.replace("threshold = 0", "threshold = nan"), ["threshold"]),
    "weights that are not integers": (lambda t: t.replace(VALUES, "seed = 3, values = [0.5]"), []),
    "NaN among the weights": (lambda t: t.replace(VALUES, "seed = 3, values = [nan]"), []),
    "weights beyond all bounds": (
        lambda t: t.replace(VALUES, "seed = 3, values = [99999999999999999999]"), []
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", NETWORKS)
@pytest.mark.parametrize("command", ["rollouts", "map"])
def test_network_file(fault, command, folder, sr_text, neuromap):
    change, words = NETWORKS[fault]
    path = folder / "bad.toml"
    path.write_text(change(sr_text))
    assert path.read_text() != sr_text
    neuromap(command, path).assert_refused(2, *words)


@pytest.mark.parametrize("command", ["rollouts", "explore"])
def test_a_message_has_the_command_once(command, folder, neuromap, root_of_examples):
    net = root_of_examples / "examples" / "spiking" / "leak.toml"
    told = f"neuromap {command}: network leak is spiking;"
    neuromap(command, net).assert_refused(2, told)
    neuromap(command, folder / command).assert_refused(2, f"neuromap {command}: {folder / command}: ")


def test_network_without_input(folder, neuromap):
    path = folder / "bad.toml"
    path.write_text('format = 1\n[nodes.A]\n[nodes.B]\n[edges."A -> B"]\n[edges."B -> A"]\n')
    neuromap("rollouts", path).assert_refused(2, "input")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00\x01" * 9, b"\x89PNG\r\n\x1a\n", b"\x00" * 100])
def test_foreign_files(content, folder, sr, neuromap):
    path = folder / "foreign"
    path.write_bytes(content)
    neuromap("rollouts", path).assert_refused(2, "foreign")
    neuromap("simulate", path).assert_refused(2, "foreign")
    neuromap("map", sr, "--chip", f"{folder}/foreign").assert_refused(2, "foreign")
    neuromap("verify", sr, "--stimulus", path).assert_refused(2, "foreign")
    neuromap("report", sr, "--stimulus", path).assert_refused(2, "foreign")
    neuromap("verify", sr, "--program", path).assert_refused(2, "foreign")


@pytest.mark.parametrize("command", ["rollouts", "map", "simulate", "verify", "report"])
def test_missing_file_and_folder_as_a_file(command, folder, neuromap):
    neuromap(command, folder / "nowhere.toml").assert_refused(2, "nowhere.toml")
    neuromap(command, folder).assert_refused(2, str(folder))


def test_network_without_shapes_is_for_theory_only(folder, neuromap):
    path = folder / "theory.toml"
    path.write_text('format = 1\n[nodes.I]\n[nodes.O]\n[edges."I -> O"]\n')
    assert neuromap("rollouts", path).code == 0
    neuromap("map", path).assert_refused(2)


def with_weights_file(folder, sr_text, tensors, content=None):
    path = folder / "stored.toml"
    path.write_text(MINIMAL + '[edges."I -> O"]\ntransform = "dense"\n[weights]\nfile = "w.safetensors"\n')
    if content is None:
        save_file(tensors, folder / "w.safetensors")
    else:
        (folder / "w.safetensors").write_bytes(content)
    return path


@pytest.mark.parametrize(
    "weights",
    [
        np.array([[np.nan, 1], [1, 1]], dtype=np.float32),
        np.array([[np.inf, 1], [1, 1]], dtype=np.float64),
        np.array([[0.5, 1], [1, 1]], dtype=np.float32),
        np.ones((2, 3), dtype=np.int8),
        np.ones((2, 2), dtype=np.bool_),
        np.full((2, 2), 2**62, dtype=np.int64),
    ],
    ids=["nan", "inf", "fraction", "shape", "bool", "range"],
)
def test_stored_weights(weights, folder, sr_text, neuromap):
    path = with_weights_file(folder, sr_text, {"I -> O": weights})
    neuromap("map", path).assert_refused(2, "I -> O")


def test_weights_file_truncated_foreign_or_missing(folder, sr_text, neuromap):
    path = with_weights_file(folder, sr_text, {"I -> O": np.ones((2, 2), dtype=np.int8)})
    assert neuromap("map", path).code == 0
    whole = (folder / "w.safetensors").read_bytes()
    for content in (whole[:-1], whole[:20], b"", b"PK\x03\x04", b"\xff" * 64):
        (folder / "w.safetensors").write_bytes(content)
        neuromap("map", path).assert_refused(2, "w.safetensors")
    (folder / "w.safetensors").unlink()
    neuromap("map", path).assert_refused(2, "w.safetensors")


@pytest.mark.parametrize("command", ["map", "verify"])
def test_weights_beyond_the_chip_do_not_fit(command, folder, neuromap):
    path = folder / "heavy.toml"
    path.write_text(MINIMAL + '[edges."I -> O"]\ntransform = "dense"\nweights = { seed = 1, values = [300000] }\n')
    done = neuromap(command, path)
    done.assert_refused(3, "O")


def test_invalid_pattern_names_its_cycle(sr, neuromap):
    for command in ("map", "verify"):
        neuromap(command, sr, "--pattern", "H1 -> O").assert_refused(2, "H1 -> H1", "invalid")


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("nonsense", "nonsense"), ("H1 -> X", "X"), ("H1 ->", "H1 ->"), ("-> O", "-> O"), ("H1 -> H1 -> O", "H1"),
        ("", "empty"), (" , ", "pattern"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["rollouts", "map", "verify"])
def test_patterns_that_are_none(command, pattern, word, sr, neuromap):
    neuromap(command, sr, "--pattern", pattern).assert_refused(2, word)


def test_unknown_execution_and_chip(sr, neuromap):
    for command in ("map", "verify"):
        neuromap(command, sr, "--execution", "fast").assert_refused(2, "fast", "windowed", "pipelined")
        neuromap(command, sr, "--chip", "loihi9").assert_refused(2, "loihi9", "truenorth")
    neuromap("chips", "loihi9").assert_refused(2, "loihi9", "truenorth")
    neuromap("report", sr, "--executions", "fast").assert_refused(2, "fast")


CHIPS = {
    "unknown key": (lambda t: t.replace("axons = 8", "axons = 8\naxoms = 9"), ["axoms"]),
    "no cores": (lambda t: t.replace("cores = [2, 2]", "cores = [0, 2]"), ["cores"]),
    "absurd grid": (lambda t: t.replace("cores = [2, 2]", "cores = [1000000000, 1000000000]"), ["cores"]),
    "no axons": (lambda t: t.replace("axons = 8", "axons = 0"), ["axons"]),
    "missing key": (lambda t: t.replace("axons = 8\n", ""), ["axons"]),
    "delays reversed": (lambda t: t.replace("[1, 15]", "[15, 1]"), ["delay"]),
    "NaN tick": (lambda t: t.replace("1e-3", "nan"), ["tick_seconds"]),
    "text for a number": (lambda t: t.replace("axons = 8", 'axons = "8"'), ["axons"]),
    "no TOML": (lambda t: t + "[[[", []),
}


@pytest.mark.parametrize("fault", CHIPS)
def test_chip_file(fault, folder, sr, tiny_text, neuromap):
    change, words = CHIPS[fault]
    path = folder / "bad_chip.toml"
    path.write_text(change(tiny_text))
    assert path.read_text() != tiny_text
    neuromap("chips", path).assert_refused(2, *words)
    neuromap("map", sr, "--chip", path, "-o", folder / "out.nmp").assert_refused(2, *words)
    assert not (folder / "out.nmp").exists()


def test_chip_that_is_not_supported(folder, tiny_text, sr, neuromap):
    path = folder / "many.toml"
    path.write_text(tiny_text.replace("targets_per_neuron = 1", "targets_per_neuron = 3"))
    neuromap("map", sr, "--chip", path).assert_refused(4, "targets_per_neuron")


def test_chip_too_small(folder, sr, neuromap):
    out = folder / "out.nmp"
    neuromap("map", sr, "--chip", folder / "tiny.toml", "-o", out).assert_refused(3)
    neuromap("verify", sr, "--chip", folder / "tiny.toml").assert_refused(3)
    assert not out.exists()
    done = neuromap("map", sr, "--chip", folder / "tiny.toml", "--json")
    error = done.json["error"]
    assert (done.code, error["exit_code"], error["kind"]) == (3, 3, "DoesNotFitError")
    assert {"node", "demand", "bound", "gap", "remedies"} <= set(error["infeasibility"])
    assert error["infeasibility"]["gap"] == error["infeasibility"]["demand"] - error["infeasibility"]["bound"]


FRAMES = {
    "size": {"I": np.zeros((4, 15), dtype=np.uint8)},
    "missing": {"J": np.zeros((4, 16), dtype=np.uint8)},
    "unknown": {"I": np.zeros((4, 16), dtype=np.uint8), "J": np.zeros((4, 16), dtype=np.uint8)},
    "values": {"I": np.full((4, 16), 2, dtype=np.uint8)},
    "dtype": {"I": np.zeros((4, 16), dtype=np.float32)},
    "nan": {"I": np.full((4, 16), np.nan, dtype=np.float32)},
    "dimensions": {"I": np.zeros(16, dtype=np.uint8)},
    "too few": {"I": np.zeros((1, 16), dtype=np.uint8)},
}


@pytest.mark.parametrize("fault", FRAMES)
def test_stimulus(fault, folder, sr, program, neuromap):
    path = folder / "bad.safetensors"
    save_file(FRAMES[fault], path)
    out = folder / "out.trace"
    neuromap("simulate", program, "--stimulus", path, "-o", out).assert_refused(2, "bad.safetensors")
    neuromap("verify", sr, "--stimulus", path).assert_refused(2, "bad.safetensors")
    neuromap("report", sr, "--stimulus", path, "--html", folder / "out.html").assert_refused(2, "bad.safetensors")
    assert not out.exists()
    assert not (folder / "out.html").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--frames", "1"), ("--frames", "-3"), ("--density", "1.5"), ("--density", "nan"), ("--seed", "-1"),
        ("--frames", "1000000000000"),
    ],
)  # fmt: skip
def test_random_frames(words, sr, program, neuromap):
    neuromap("simulate", program, *words).assert_refused(2, "frames")
    neuromap("verify", sr, *words).assert_refused(2, "frames")


def test_a_density_beside_a_file_of_frames(sr, program, neuromap):
    for words in (("simulate", program), ("verify", sr), ("report", sr), ("explore", sr)):
        neuromap(*words, "--stimulus", "x", "--density", "0.5").assert_refused(2, "--stimulus and --density", "one of")


def test_a_file_that_is_missing_is_named_with_its_kind(sr, program, neuromap):
    for words, kind in (
        (("map", "nowhere"), "network file"), (("simulate", "nowhere"), "program file"),
        (("map", sr, "--chip", "no/where"), "chip file"), (("map", sr, "--pins", "nowhere"), "pins file"),
        (("map", sr, "--defects", "nowhere"), "defects file"), (("verify", sr, "--program", "nowhere"), "program file"),
        (("simulate", program, "--stimulus", "nowhere"), "file of frames"),
    ):  # fmt: skip
        neuromap(*words).assert_refused(2, "where: does not exist; give the path of a " + kind)


def test_delays_that_begin_with_the_greatest(neuromap):
    neuromap("bench", "--cores", "1", "--delays", "5-2").assert_refused(2, "delay 5 to 2", "give 2 to 5")


def test_runs_have_an_end(folder, sr, program, neuromap):
    for words in (("simulate", program), ("verify", sr), ("report", sr)):
        neuromap(*words, "--frames", "10000001").assert_refused(2, "10000001 frames", "at most 10000000 ticks")
    windowed = folder / "windowed.nmp"
    assert neuromap("map", sr, "--pattern", "hybrid", "-o", windowed).code == 0
    neuromap("simulate", windowed, "--frames", "5000001").assert_refused(2, "5000001 frames take 2 ticks")
    late = nm.load_program(windowed)
    late = replace(late, nodes=tuple(replace(port, sample_tick=port.sample_tick + 2**24) for port in late.nodes))
    late.save(windowed)
    for words in (("simulate", windowed), ("verify", sr, "--program", windowed), ("report", sr, "--program", windowed)):
        neuromap(*words).assert_refused(2, "from tick 16777", "at most 10000000 ticks")


def test_frames_from_two_places(folder, program, neuromap):
    words = ("--stimulus", folder / "frames.safetensors", "--frames", "4")
    neuromap("simulate", program, *words).assert_refused(2, "--stimulus", "--frames")


@pytest.mark.parametrize("cut", [0, 7, 8, 100, -1])
def test_truncated_program(cut, folder, sr, program, neuromap):
    path = folder / "cut.nmp"
    path.write_bytes(program.read_bytes()[:cut])
    neuromap("simulate", path).assert_refused(2, "cut.nmp")
    neuromap("verify", sr, "--program", path).assert_refused(2, "cut.nmp")


def test_program_of_another_network(folder, program, neuromap):
    other = folder / "other.toml"
    other.write_text(MINIMAL + '[edges."I -> O"]\n' + DENSE)
    neuromap("verify", other, "--program", program, "--pattern", "streaming").assert_refused(2, "I")


@pytest.mark.parametrize(
    "words",
    [
        ("map", "SR", "-o", "DIR/missing/out.nmp"),
        ("report", "SR", "--html", "DIR/missing/out.html"),
        ("report", "SR", "--csv", "DIR/missing/out.csv"),
        ("report", "SR", "--json-file", "DIR/missing/out.json"),
        ("simulate", "PROGRAM", "-o", "DIR/missing/out.trace"),
    ],
)
def test_folder_that_does_not_exist(words, folder, sr, program, neuromap):
    places = {"SR": str(sr), "PROGRAM": str(program)}
    words = [places.get(w, w.replace("DIR", str(folder))) for w in words]
    before = sorted(folder.iterdir())
    neuromap(*words).assert_refused(2, "missing", "does not exist")
    assert sorted(folder.iterdir()) == before


def test_folder_as_a_destination(folder, sr, neuromap):
    neuromap("map", sr, "-o", folder).assert_refused(2, "is a folder")


@pytest.mark.parametrize(
    "words",
    [
        (), ("nonsense",), ("rollouts",), ("rollouts", "a", "b"), ("map", "x", "--nonsense"), ("chips", "a", "b"),
        ("simulate", "x", "--frames", "many"), ("simulate", "x", "--density"), ("--nonsense",),
    ],
)  # fmt: skip
def test_usage(words, neuromap):
    neuromap(*words).assert_refused(2)


def test_limits_of_listing(sr, neuromap):
    for limit in ("0", "-1", "100001", "9" * 30):
        neuromap("rollouts", sr, "--all", "--limit", limit).assert_refused(2, f"--limit {limit}", "1 to 100000")
    neuromap("rollouts", sr, "--all", "--pattern", "streaming").assert_refused(2, "--all")


@pytest.mark.parametrize(
    ("words", "kind", "code"),
    [
        (("rollouts", "nowhere.toml"), "NetworkError", 2),
        (("map", "SR", "--pattern", "H1 -> O"), "PatternError", 2),
        (("chips", "loihi9"), "ChipError", 2),
        (("nonsense",), "UsageError", 2),
        (("map",), "UsageError", 2),
    ],
)
def test_errors_as_json(words, kind, code, sr, neuromap):
    done = neuromap(*(str(sr) if w == "SR" else w for w in words), "--json")
    assert done.code == code
    assert done.err.count("\n") == 1
    error = done.json["error"]
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert done.told == f"{error['message']}\n"
    assert error.get("cycle") == (["H1"] if kind == "PatternError" else None)


def test_nothing_is_left_behind(folder, sr, neuromap):
    before = sorted(folder.iterdir())
    neuromap("map", sr, "--chip", folder / "tiny.toml", "-o", folder / "out.nmp")
    neuromap("map", sr, "--pattern", "H1 -> O", "-o", folder / "out.nmp")
    neuromap("report", sr, "--patterns", "nonsense", "--html", folder / "o.html", "--csv", folder / "o.csv")
    assert sorted(folder.iterdir()) == before


def listed_mistakes():
    """What is typed after the name of a command, with what its line must hold, by command."""
    found = {}
    for line in Path(__file__).with_name("mistakes.txt").read_text().splitlines():
        if line.startswith("["):
            mistakes = found.setdefault(line.strip("[]"), [])
        elif " | " in f" {line}" and not line.startswith("#"):
            words, told = f" {line}".split(" | ")
            mistakes.append((shlex.split(words), told.split(" ... ")))
    return found


MISTAKES = listed_mistakes()


@pytest.mark.parametrize("command", COMMANDS)
def test_ten_mistakes_of_beginners(command, folder, program, neuromap, monkeypatch, root_of_examples):
    """One line each, which names the command, the place and the next step; nothing is written or printed."""
    if command in ("train", "search", "experiment"):
        pytest.importorskip("torch")
    if command == "import":
        pytest.importorskip("onnx")
    elif command == "studio":
        pytest.importorskip("uvicorn")
    elif command in ("accuracy", "search"):
        pytest.importorskip("sklearn")
    monkeypatch.chdir(folder)
    (folder / "net.nir").write_bytes((root_of_examples / "examples" / "nir" / "snntorch.nir").read_bytes())
    (folder / "script.py").touch()
    (folder / "sweep.toml").write_text('format = 1\nnetworks = ["sr.toml"]\n')
    (folder / "bad_sweep.toml").write_text('format = 1\nnetworks = ["sr.toml"]\npatern = ["streaming"]\n')
    before = set(folder.iterdir())
    assert len(MISTAKES[command]) == 10
    for words, told in MISTAKES[command]:
        done = neuromap(command, *words)
        done.assert_refused(done.code, f"neuromap {command}: ", *told)
        assert done.code in (2, 3), words
        assert re.search(".*?".join(map(re.escape, told)), done.err), words
    assert set(folder.iterdir()) == before
