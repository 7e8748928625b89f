"""The example notebooks run, and show what their cells print now."""

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def refresh():
    return runpy.run_path(str(ROOT / "docs" / "refresh_notebooks.py"))


def test_there_is_a_study_and_a_mapping():
    assert [path.stem for path in NOTEBOOKS] == ["mapping", "rollout_study"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_those_of_the_cells(path, refresh):
    made = json.loads(refresh["refreshed"](path))
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert any(cell.get("outputs") for cell in stored["cells"])
    for now, before in zip(made["cells"], stored["cells"], strict=True):
        assert now == before, "run python docs/refresh_notebooks.py"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_has_what_the_format_asks_for(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    for cell in notebook["cells"]:
        assert {"cell_type", "id", "metadata", "source"} <= set(cell)
        assert (cell["cell_type"] == "code") == ("outputs" in cell)
    assert path.stat().st_size < 60_000


def test_a_cell_gives_what_it_prints_and_its_last_value(refresh):
    assert refresh["run_cell"]("a = 2\nprint('x')\na + 1", {}, "cell") == ("x\n", 3)
    assert refresh["run_cell"]("a = 2", {}, "cell") == ("", None)
