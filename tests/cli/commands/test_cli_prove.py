"""``neuromap prove``: proven for every input, or each fault in a line and frames that show it."""

from dataclasses import replace

import numpy as np
import pytest

import neuromap as nm


@pytest.fixture
def broken(program, tmp_path):
    """The program with another threshold of an output neuron."""
    found = nm.load_program(program)
    core, n = found.outputs.core[0], found.outputs.neuron[0]
    threshold = found.neurons.threshold.copy()
    threshold[core, n] += 1
    path = tmp_path / "broken.nmp"
    replace(found, neurons=replace(found.neurons, threshold=threshold)).save(path)
    return path


def test_a_mapped_program_is_proven(sr, neuromap):
    done = neuromap("prove", sr, "--pattern", "hybrid", "--execution", "pipelined")
    assert done.code == 0
    assert "SR (hybrid, pipelined) on truenorth: proven for every input" in done.out
    assert "equal sums, equal thresholds" in done.out
    assert "counterexample" not in done.out


def test_what_is_proven_has_no_frames_to_write(sr, tmp_path, neuromap):
    frames = tmp_path / "f"
    done = neuromap("prove", sr, "--frames", frames)
    assert f"no counterexample, so {frames} is not written" in " ".join(done.out.split())
    assert not frames.exists()


def test_a_program_file_is_proven_as_json(sr, program, neuromap):
    found = neuromap("prove", sr, "--program", program, "--json").json
    assert found["proven"]
    assert (found["n_faults"], found["explanations"], found["counterexample"]) == (0, [], None)
    held = nm.load_program(program)
    assert sum(found["lemmas"].values()) == held.neuron_node.size


def test_a_fault_is_told_and_shown_by_frames_that_verify_takes(sr, broken, tmp_path, neuromap):
    frames = tmp_path / "differs.safetensors"
    done = neuromap("prove", sr, "--program", broken, "--frames", frames)
    assert done.code == 5
    assert "(copy of O[0]): compares with another threshold: spikes from a sum of" in " ".join(done.out.split())
    assert done.err.startswith("neuromap prove: not proven: 1 fault; they differ in ")
    assert "O[0]" in done.err
    shown = neuromap("verify", sr, "--program", broken, "--stimulus", frames)
    assert shown.code == 5
    assert "first node O" in shown.err
    assert set(nm.simulation.load_frames(frames)) == {"I"}


def test_a_fault_as_json_says_which_spikes_show_it(sr, broken, neuromap):
    done = neuromap("prove", sr, "--program", broken, "--json")
    found, shown = done.json, done.json["counterexample"]
    assert (done.code, found["proven"], found["n_faults"]) == (5, False, 1)
    rows = np.zeros((shown["n_frames"], 16), np.bool_)
    for frame, neuron in shown["spikes"]["I"]:
        rows[frame, neuron] = True
    program = nm.load_program(broken)
    rollout = nm.Rollout(nm.load_network(sr), program.pattern, program.execution)
    assert not nm.verify(rollout, program, {"I": rows}).verified


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--chip", "loihi1"), "give one of them, a program holds its chip"),
        (("--placer", "hilbert"), "has no meaning with --program"),
        (("--frames", "nowhere/differs.safetensors"), "--frames nowhere"),
        (("--frames", "a.safetensors", "--check", "a.proof"), "--check and --frames: give one of them"),
    ],
)
def test_what_means_nothing_is_refused(words, text, sr, program, neuromap):
    neuromap("prove", sr, "--program", program, *words).assert_refused(2, text)
