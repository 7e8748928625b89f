"""The digits networks: weights, split, stated accuracies, chip and stimulus."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

import neuromap as nm

pytest.importorskip("sklearn", reason="the digits ship inside scikit-learn: install neuromap-rollouts[examples]")

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
NETS = {
    "ff": ("streaming", "sequential"),
    "s": ("streaming", "sequential"),
    "sr": ("streaming", "sequential", "hybrid"),
    "sr_ternary": ("streaming", "sequential", "hybrid"),
}
SIGN_FIXED = ("ff", "s", "sr")
FRAMES = 12
FRAME_COLUMNS = (1, 2, 3, 6, 12)


def script(monkeypatch, name):
    """Import a script as Python does when it is started: its folder comes first on the path."""
    monkeypatch.syspath_prepend(str(DIGITS))
    for module in ("accuracy", "data", "stimulus"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return importlib.import_module(name)


@pytest.fixture
def data(monkeypatch):
    return script(monkeypatch, "data")


@pytest.fixture(scope="module")
def networks():
    return {name: nm.load_network(DIGITS / f"{name}.toml") for name in NETS}


def stated_rows():
    """Rows of the tables in README.md: net, pattern and figures, in the order of the file."""
    rows = []
    for line in (DIGITS / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells[0] in NETS and re.fullmatch(r"streaming|sequential|hybrid", cells[1]):
            rows.append((cells[0], cells[1], *(float(cell) for cell in cells[2:])))
    return rows


# weights


@pytest.mark.parametrize("name", NETS)
def test_weights_are_ternary_and_thresholds_fit_the_leak(networks, name):
    for edge in networks[name].edges.values():
        assert set(np.unique(edge.matrix().data)) == {-1, 1}
    for node in networks[name].nodes.values():
        if node.name != "I":
            assert node.threshold.min() >= 1
            assert node.threshold.max() <= 255


@pytest.mark.parametrize("name", NETS)
def test_only_the_ternary_network_has_neurons_that_both_excite_and_inhibit(networks, name):
    net = networks[name]
    mixed = 0
    for source in ("H1", "H2"):
        columns = np.concatenate([e.matrix().toarray() for (u, _), e in net.edges.items() if u == source])
        mixed += int(((columns > 0).any(axis=0) & (columns < 0).any(axis=0)).sum())
    assert (mixed == 0) == (name in SIGN_FIXED)


@pytest.mark.parametrize("name", NETS)
def test_weights_file_is_small_and_in_few_bits(name):
    path = DIGITS / f"{name}.safetensors"
    assert path.stat().st_size < 16_384
    assert {tensor.dtype for tensor in load_file(path).values()} == {np.dtype(np.int8)}


def test_structures_are_those_of_the_paper(networks):
    ff = {("I", "H1"), ("H1", "H2"), ("H2", "O")}
    assert set(networks["ff"].edges) == ff
    assert set(networks["s"].edges) == ff | {("H1", "O")}
    assert set(networks["sr"].edges) == set(networks["sr_ternary"].edges) == ff | {("H1", "O"), ("H1", "H1")}
    for name, net in networks.items():
        assert net.nodes["H1"].shape == ((4, 4, 8) if name in SIGN_FIXED else (4, 4, 4))
        assert net.nodes["H2"].shape == (1, 1, 32)


# data


def test_held_out_digits_are_no_training_digits_and_all_classes_have_their_share(data):
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    (train, train_labels), (held, held_labels) = data.load("train"), data.load("held-out")
    assert (len(train), len(held)) == (1397, 400)
    assert not {x.tobytes() for x in train} & {x.tobytes() for x in held}
    assert sorted(x.tobytes() for x in np.concatenate([train, held])) == sorted((x / 16.0).tobytes() for x in images)
    share = np.bincount(held_labels) - np.bincount(labels) * 400 / 1797
    assert np.abs(share).max() <= 1
    assert (np.bincount(train_labels) + np.bincount(held_labels) == np.bincount(labels)).all()


def test_frames_are_draws_with_the_intensity_as_probability(data):
    intensities = np.array([[0.0, 0.25, 1.0]])
    frames = data.encode(intensities, 4000, seed=3)
    assert frames.shape == (1, 4000, 3)
    mean = frames.mean(axis=(0, 1))
    assert mean[0] == 0
    assert mean[2] == 1
    assert mean[1] == pytest.approx(0.25, abs=0.03)
    assert np.array_equal(frames, data.encode(intensities, 4000, seed=3))
    assert not np.array_equal(frames, data.encode(intensities, 4000, seed=4))


def test_votes_are_counted_in_the_frames_that_answer(data):
    images, frames, lag = 2, 3, 2
    spikes = np.zeros((1 + images * frames + data.TAIL, 40), dtype=bool)
    spikes[1 + lag, 4 * 7] = True  # first answer to the first image: one vote for 7
    spikes[1 + lag + frames + 2, [36, 37, 39]] = True  # third answer to the second: three votes for 9
    votes = data.tally(spikes, images, frames, lag)
    assert votes[0, 0, 7] == 1
    assert votes[1, 2, 9] == 3
    assert votes.sum() == 4


# accuracy


@pytest.mark.parametrize("name", NETS)
def test_held_out_accuracies_are_those_that_the_readme_states(networks, data, name):
    stated = [row for row in stated_rows() if row[0] == name]
    by_frame = {row[1]: row[2:] for row in stated if len(row) == 2 + 2 * len(FRAME_COLUMNS)}
    by_step = {row[1]: row[2:] for row in stated if len(row) == 8}
    assert tuple(by_frame) == tuple(by_step) == NETS[name]
    images, labels = data.load("held-out")
    frames = data.stream(images, FRAMES, seed=1)
    for pattern in NETS[name]:
        rollout = nm.Rollout(networks[name], pattern)
        spikes = nm.reference(rollout, {"I": frames})["O"]
        single, accumulated = data.curves(rollout, spikes, labels, FRAMES)
        computed = [curve[k - 1] for curve in (single, accumulated) for k in FRAME_COLUMNS]
        assert by_frame[pattern] == pytest.approx(computed, abs=6e-4)
        period, first, *at_steps = by_step[pattern]
        assert (period, first) == (rollout.frame_period, rollout.first_response("O"))
        # A frame is complete once every update step up to its own has been made.
        known = [accumulated[int((step - first) // period)] for step in (3, 6, 9, 12)]
        assert at_steps == pytest.approx(known, abs=6e-4)
        assert accumulated[-1] >= 0.9


def test_the_rows_of_the_readme_are_what_the_script_prints(monkeypatch, capsys):
    script(monkeypatch, "accuracy")
    monkeypatch.setattr(sys, "argv", ["accuracy.py", str(DIGITS / "ff.toml"), "--rows"])
    assert sys.modules["accuracy"].main() == 0
    stated = [
        line for line in (DIGITS / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ff |")
    ]
    assert capsys.readouterr().out.splitlines() == stated


def test_equivalent_patterns_answer_alike_up_to_whole_frames(networks, data):
    frames = {"I": data.stream(data.load("held-out")[0][:20], 5, seed=2)}
    for name, late, early, shift in (("ff", "streaming", "sequential", 3), ("sr", "hybrid", "sequential", 1)):
        p, q = (nm.Rollout(networks[name], pattern) for pattern in (late, early))
        moved = nm.rollout.equivalent(q.pattern, p.pattern)
        assert moved is not None
        assert abs(moved["O"]) == shift
        a, b = (nm.reference(r, frames)["O"] for r in (p, q))
        # Frame 0 of the input reaches streaming edges only; it is blank, and blank input leaves O silent.
        assert np.array_equal(a[shift:], b[:-shift])


# chip


@pytest.mark.parametrize("name", NETS)
def test_fits_truenorth_under_every_pattern_and_is_verified(networks, data, name):
    frames = {"I": data.stream(data.load("held-out")[0][:2], 3, seed=5)}
    for pattern in NETS[name]:
        for execution in ("windowed", "pipelined"):
            rollout = nm.Rollout(networks[name], pattern, execution=execution)
            program = nm.map_rollout(rollout, chip="truenorth")
            assert not nm.check_program(program)
            found = nm.verify(rollout, program, frames)
            assert found.verified
            assert found.n_spikes > 0


# scripts


def run(monkeypatch, module, *arguments):
    monkeypatch.setattr(sys, "argv", ["stimulus.py", *map(str, arguments)])
    return module.main()


def test_stimulus_file_shows_held_out_digits(monkeypatch, tmp_path, data, networks):
    stimulus = script(monkeypatch, "stimulus")
    path = tmp_path / "digits.safetensors"
    assert run(monkeypatch, stimulus, path, "--digits", 5, "--frames", 4) == 0
    with safe_open(path, framework="numpy") as file:
        assert list(file.keys()) == ["I"]
        frames, metadata = file.get_tensor("I"), file.metadata()
    images, labels = data.load("held-out")
    assert frames.dtype == np.uint8
    assert np.array_equal(frames, data.stream(images[:5], 4, seed=1))
    assert not frames[0].any()
    assert not frames[-data.TAIL :].any()
    assert json.loads(metadata["digits"]) == {
        "labels": labels[:5].tolist(),
        "first_frame": 1,
        "frames_per_digit": 4,
    }
    assert nm.reference(nm.Rollout(networks["sr"], "streaming"), {"I": frames})["O"].any()
    again = tmp_path / "again.safetensors"
    assert run(monkeypatch, stimulus, again, "--digits", 5, "--frames", 4) == 0
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "wrong", [("--digits", 0), ("--digits", 401), ("--frames", 0), ("--seed", -1), ("--digits", "x")]
)
def test_stimulus_refuses_wrong_numbers(monkeypatch, tmp_path, capsys, wrong):
    stimulus = script(monkeypatch, "stimulus")
    with pytest.raises(SystemExit) as stop:
        run(monkeypatch, stimulus, tmp_path / "out.safetensors", *wrong)
    assert stop.value.code == 2
    assert wrong[0] in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_stimulus_names_a_folder_that_is_not_there(monkeypatch, tmp_path, capsys):
    stimulus = script(monkeypatch, "stimulus")
    assert run(monkeypatch, stimulus, tmp_path / "absent" / "out.safetensors") == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "absent" in message
