"""Experiments: files that come with the package, runs that resume, results beside published points."""

import re
from pathlib import Path

import pytest

import neuromap as nm
from neuromap.errors import InputError
from neuromap.experiments.curve_job import CurveResult
from neuromap.experiments.experiment_file import list_experiments, load_experiment
from neuromap.experiments.experiment_result import gather
from neuromap.experiments.experiment_run import run_experiment

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples" / "digits" / "real" / "experiment.toml"


@pytest.mark.parametrize("name", list_experiments())
def test_packaged_networks_are_those_of_the_structures(name):
    experiment = load_experiment(name)
    for curve in experiment.curves:
        network = curve.network
        plain = nm.load_network(ROOT / "examples" / "structures" / f"{network.name.lower().replace(' ', '_')}.toml")
        assert {n: node.shape for n, node in network.nodes.items()} == {n: o.shape for n, o in plain.nodes.items()}
        assert tuple(network.edges) == tuple(plain.edges)
        for key, edge in network.edges.items():
            assert repr(edge.transform) == repr(plain.edges[key].transform)


def test_published_points_lie_on_the_time_axis_of_their_curve():
    """First response and frame period of each pattern are those of the publication's figure."""
    for name in list_experiments():
        for curve in load_experiment(name).curves:
            if curve.published is not None:
                rollout, output = curve.rollout, curve.network.outputs[0]
                first, period = rollout.first_response(output), rollout.frame_period
                assert curve.published.steps == tuple(first + k * period for k in range(len(curve.published.steps)))


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
    with pytest.raises(
        InputError, match="there is no such file, nor an experiment of this name; there are paper/mnist-ff"
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
