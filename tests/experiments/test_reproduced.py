"""What the publication claims of its experiments, held on the results that are committed."""

import shutil
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest

from neuromap.experiments.experiment_file import load_experiment
from neuromap.experiments.experiment_result import first_answers
from neuromap.experiments.experiment_run import run_experiment

RESULTS = Path(__file__).parents[2] / "examples" / "paper"
MNIST = ("mnist-ff", "mnist-s", "mnist-sr")
ALIKE = 0.01
"""Two accuracies on 10,000 images have a standard error of at most 0.005 each."""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Nothing is trained: all runs are done in the folders that are committed."""
    folder = tmp_path_factory.mktemp("paper")
    found = {}
    for name in MNIST:
        shutil.copytree(RESULTS / name, folder / name)
        found[name] = run_experiment(load_experiment(f"paper/{name}"), "mnist:NOWHERE", folder / name, repetitions=1)
    return found


@pytest.fixture(scope="module")
def curves(results):
    return {curve.name: curve for result in results.values() for curve in result.curves}


def by_step(curve, step):
    """Accuracy of the last frame that is known at an update step; 0 before the first response."""
    known = [a for time, a in zip(curve.times.windowed, curve.accuracy, strict=True) if time <= step]
    return known[-1] if known else 0.0


def test_seven_curves_of_a_hundred_epochs_lie_on_the_published_points(results, curves):
    assert len(curves) == 7
    assert {(curve.epochs, curve.images) for curve in curves.values()} == {(100, 10_000)}
    gaps = [abs(gap) for result in results.values() for curve in result.curves for _, gap in curve.deviations()]
    assert len(gaps) == 7 * 8
    assert sum(gaps) / len(gaps) <= 0.02


def test_streaming_answers_first_where_an_edge_skips_a_node(curves):
    first = {name: curve.times.windowed[0] for name, curve in curves.items()}
    assert {name: step for name, step in first.items() if step == 2} == {"S streaming": 2, "SR streaming": 2}
    assert set(first.values()) == {2, 3}


@pytest.mark.parametrize("step", range(2, 10))
def test_streaming_is_right_most_often_at_every_step_then_hybrid_then_sequential(curves, step):
    streaming, hybrid, sequential = (
        by_step(curves[f"SR {name}"], step) for name in ("streaming", "hybrid", "sequential")
    )
    assert streaming > hybrid > sequential - ALIKE
    assert by_step(curves["S streaming"], step) > by_step(curves["S sequential"], step)


def test_a_plain_chain_is_as_good_under_every_pattern(curves):
    streaming, sequential = (curves[f"FF {name}"].accuracy for name in ("streaming", "sequential"))
    assert abs(fmean(streaming) - fmean(sequential)) < ALIKE
    assert max(*streaming, *sequential) - min(*streaming, *sequential) < 3 * ALIKE


def test_skip_edges_see_several_frames_when_streaming_and_recurrent_edges_always(curves):
    assert fmean(curves["S streaming"].accuracy[1:]) > fmean(curves["S sequential"].accuracy) + 0.1
    for name in ("streaming", "hybrid", "sequential"):
        accuracy = curves[f"SR {name}"].accuracy
        assert all(a < b for a, b in pairwise(accuracy))


def test_streaming_gains_with_depth_and_sequential_hardly(tmp_path):
    shutil.copytree(RESULTS / "cifar-depth", tmp_path / "depth")
    found = run_experiment(load_experiment("paper/cifar-depth"), "cifar10:NOWHERE", tmp_path / "depth", limit=15_000)
    answers = {(a.network, a.pattern): a for a in first_answers(found)}
    networks = [f"DSR{n} thinned" for n in (0, 2, 4, 6)]
    assert set(answers) == {(name, pattern) for name in networks for pattern in ("streaming", "sequential")}
    streaming, sequential = ([answers[name, pattern] for name in networks] for pattern in ("streaming", "sequential"))
    assert all(a.accuracy < b.accuracy for a, b in pairwise(streaming))
    leads = [a.accuracy - b.accuracy for a, b in zip(streaming, sequential, strict=True)]
    assert leads == sorted(leads)
    gains, errors = (
        [f(curve) for curve in (streaming, sequential)]
        for f in (
            lambda curve: curve[-1].accuracy - curve[0].accuracy,
            lambda curve: (curve[-1].standard_error ** 2 + curve[0].standard_error ** 2) ** 0.5,
        )
    )
    assert gains[0] > 2 * gains[1]
    assert gains[0] - gains[1] > 2 * (errors[0] ** 2 + errors[1] ** 2) ** 0.5


def test_full_networks_lie_on_the_published_points(tmp_path):
    """Trained on CUDA; shown here, where there is none."""
    shutil.copytree(RESULTS / "cifar-dsr", tmp_path / "whole")
    found = run_experiment(
        load_experiment("paper/cifar-dsr"),
        "cifar10:NOWHERE",
        tmp_path / "whole",
        only=["DSR0", "DSR4"],
        epochs=61,
        device="cuda",
        precision="bfloat16",
        graphs=True,
    )
    gaps = [abs(gap) for curve in found.curves for _, gap in curve.deviations()]
    assert (len(gaps), {curve.images for curve in found.curves}) == (4, {10_000})
    assert max(gaps) <= 0.015  # three standard errors of 10,000 images
    at = {(a.network, a.pattern): a.accuracy for a in first_answers(found)}
    assert abs(at["DSR0", "streaming"] - at["DSR0", "sequential"]) < ALIKE
    assert at["DSR4", "streaming"] - at["DSR4", "sequential"] > 0.1
