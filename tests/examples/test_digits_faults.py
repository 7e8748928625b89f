"""Curves of faults of the digits: what is committed is what the script measures, and what the page says."""

import json
import re
import runpy
from pathlib import Path

import jsonschema
import pytest

import neuromap as nm
from neuromap.faults import KINDS, ShownImages, study_faults

ROOT = Path(__file__).resolve().parents[2]
PATTERNS = ("streaming", "sequential", "hybrid")


@pytest.fixture(scope="module")
def committed():
    return json.loads((ROOT / "examples" / "digits" / "faults.json").read_text(encoding="utf-8"))


def test_the_points_are_a_document_without_single_chips(committed):
    jsonschema.validate({**committed, "runs": []}, nm.load_schema("faults"))
    names = {(p["pattern"], p["kind"], p["rate"]) for p in committed["points"]}
    assert names == {(p, k, r) for p in PATTERNS for k in KINDS for r in committed["rates"]}


def test_the_table_of_the_page_is_that_of_the_points(committed):
    page = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "examples" / "digits" / "faults.py"))
    shown = script["page_table"](committed)
    assert len(shown.splitlines()) == 2 + len(KINDS) * len(script["SHOWN"])
    assert re.search(re.escape(shown), page)


def test_the_picture_shows_the_points(committed):
    drawn = (ROOT / "docs" / "img" / "faults.svg").read_text(encoding="utf-8")
    for point in committed["points"]:
        for figure in (point["error"], point["accuracy"]):
            name = f"{point['pattern']}, {point['execution']}, {100 * point['rate']:g} %"
            assert f"<title>{name}: {figure['value']:.4f}</title>" in drawn


@pytest.mark.thorough
def test_points_are_measured_again(committed):
    pytest.importorskip("sklearn", reason="the digits are scikit-learn's")
    net = nm.load_network(ROOT / "examples" / "digits" / "sr.toml")
    images = nm.datasets.load_images("digits", "test", limit=committed["images"])
    kinds = ["dead-cores", "flipped-synapses"]
    found = study_faults(
        [nm.Rollout(net, "hybrid")], nm.load_chip("truenorth", {"core.neurons": 32}), kinds=kinds, rates=[0.02],
        seeds=committed["seeds"], stimuli=ShownImages(images, 3, seed=1),
    )  # fmt: skip
    for point in found.to_dict()["points"]:
        assert point in committed["points"]
