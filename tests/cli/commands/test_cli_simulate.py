"""Recording, long traces, batches and engines at the command line."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import neuromap as nm
from neuromap.simulation.run.simulate import simulate

START = """
import os
import threading
from neuromap.cli.main import main

first = threading.Lock()  # never given back: of several threads that start at once, one tells

def tell_of_the_first(frame, event, argument):
    if event == "call" and frame.f_code.co_name == "_run_part" and first.acquire(blocking=False):
        os.write(1, b"started\\n")

threading.setprofile(tell_of_the_first)
raise SystemExit(main())
"""
"""Say so when the first thread of a batch is at work."""


@pytest.fixture
def frames(folder):
    return {"I": load_file(folder / "frames.safetensors")["I"]}


@pytest.fixture
def stimuli(folder):
    values = {"I": (np.random.default_rng(3).random((25, 7, 16)) < 0.5).astype(np.uint8)}
    save_file(values, folder / "stimuli.safetensors")
    return values["I"]


# Recording


@pytest.mark.parametrize("suffix", ["trace", "h5", "HDF5"])
def test_what_is_asked_for_is_in_the_file(folder, program, frames, neuromap, suffix):
    out = folder / f"out.{suffix}"
    done = neuromap(
        "simulate", program, "--stimulus", folder / "frames.safetensors", "--record", "outputs, node:H1,core:0",
        "--record-potentials", "node:H2", "--record-counts", "-o", out,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    found = nm.load_trace(out)
    record = nm.Recording("outputs,node:H1,core:0", "node:H2", counts=True)
    expected = simulate(nm.load_program(program), frames, record=record)
    for name in ("tick", "node", "index", "core", "neuron", "counts"):
        assert (getattr(found, name) == getattr(expected, name)).all()
    assert (found.potentials("H2") == expected.potentials("H2")).all()


def test_both_kinds_of_file_are_told_of_in_the_same_words(folder, program, neuromap):
    words = ["simulate", program, "--frames", "40", "--record", "all"]
    plain, long = (neuromap(*words, "-o", folder / name) for name in ("out.trace", "out.h5"))
    assert plain.out.replace("out.trace", "") == long.out.replace("out.h5", "")
    plain, long = (neuromap(*words, "--json", "-o", folder / name).json for name in ("out.trace", "out.h5"))
    assert plain["recorded_spikes"] == long["recorded_spikes"] > plain["outputs"]["O"]["spikes"]
    assert set(plain["hidden"]) == {"H1", "H2"}
    for kind in ("outputs", "hidden"):
        for name, node in plain[kind].items():
            assert node["spikes_per_frame"] == [len(row) for row in node["spiking_neurons_per_frame"]]
            assert long[kind][name] == {**node, "spiking_neurons_per_frame": None}


def test_a_run_may_keep_no_spikes(folder, program, neuromap):
    done = neuromap("simulate", program, "--record", "core:0", "--json")
    assert (done.code, done.json["outputs"]) == (0, {})
    assert neuromap("simulate", program, "--record", "core:0").code == 0


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--record", "H1"], "recording 'H1': is not a choice of neurons"),
        (["--record", ""], "recording '': is not a choice of neurons"),
        (["--record", "outputs,"], "recording '': is not a choice of neurons"),
        (["--record", "node:H9"], "recording node:H9: program SR has no such node; nodes are H1, H2, O"),
        (["--record", "core:99"], "recording core:99: program SR has cores 0 to"),
        (["--record-potentials", "node:I"], "recording node:I: is an input"),
    ],
)
def test_choices_that_mean_nothing_are_refused(program, neuromap, words, found):
    done = neuromap("simulate", program, *words)
    assert (done.code, done.out) == (2, "")
    assert found in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_half_hdf5_file(folder, program, ending, ended):
    out = folder / "out.h5"
    process = subprocess.Popen(
        [sys.executable, "-m", "neuromap", "simulate", program, "--frames", "3000000", "--record", "all", "-o", out],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(folder.glob(".neuromap-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(ending)
    stdout, stderr = ended(process)
    assert (stdout, stderr) == ("", "neuromap: interrupted\n")
    assert process.returncode == 130
    assert not out.exists()
    assert not list(folder.glob(".neuromap-*"))


# Batches


def test_stimuli_run_one_by_one(folder, program, stimuli, neuromap):
    out = folder / "answers.safetensors"
    done = neuromap("simulate", program, "--stimulus", folder / "stimuli.safetensors", "-o", out, "--json")
    assert (done.code, done.err) == (0, "")
    expected = np.array([simulate(nm.load_program(program), {"I": rows}).frames("O") for rows in stimuli])
    assert (load_file(out)["O"] == expected).all()
    with safe_open(out, framework="numpy") as file:
        assert file.metadata()["format"] == "neuromap batch"
    found = done.json["outputs"]["O"]
    assert (done.json["stimuli"], done.json["frames"]) == (25, 7)
    assert found["spikes_per_neuron"] == expected.sum(axis=1).tolist()
    assert found["spikes"] == expected.sum()
    assert found["stray_spikes"] == [0] * 25
    text = neuromap("simulate", program, "--stimulus", folder / "stimuli.safetensors", "--threads", "2").out
    assert "25 stimuli of 7 frames" in text
    assert "5 more stimuli" in text
    assert f"O: {expected.sum()} spikes of 3 neurons in 25 stimuli of 6 frames, 0 outside frames" in text


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["-o", "DIR/x.h5"], "many stimuli are written as safetensors"),
        (["--record", "core:0"], "recording core:0: a batch keeps frames of nodes only"),
        (["--record-counts"], "recording of counts: a batch keeps frames of nodes only"),
        (["--record-potentials", "outputs"], "recording of potentials: a batch keeps frames of nodes only"),
        (["--frames", "3"], "--stimulus and --frames: give one of them"),
    ],
)
def test_what_a_batch_does_not_do_is_refused(folder, program, stimuli, neuromap, words, found):
    words = [word.replace("DIR", str(folder)) for word in words]
    done = neuromap("simulate", program, "--stimulus", folder / "stimuli.safetensors", *words)
    assert (done.code, done.out) == (2, "")
    assert found in done.err
    assert not (folder / "x.h5").exists()


@pytest.mark.parametrize("shape", [(2, 3, 17), (2, 1, 16), (2, 3, 4, 16), (0, 3, 16)])
def test_stimuli_that_do_not_fit_are_refused(folder, program, neuromap, shape):
    save_file({"I": np.zeros(shape, np.uint8)}, folder / "bad.safetensors")
    done = neuromap("simulate", program, "--stimulus", folder / "bad.safetensors")
    assert (done.code, done.out) == (2, "")
    assert "bad.safetensors" in done.err
    assert done.err.count("\n") == 1


def test_verify_and_report_take_one_stimulus(folder, sr, stimuli, neuromap):
    for command in ("verify", "report"):
        done = neuromap(command, sr, "--stimulus", folder / "stimuli.safetensors")
        assert done.code == 2
        assert "shape (25, 7, 16); must be (n_frames, 16) or (n_frames, 4, 4, 1)" in done.err


def test_an_interrupt_ends_a_batch_without_a_file(folder, program, ended):
    save_file({"I": np.zeros((100_000, 20, 16), np.uint8)}, folder / "many.safetensors")
    out = folder / "answers.safetensors"
    process = subprocess.Popen(
        [sys.executable, "-c", START, "simulate", program, "--stimulus", folder / "many.safetensors", "-o", out]
        + ["--engine", "numpy"],  # the other one is done before it hears of it
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "started\n"
    process.send_signal(signal.SIGINT)
    stdout, stderr = ended(process)
    assert (process.returncode, stdout, stderr) == (130, "", "neuromap: interrupted\n")
    assert not out.exists()
    assert not list(folder.glob(".neuromap-*"))


# Engines


@pytest.mark.parametrize("command", ["simulate", "verify", "report"])
def test_engines_and_threads_change_no_figure(command, program, sr, neuromap):
    words = [command, program if command == "simulate" else sr, "--frames", "12", "--json"]
    plain = neuromap(*words)
    assert plain.code == 0
    for more in (["--engine", "numpy"], ["--engine", "fast", "--threads", "3"], ["--noise-seed", "5"]):
        assert neuromap(*words, *more).out == plain.out


@pytest.mark.parametrize("command", ["simulate", "verify", "report"])
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--engine", "slow"], "--engine slow: is not known; engines are fast, numpy"),
        (["--threads", "0"], "threads 0: must be a whole number from 1 to 1024"),
        (["--threads", "-3"], "threads -3: must be a whole number from 1 to 1024"),
        (["--threads", "100000"], "threads 100000: must be a whole number from 1 to 1024"),
        (["--threads", "many"], "--threads many: must be a whole number from 1 to 1024"),
        (["--threads", "1.5"], "--threads 1.5: must be a whole number from 1 to 1024"),
        (["--noise-seed", "-1"], "--noise-seed -1: is not allowed"),
        (["--noise-seed", str(2**64)], "--noise-seed 18446744073709551616: is not allowed"),
        (["--noise-seed", "x"], "--noise-seed x: must be a whole number, 0 or more"),
    ],
)
def test_wrong_engines_threads_and_seeds_are_refused(command, words, found, program, sr, neuromap):
    done = neuromap(command, program if command == "simulate" else sr, *words)
    assert (done.code, done.out) == (2, "")
    assert found in done.err
    assert ("numpy, mpi" in done.err) == (command == "simulate" and "slow" in words)
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--resume", "ck", "-o", "ck.part000001"], "--output ck.part000001: is a part of checkpoint ck"),
        (
            ["--resume", "ck", "--checkpoint", "ck", "-o", "./ck.part000009"],
            "--output ./ck.part000009: is a part of checkpoint ck",
        ),
        (["--checkpoint", "ck.part999999", "--resume", "ck"], "--checkpoint ck.part999999: is a part of checkpoint ck"),
        (["--checkpoint", "ck"], "checkpoint ck: is there already, and its parts would be overwritten before it"),
        (["--checkpoint", "a.nmp"], "--checkpoint a.nmp: would write a part in the place of the program file"),
    ],
)
def test_no_file_takes_the_place_of_a_part(folder, program, neuromap, monkeypatch, words, found):
    monkeypatch.chdir(folder)
    neuromap("simulate", program, "--checkpoint", "ck", "--every", "5")
    renamed = program.rename("a.nmp.part000001") if "a.nmp" in words else program
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = neuromap("simulate", renamed, *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert found in done.err
    assert before == {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
