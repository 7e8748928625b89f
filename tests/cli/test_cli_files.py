"""Files at the command line: no input is overwritten, nothing but regular files is read."""

import os
import subprocess
import sys

import pytest
from safetensors.numpy import save_file

WORDS = {
    "network file": ("map", "sr.toml", "-o", "sr.toml"),
    "network file by another name": ("map", "sr.toml", "-o", "link.toml"),
    "network file of a report": ("report", "sr.toml", "--csv", "sr.toml"),
    "chip file": ("map", "sr.toml", "--chip", "./tiny.toml", "-o", "tiny.toml"),
    "chip file of a report": ("report", "sr.toml", "--chip", "tiny.toml", "--json-file", "tiny.toml"),
    "program file": ("simulate", "sr.nmp", "-o", "./sr.nmp"),
    "program file of a report": ("report", "sr.toml", "--program", "sr.nmp", "--html", "sr.nmp"),
    "stimulus file": ("simulate", "sr.nmp", "--stimulus", "frames.safetensors", "-o", "frames.safetensors"),
    "stimulus file of a report": (
        "report", "sr.toml", "--stimulus", "frames.safetensors", "--csv", "frames.safetensors"
    ),
    "weights file": ("map", "stored.toml", "-o", "w.safetensors"),
    "weights file of a training": ("train", "stored.toml", "--for", "truenorth", "-o", "w.toml"),
    "chip file of a training": ("train", "sr.toml", "--for", "tiny.toml", "-o", "tiny.toml"),
    "chip file of an accuracy": ("accuracy", "sr.toml", "--chip", "tiny.toml", "--csv", "tiny.toml"),
    "image file of an accuracy": ("accuracy", "sr.toml", "--data", "npz:images.npz", "--csv", "images.npz"),
    "image file of a report": ("report", "sr.toml", "--data", "npz:images.npz", "--html", "images.npz"),
    "image file of an exploration": (
        "explore", "sr.toml", "--deadline", "3ms", "--data", "npz:images.npz", "--csv", "images.npz"
    ),
    "experiment file": ("experiment", "e.toml", "--csv", "e.toml"),
    "file of results": ("experiment", "e.toml", "--folder", "kept", "--csv", "kept/results"),
    "search.json of the search": ("search", "sr.toml", "--data", "digits", "-o", "kept", "--html", "kept/search.json"),
    "weights file of the network file": (
        "search", "sr.toml", "stored.toml", "--data", "digits", "--csv", "w.safetensors"
    ),
    "network file of an earlier front": (
        "search", "sr.toml", "--data", "digits", "-o", "kept", "--html", "kept/streaming.toml"
    ),
    "weights file of the trained network": (
        "explore", "sr.toml", "--deadline", "3ms", "--trained", "streaming=stored.toml", "--csv", "w.safetensors"
    ),
}  # fmt: skip


@pytest.fixture
def place(folder, program, monkeypatch):
    """The folder, as the current one, with a second name for the network and a network with stored weights."""
    import numpy as np

    (folder / "link.toml").symlink_to("sr.toml")
    (folder / "stored.toml").write_text(
        "format = 1\n[nodes.I]\nshape = [1, 1, 2]\n[nodes.O]\nshape = [1, 1, 2]\nthreshold = 1\n"
        '[edges."I -> O"]\ntransform = "dense"\n[weights]\nfile = "w.safetensors"\n'
    )
    save_file({"I -> O": np.ones((2, 2), dtype=np.int8)}, folder / "w.safetensors")
    (folder / "e.toml").write_text(
        'format = 1\ntitle = "t"\ndata = "digits"\nrepetitions = 1\n[training]\n'
        '[[curves]]\nnetwork = "sr.toml"\npattern = "streaming"\n'
    )
    (folder / "images.npz").write_bytes(b"")
    (folder / "kept").mkdir()
    for name in ("results", "search.json", "streaming.toml"):
        (folder / "kept" / name).write_text("kept")
    monkeypatch.chdir(folder)
    return folder


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("what", WORDS)
def test_an_input_is_not_overwritten(what, place, neuromap):
    before = contents(place)
    done = neuromap(*WORDS[what])
    assert (done.code, done.out) == (2, "")
    assert f"is the {' '.join(what.split()[:2])}" in done.err
    assert " itself; give another file" in done.err
    assert contents(place) == before


def test_a_packaged_chip_is_no_file(place, neuromap):
    (place / "truenorth").write_text("old")
    assert neuromap("map", "sr.toml", "--chip", "truenorth", "-o", "truenorth").code == 0


def test_a_file_is_named_once(place, neuromap):
    before = contents(place)
    for other in ("a.csv", "./a.csv", str(place / "a.csv")):
        done = neuromap("report", "sr.toml", "--csv", "a.csv", "--html", other)
        assert (done.code, done.out) == (2, "")
        assert "is named twice" in done.err
    done = neuromap("train", "sr.toml", "--for", "truenorth", "-o", "a.toml", "--checkpoint", "a.safetensors")
    assert (done.code, done.out) == (2, "")
    assert "--output, its weights a.safetensors: is named twice, by --checkpoint too" in done.err
    assert contents(place) == before


def test_the_file_that_is_named_is_written(place, neuromap):
    pytest.importorskip("sklearn")
    (place / "ten.toml").write_text(
        "format = 1\n[nodes.I]\nshape = [8, 8, 1]\n[nodes.O]\nshape = [1, 1, 10]\nthreshold = 9\n"
        '[inputs.I]\ncode = "threshold"\n'
        '[edges."I -> O"]\ntransform = "dense"\nweights = { seed = 1, values = [-1, 0, 1] }\n'
    )
    before = set(contents(place))
    assert neuromap("accuracy", "ten.toml", "--limit", "5", "--csv", "frames.txt").code == 0
    assert set(contents(place)) - before == {"frames.txt"}


def test_all_outputs_or_none(place, neuromap):
    (place / "a.html").write_text("old")
    done = neuromap("report", "sr.toml", "--html", "a.html", "--csv", "nowhere/a.csv")
    assert (done.code, done.out) == (2, "")
    assert (place / "a.html").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("-", "/dev/stdout"),
        ("-x", "./-x"),
        ("new/", "is a folder"),
        ("", "is not a file; give its name"),
        ("loop", "links"),
    ],
)
def test_names_that_are_no_file(name, words, place, neuromap):
    (place / "loop").symlink_to("loop")
    before = contents(place)
    done = neuromap("map", "sr.toml", "-o", name)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert contents(place) == before


def test_a_report_into_stdout(place):
    words = [sys.executable, "-m", "neuromap", "report", "sr.toml", "--patterns", "hybrid", "--csv", "/dev/stdout"]
    piped = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    with (place / "both").open("wb") as stream:
        subprocess.run(words, stdout=stream, check=True)
    for text in (piped, (place / "both").read_text()):
        assert text.startswith("network,chip,")
        assert text.endswith("written to /dev/stdout\n")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_what_is_no_regular_file_is_not_read(kind, place, neuromap):
    (place / "odd.toml").symlink_to("/dev/zero") if kind == "device" else os.mkfifo(place / "odd.toml")
    for words in (
        ("rollouts", "odd.toml"),
        ("map", "odd.toml", "-o", "sr.nmp"),
        ("map", "sr.toml", "--chip", "odd.toml"),
        ("chips", "odd.toml"),
        ("simulate", "odd.toml"),
        ("verify", "sr.toml", "--program", "odd.toml"),
    ):
        done = neuromap(*words)
        assert (done.code, done.out) == (2, "")
        assert "odd.toml: is not a regular file" in done.err


@pytest.mark.parametrize("command", ["verify", "report"])
def test_a_program_has_its_chip(command, place, neuromap):
    done = neuromap(command, "sr.toml", "--program", "sr.nmp", "--chip", "truenorth")
    assert (done.code, done.out) == (2, "")
    assert "--program and --chip truenorth" in done.err


def test_pictures_and_other_files_do_not_meet(place, neuromap):
    words = ("report", "sr.toml", "--patterns", "streaming", "--executions", "windowed", "--frames", "4")
    (place / "pics").mkdir()
    done = neuromap(*words, "--figures", "pics", "--html", "pics/streaming-windowed-chip.svg")
    assert (done.code, done.out) == (2, "")
    assert "--html pics/streaming-windowed-chip.svg: may be the name of a figure" in done.err
    assert not list((place / "pics").iterdir())
    assert neuromap(*words, "--figures", "pics", "--html", "pics/page.html").code == 0
    names = {path.name for path in (place / "pics").iterdir()}
    assert names > {"page.html", "overview.svg", "streaming-network.svg", "streaming-windowed-chip.svg"}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")  # noqa: PTH110
def test_a_full_device_is_named_and_no_picture_stays(place, neuromap):
    words = ("report", "sr.toml", "--patterns", "streaming", "--executions", "windowed", "--frames", "4")
    done = neuromap(*words, "--figures", "newp", "--html", "/dev/full")
    assert (done.code, done.out) == (2, "")
    assert "/dev/full: cannot be written (No space left" in done.err
    assert not (place / "newp").exists()


def test_a_program_of_another_frame_period_fails(place, neuromap):
    words = ("--pattern", "hybrid", "--execution")
    assert neuromap("map", "sr.toml", *words, "pipelined:7", "-o", "p7.nmp").code == 0
    done = neuromap("verify", "sr.toml", *words, "pipelined:2", "--program", "p7.nmp", "--frames", "5", "--json")
    assert (done.code, done.json["verified"]) == (5, False)
    assert "frame period of the program is 7 ticks, that of the rollout 2" in done.err
    assert neuromap("verify", "sr.toml", "--program", "p7.nmp", "--frames", "5").code == 0
