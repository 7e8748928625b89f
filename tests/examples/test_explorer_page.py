"""The explorer page shows what its results say: figures, tables, comparisons; small results are made again."""

import importlib
import json
import re
import sys
from pathlib import Path

import pytest

import neuromap as nm

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "examples" / "explorer" / "results"
IMAGES = ROOT / "docs" / "img"


@pytest.fixture(scope="module")
def page_module():
    """Import a module of examples.explorer, wherever the tests are started from."""
    sys.path.insert(0, str(ROOT))
    try:
        yield lambda name: importlib.import_module(f"examples.explorer.{name}")
    finally:
        sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def text():
    return (ROOT / "docs" / "explorer-study.md").read_text(encoding="utf-8")


def result(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def rows_of(found):
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def test_tables_and_sentences_of_the_page_are_those_of_the_results(page_module, text):
    assert page_module("blocks").with_blocks(text) == text


def test_the_page_has_every_part_once(page_module, text):
    begun = re.findall(r"<!-- begin ([a-z0-9-]+) -->", text)
    assert sorted(begun) == sorted(page_module("blocks").BLOCKS)


def test_a_changed_result_changes_the_page(page_module, text, monkeypatch):
    blocks = page_module("blocks")
    old = blocks.load
    monkeypatch.setattr(blocks, "load", lambda name: old(name) | {"mapped": 77_777})
    assert "77777" in blocks.with_blocks(text)


def test_figures_are_drawn_from_the_results(page_module, text):
    mpl = pytest.importorskip("matplotlib", reason="figures need the extra benchmarks")
    figures = page_module("figures")
    for name in figures.FIGURES:
        assert f"](img/{name}.svg)" in text
        committed = (IMAGES / f"{name}.svg").read_bytes()
        version = re.search(rb"matplotlib ([0-9.]+)", committed)
        if version and version[1].decode() != mpl.__version__:
            pytest.skip(f"the figures were drawn by matplotlib {version[1].decode()}, here is {mpl.__version__}")
        assert figures.draw(name) == committed, f"{name}: run python -m examples.explorer.page --quick"


def test_every_figure_file_is_on_the_page(text):
    for path in IMAGES.glob("explorer-*.svg"):
        assert f"](img/{path.name})" in text


def test_every_study_has_its_results_and_none_is_left_over(page_module):
    assert {path.stem for path in RESULTS.glob("*.json")} == set(page_module("studies").STUDIES)


@pytest.mark.parametrize(
    "name", ["digits-ff", "digits-s", "digits-sr", "curves-digits-s", "curves-dsr1", "curves-dsr2"]
)
def test_small_studies_run_again_give_the_same(name, page_module, tmp_path):
    assert page_module("studies").STUDIES[name](tmp_path) == result(name)


@pytest.mark.slow
@pytest.mark.thorough
def test_sr_on_a_chip_run_again_gives_the_same(page_module, tmp_path):
    assert page_module("studies").STUDIES["sr"](tmp_path) == result("sr")


@pytest.mark.parametrize("name", ["sr", "dsr1"])
def test_rows_and_fronts_are_those_of_brute_force(name, page_module):
    compared = page_module("blocks").compared(name)
    assert compared["fronts_equal"]
    assert compared["unknown_to_brute_force"] == 0
    assert compared["candidates"] == result(name)["candidates"]


@pytest.mark.parametrize("name", ["digits-ff", "digits-s", "digits-sr", "sr", "dsr1", "dsr6"])
def test_rows_keep_what_the_page_proves(name):
    found = result(name)
    folder, file = ("digits", name.removeprefix("digits-")) if name.startswith("digits-") else ("on_chip", name)
    network = nm.load_network(ROOT / "examples" / folder / f"{file}.toml")
    streaming = nm.Rollout(network, "streaming")
    for row in rows_of(found):
        assert row["first_ticks"] >= min(streaming.first_response(o) for o in network.outputs)
        assert row["full_ticks"] >= max(streaming.full_response(o) for o in network.outputs)
        assert row["core_bound"] >= found["gap"]["core_bound"]
        assert row["cores"] is None or row["cores"] >= row["core_bound"]
        assert row["verified"] is (True if row["status"] == "mapped" else None)


def test_no_windowed_pattern_is_ahead_of_its_class():
    for name in ("curves-digits-s", "curves-dsr1", "curves-dsr2"):
        assert result(name)["below_their_curve"] == 0


def test_no_longer_period_answers_earlier_in_dsr1_and_dsr2():
    for name in ("curves-dsr1", "curves-dsr2"):
        for part in result(name)["classes"]:
            assert len({first for _, first, _ in part["curve"]}) == 1


def test_programs_that_were_run_are_those_of_the_rows():
    for run in result("ticks")["rows"]:
        names = {run["pattern"], run["name"]}
        same = ("period_ticks", "first_ticks", "full_ticks", "cores")
        rows = [r for r in rows_of(result(run["network"])) if r["pattern"] in names]
        rows = [r for r in rows if r["execution"] == run["execution"]]
        assert all(r["status"] != "mapped" or [r[k] for k in same] == [run[k] for k in same] for r in rows)


def test_the_histogram_holds_every_pattern():
    patterns = sum(row["patterns"] for row in rows_of(result("heat-dsr6")))
    assert patterns == result("dsr6")["valid_patterns"] == 4_194_304
