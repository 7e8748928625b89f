"""Experiments: files that come with the package, runs that resume, results beside published points."""

import csv
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from safetensors.numpy import load_file
from traffic_signs import write_gtsrb

import neuromap as nm
from neuromap.encoding import input_encodings
from neuromap.errors import InputError
from neuromap.experiments.experiment_file import list_experiments, load_experiment
from neuromap.experiments.experiment_result import CurveResult, first_answers, gather
from neuromap.experiments.experiment_run import run_experiment
from neuromap.jobs.results_file import with_checksum
from neuromap.rollout.pattern import first_frame
from neuromap.training.training_result import frame_times

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits" / "real" / "experiment.toml"


PARAMETERS = (407498, 435178, 767018, 803914, 1172618, 1218730, 1624298)
"""Of DSR0 to DSR6, as the publication counts them."""


def networks_of(name):
    return {curve.network.name: curve.network for curve in load_experiment(name).curves}.values()


@pytest.mark.parametrize("name", list_experiments())
def test_packaged_networks_are_those_of_the_structures(name):
    """The same nodes, edges, kernels; of networks that are called thinned, shapes and strides are others."""
    for network in networks_of(name):
        stem = network.name.removesuffix(" thinned").lower().replace(" ", "_")
        plain = nm.load_network(ROOT / "examples" / "structures" / f"{stem}.toml")
        assert tuple(network.nodes) == tuple(plain.nodes)
        assert tuple(network.edges) == tuple(plain.edges)
        for key, edge in network.edges.items():
            assert getattr(edge.transform, "kernel", None) == getattr(plain.edges[key].transform, "kernel", None)
        if not network.name.endswith(" thinned"):
            assert {n: node.shape for n, node in network.nodes.items()} == {n: o.shape for n, o in plain.nodes.items()}
            assert all(repr(edge.transform) == repr(plain.edges[k].transform) for k, edge in network.edges.items())


def test_networks_of_cifar_have_the_papers_parameters_noise_and_mean():
    found = [(network.name, count(network)) for network in networks_of("paper/cifar-dsr")]
    assert found == [(f"DSR{k}", n) for k, n in enumerate(PARAMETERS)]
    encodings = [input_encodings(n)["I"] for e in ("cifar-dsr", "cifar-depth") for n in networks_of(f"paper/{e}")]
    assert {(e.noise, e.mean) for e in encodings} == {(1.0, (0.491252, 0.481936, 0.446265))}


def count(network):
    """Weights, and one bias for each feature of all nodes but the inputs."""
    weights = sum(math.prod(edge.transform.weight_shape) for edge in network.edges.values())
    return weights + sum(node.shape[2] for name, node in network.nodes.items() if name not in network.inputs)


def test_published_points_lie_on_the_time_axis_of_their_curve():
    """First response and frame period of each pattern are those of the publication's figure."""
    for name in list_experiments():
        experiment = load_experiment(name)
        for curve in experiment.curves:
            if curve.published is not None:
                rollout, output = curve.rollout, curve.network.outputs[0]
                first, period = rollout.first_response(output), rollout.frame_period
                axis = [first + k * period for k in range(experiment.options.frames)]
                steps = curve.published.steps
                assert len(steps) == 1 or list(steps) == axis
                assert set(steps) <= set(axis)


def test_networks_are_compared_at_the_first_response_of_their_sequential_pattern():
    experiment = load_experiment("paper/cifar-depth")
    runs = [
        CurveResult(c.name, k, 3, 1.0, 100, tuple((n + frame + 0.5 * k) / 20 for frame in range(7)))
        for n, c in enumerate(experiment.curves)
        for k in range(2)
    ]
    found = gather(experiment, tuple(runs))
    columns = ("network", "pattern", "accuracy", "standard_error", "published")
    answers = [
        {"step": answer.windowed, **{name: getattr(answer, name) for name in columns}}
        for answer in first_answers(found)
    ]
    assert [(a["step"], a["pattern"]) for a in answers] == [
        (step, pattern) for step in (4, 6, 8, 10) for pattern in ("streaming", "sequential")
    ]
    # Streaming first answers after 4 update steps in all of them, so at step L its frame L - 4 is known.
    frames = [0, 0, 2, 0, 4, 0, 6, 0]
    assert [a["accuracy"] for a in answers] == pytest.approx([(n + f + 0.25) / 20 for n, f in enumerate(frames)])
    assert [a["published"] for a in answers] == [0.385, 0.387, 0.497, 0.426, 0.544, 0.424, 0.569, 0.438]
    assert {a["standard_error"] for a in answers} == {0.0125}
    assert found.to_dict()["first_sequential_response"] == answers
    jsonschema.validate(json.loads(found.to_json()), nm.load_schema("experiment"))
    assert "Accuracy at the first sequential response, over networks" in str(found)
    marked = [row for row in csv.DictReader(found.to_csv().splitlines()) if row["at_first_sequential_response"] == "1"]
    assert [float(row["accuracy"]) for row in marked] == pytest.approx([a["accuracy"] for a in answers])
    assert "first_sequential_response" not in gather(experiment, tuple(runs[:4])).to_dict()


def test_results_are_held_against_published_points():
    experiment = load_experiment("paper/mnist-sr")
    exact = [
        CurveResult(c.name, k, 100, 0.5, 10_000, tuple(a + (k - 1) * 0.01 for a in c.published.accuracy))
        for c in experiment.curves
        for k in range(3)
    ]
    found = gather(experiment, tuple(exact))
    assert found.mean_deviation() == pytest.approx(0, abs=1e-12)
    assert found.curves[0].standard_error == pytest.approx([0.01 / 3**0.5] * 8, abs=1e-6)
    shifted = gather(experiment, tuple(exact[2::3]))
    assert shifted.mean_deviation() == pytest.approx(0.01)
    assert shifted.curves[0].standard_error is None
    for one in (found, shifted):
        jsonschema.validate(json.loads(one.to_json()), nm.load_schema("experiment"))
    text = str(found)
    assert "SR hybrid" in text
    assert "mean absolute deviation from the published points: 0.0000" in text
    assert found.to_dict()["curves"][1]["windowed_steps"] == [3, 6, 9, 12, 15, 18, 21, 24]
    assert len(found.to_csv().splitlines()) == 25


def test_a_run_is_resumed_and_done_once(tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    pytest.importorskip("sklearn")
    experiment = load_experiment(DIGITS)
    asked = {"repetitions": 1, "epochs": 1, "limit": 64}
    first = run_experiment(experiment, "digits", tmp_path, **asked)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(files) == 4
    again = run_experiment(experiment, "digits", tmp_path, **asked)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files
    assert again.to_json() == first.to_json()
    (tmp_path / "results").unlink()
    assert run_experiment(experiment, "digits", tmp_path, **asked).to_json() == first.to_json()
    louder = tmp_path / "louder"
    shutil.copytree(DIGITS.parent, louder)
    network = louder / "sr.toml"
    network.write_text(re.sub(r"noise = [\d.]+", "noise = 0.75", network.read_text()))
    with pytest.raises(InputError, match=r"checkpoint .* is of another run: noise .* \(now 0.75\)"):
        run_experiment(load_experiment(louder / DIGITS.name), "digits", tmp_path, **asked)


def test_results_are_of_the_images_that_they_saw(tmp_path, caplog):
    """Of the same name and number; where nobody can tell, a warning says so."""
    pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        pixels = rng.integers(0, 256, (60, 8, 8), dtype=np.uint8)
        np.savez(tmp_path / f"{name}.npz", images=pixels, labels=np.arange(60) % 10)
    shutil.copy(DIGITS.parent / "sr.toml", tmp_path)
    text = 'format = 1\ntitle = "t"\ndata = "npz"\nrepetitions = 2\ntraining = { epochs = 1, frames = 2 }\n'
    (tmp_path / "e.toml").write_text(text + 'curves = [{ network = "sr.toml", pattern = "streaming" }]\n')
    experiment, folder = load_experiment(tmp_path / "e.toml"), tmp_path / "out"

    def run(name, repetitions=1):
        caplog.clear()
        return run_experiment(experiment, f"npz:{tmp_path / name}.npz", folder, repetitions=repetitions)

    first = run("one")
    assert not caplog.records
    for repetitions in (1, 2):
        with pytest.raises(InputError, match=r"SR streaming saw other images, of digest \w{16} \(now npz:.*two.npz, "):
            run("two", repetitions)
    assert run("missing").to_json() == first.to_json()
    assert "are shown as they were kept, as no images can be compared" in caplog.text
    with pytest.raises(InputError, match=r"missing\.npz"):
        run("missing", 2)
    head, line = (folder / "results").read_text().splitlines()
    kept = {name: value for name, value in json.loads(line).items() if name != "image_digest"}
    (folder / "results").write_text(f"{head}\n{json.dumps(with_checksum(kept))}\n")
    assert run("two").to_json() == first.to_json()
    assert "an older version did not keep which images it saw; taken as those of npz:" in caplog.text


def thinned(name, **changes):
    """An experiment of the publication at its full size, of few frames."""
    experiment = load_experiment(name)
    return replace(experiment, options=replace(experiment.options, frames=2, batch=2), **changes)


def write_cifar(folder):
    """Two images in each batch of the makers."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in (*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"):
        rows = rng.integers(0, 256, (2, 3073))
        rows[:, 0] %= 10
        (folder / f"{name}.bin").write_bytes(rows.astype(np.uint8).tobytes())


@pytest.mark.parametrize(
    ("name", "changes", "only"),
    [("paper/cifar-dsr", {}, ["DSR0", "DSR4 streaming"]), ("paper/gtsrb", {"starts": (0, 2)}, ())],
)
def test_networks_of_the_publication_run_thinned_and_stop_and_go_on_to_the_same_weights(tmp_path, name, changes, only):
    pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    pytest.importorskip("PIL", reason="Pillow is an extra: images")
    write_cifar(tmp_path / "cifar10")
    write_gtsrb(tmp_path / "gtsrb", {0: 6, 7: 6}, pictures=5)
    experiment = thinned(name, **changes)
    data = f"{experiment.data}:{tmp_path / experiment.data}"
    asked = {"repetitions": 1, "limit": 5, "only": only, "precision": "bfloat16"}
    whole = run_experiment(experiment, data, tmp_path / "whole", epochs=2, **asked)
    names = ["DSR0 streaming", "DSR0 sequential", "DSR4 streaming"] if only else ["streaming", "sequential"]
    assert len(whole.curves) == len(names) * max(1, len(changes.get("starts", ())))
    of_names = whole.curves[:: len(whole.curves) // len(names)]
    assert all(wanted in curve.name for wanted, curve in zip(names, of_names, strict=True))
    stopped = run_experiment(experiment, data, tmp_path / "stopped", epochs=1, **asked)
    assert {curve.epochs for curve in stopped.curves} == {1}
    gone_on = run_experiment(experiment, data, tmp_path / "stopped", epochs=2, **asked)
    assert gone_on.to_json() == whole.to_json()
    files = sorted(path.name for path in (tmp_path / "whole").glob("*.safetensors"))
    assert len(files) == len(names)
    for file in files:
        one, two = (load_file(tmp_path / folder / file) for folder in ("whole", "stopped"))
        assert {k: v.tobytes() for k, v in one.items()} == {k: v.tobytes() for k, v in two.items()}


def test_curves_are_chosen_by_their_names_or_those_of_networks_and_experiments_by_their_beginning(tmp_path):
    pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    assert load_experiment("paper/gtsrb").name == "paper/gtsrb-dsr4"
    assert load_experiment("paper/cifar-dsr").name == "paper/cifar-dsr"
    experiment = load_experiment(DIGITS)
    told = r"has no curve SR stream; there are SR, SR streaming, .*did you mean 'SR streaming'"
    with pytest.raises(InputError, match=told):
        run_experiment(experiment, "digits", tmp_path / "a", only=["SR stream"])
    asked = {"repetitions": 1, "epochs": 1, "limit": 20}
    found = run_experiment(experiment, "digits", tmp_path / "b", only=["SR hybrid"], **asked)
    assert [curve.name for curve in found.curves] == ["SR hybrid"]


def test_a_figure_has_a_panel_more_where_networks_are_compared():
    pytest.importorskip("matplotlib")
    from neuromap.experiments.experiment_result import draw

    depth, signs = load_experiment("paper/cifar-depth"), load_experiment("paper/gtsrb-dsr4")
    one = gather(depth, tuple(CurveResult(c.name, 0, 3, 1.0, 100, (0.5,) * 7) for c in depth.curves))
    two = gather(signs, tuple(CurveResult(c.name, 0, 9, 1.0, 9, (), ((0.5,) * 8,) * 6, (9,) * 6) for c in signs.curves))
    labels = [panel.get_xlabel() for panel in draw([one, two]).axes]
    times = "update steps since onset, windowed"
    assert labels == [times, f"network, {times}", "update steps since onset, deep window"]


SIGNS = """
format = 1
title = "Signs"
data = "gtsrb"
repetitions = 1
starts = [0, 2]
training = { epochs = 1, frames = 2, batch = 16 }
curves = [{ network = "n.toml", pattern = "streaming" }, { network = "n.toml", pattern = "sequential" }]
"""
SIGNS_NETWORK = """
format = 1
name = "N"
outputs = ["O"]
nodes.I.shape = [32, 32, 3]
nodes.H.shape = [1, 1, 4]
nodes.O.shape = [1, 1, 43]
edges."I -> H".transform = "dense"
edges."H -> O".transform = "dense"
inputs.I = { frames = "track", noise = 0.5 }
"""


def test_tracks_are_measured_at_every_start_index(tmp_path):
    """Of two tracks of five pictures that are tested, start index 2 takes pictures 2 and 3 with two frames."""
    pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    pytest.importorskip("PIL", reason="Pillow is an extra: images")
    write_gtsrb(tmp_path, {0: 12, 7: 8}, pictures=5)
    (tmp_path / "n.toml").write_text(SIGNS_NETWORK)
    (tmp_path / "e.toml").write_text(SIGNS)
    experiment = load_experiment(tmp_path / "e.toml")
    found = run_experiment(experiment, f"gtsrb:{tmp_path}", tmp_path / "out")
    names = [f"N {pattern}, start {start}" for pattern in ("streaming", "sequential") for start in (0, 2)]
    assert [curve.name for curve in found.curves] == names
    assert {curve.network for curve in found.curves} == {"N"}
    assert {curve.images for curve in found.curves} == {2}
    again = run_experiment(experiment, f"gtsrb:{tmp_path}", tmp_path / "out")
    assert again.to_json() == found.to_json()
    jsonschema.validate(json.loads(found.to_json()), nm.load_schema("experiment"))
    (tmp_path / "e.toml").write_text(SIGNS.replace("[0, 2]", "[4]"))
    with pytest.raises(InputError, match="part test has no track with 6 consecutive pictures"):
        run_experiment(load_experiment(tmp_path / "e.toml"), f"gtsrb:{tmp_path}", tmp_path / "out")
    for wrong, network in (("[2, 0]", SIGNS_NETWORK), ("[0]", SIGNS_NETWORK.replace('"track"', '"still"'))):
        (tmp_path / "e.toml").write_text(SIGNS.replace("[0, 2]", wrong))
        (tmp_path / "n.toml").write_text(network)
        with pytest.raises(InputError, match=r"starts: found \[.*\]; allowed are"):
            load_experiment(tmp_path / "e.toml")


def test_a_deep_window_of_gtsrb_has_all_sequential_frames_after_eight_steps():
    streaming, sequential = load_experiment("paper/gtsrb-dsr4").curves
    assert count(sequential.network) == 1433771
    steps = [
        frame_times(curve.rollout, "O", first_frame(curve.rollout.pattern, "O"), 8).deep_window
        for curve in (streaming, sequential)
    ]
    assert steps == [(4, 5, 6, 7, 8, 8, 8, 8), (8,) * 8]


def test_what_is_wrong_is_told(tmp_path):
    text = DIGITS.read_text()
    (tmp_path / "sr.toml").write_text((DIGITS.parent / "sr.toml").read_text())
    path = tmp_path / "e.toml"
    for old, new, words in (
        ("batch = 32", "batches = 32", "training.batches: unknown key; allowed are epochs, batch"),
        ("batch = 32", 'batch = "32"', "training.batch: found '32'; allowed are values of type int"),
        ('pattern = "hybrid"', 'pattern = "hybird"', "hybird"),
        ("repetitions = 3", "repetitions = 0", "repetitions: found 0; allowed are integers from 1 to 1000"),
        ("[[curves]]", "[[curve]]", "curve: unknown key"),
        ('pattern = "hybrid"', 'pattern = "streaming"', "curves[2]: SR streaming is there twice"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(InputError, match=re.escape(words)):
            load_experiment(path)
    network = (tmp_path / "sr.toml").read_text()
    for name in ("A B", "A-B"):  # whose checkpoints would be one file
        (tmp_path / f"{name}.toml").write_text(network.replace('name = "SR"', f'name = "{name}"'))
    curves = "".join(f'[[curves]]\nnetwork = "{name}.toml"\npattern = "streaming"\n' for name in ("A B", "A-B"))
    path.write_text(text.partition("[[curves]]")[0] + curves)
    with pytest.raises(InputError, match=r"curves\[1\]: A-B streaming is there twice \(- counts as a space\)"):
        load_experiment(path)
    with pytest.raises(
        InputError, match="there is no such file, nor one experiment of this name; there are paper/cifar-dep"
    ):
        load_experiment("paper/mnist")
    with pytest.raises(InputError, match="needs digits images; found data 'mnist:x'"):
        run_experiment(load_experiment(DIGITS), "mnist:x", tmp_path)
    for asked, words in (
        ({"repetitions": 0}, "repetitions = 0: must be 1 or more"),
        ({"epochs": 0}, "epochs 0: must be 1 to"),
        ({"limit": -1}, "limit = -1: must be 1 or more"),
        ({"folder": path}, f"folder {path}: cannot be made (File exists); name another one"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            run_experiment(load_experiment(DIGITS), "digits", **({"folder": tmp_path / "new"} | asked))
    assert not (tmp_path / "new").exists()
