"""The study of moving digits: what its page says is what its committed results say, and it can be done again."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "streams"
DONE = json.loads((FOLDER / "results.json").read_text())


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("study", FOLDER / "study.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_committed_results_are_those_of_the_study(study):
    assert (DONE["format"], DONE["scenes"], DONE["options"]) == (study.FORMAT, study.SCENES, study.OPTIONS)
    for name in study.SCENES:
        for pattern in study.PATTERNS:
            runs = [run for key, run in DONE["runs"].items() if key.startswith(f"{name} {pattern} ")]
            assert len(runs) == len(study.SEEDS)
            assert DONE["by_tick"][f"{name} {pattern}"] == study.by_tick(runs)


def test_streaming_is_right_most_often_at_every_tick_of_a_stream(study):
    """By more than two standard errors of the difference, from tick 4 on."""
    for name in study.SCENES:
        streaming, *others = (DONE["by_tick"][f"{name} {pattern}"] for pattern in study.PATTERNS)
        for other in others:
            for mine, theirs in zip(streaming[3:], other[3:], strict=True):
                error = (mine["standard_error"] ** 2 + theirs["standard_error"] ** 2) ** 0.5
                assert mine["accuracy"] > theirs["accuracy"] + 2 * error, (name, mine, theirs)
    cores = {run["cores"] for run in DONE["runs"].values()}
    assert max(cores) <= 10


def test_the_page_has_the_figures_of_the_results(study):
    text = (ROOT / "docs" / "experiments.md").read_text()
    for name in study.SCENES:
        for pattern in study.PATTERNS:
            points = DONE["by_tick"][f"{name} {pattern}"]
            shown = [
                f"{points[tick - 1]['accuracy']:.3f} ± {points[tick - 1]['standard_error']:.3f}"
                for tick in (3, 6, 9, 12)
            ]
            cores = ", ".join(str(DONE["runs"][f"{name} {pattern} {seed}"]["cores"]) for seed in study.SEEDS)
            row = rf"\| {name}, {pattern} \| {cores} \| " + r" \| ".join(map(re.escape, shown))
            assert re.search(row, text), shown


@pytest.mark.thorough
def test_a_run_of_the_study_is_the_same_on_model_and_chip(study, monkeypatch):
    pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
    pytest.importorskip("sklearn")
    monkeypatch.setattr(study, "OPTIONS", {**study.OPTIONS, "epochs": 1})
    found = study.trained_and_measured("moving-digits:canvas=12,frames=12,copies=1,flash=4", "sequential", 0)
    assert (found["ticks"], found["streams"]) == ([3, 6, 9, 12], 400)
