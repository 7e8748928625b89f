"""The example notebooks run, and show what their cells print now."""

import json
import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def refresh():
    return runpy.run_path(str(ROOT / "docs" / "refresh_notebooks.py"))


@pytest.fixture(scope="module")
def gallery():
    return runpy.run_path(str(ROOT / "docs" / "gallery_pages.py"))


def test_the_gallery_has_every_notebook_once(gallery, tmp_path):
    table = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    names = re.findall(r"\(\.\./examples/notebooks/(\w+)\.ipynb\)", table)
    assert sorted(names) == [path.stem for path in NOTEBOOKS]
    gallery["write_pages"](tmp_path / "pages")
    shown = gallery["with_pictures"](table, tmp_path / "pages")
    pictures = {path.stem for path in (tmp_path / "pages").glob("*.svg")}
    assert set(re.findall(r"\(pages/(\w+)\.svg\)", shown)) == pictures
    assert len(pictures) >= len(names) - 1
    assert re.findall(r"\(pages/(\w+)\.md\)", shown) == names


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_pages_of_the_gallery_hold_all_cells_and_outputs(path, gallery):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    page = gallery["page_of"](notebook, path.stem)
    at = 0
    for cell in notebook["cells"]:
        parts = ["".join(cell["source"])] if cell["cell_type"] == "code" else []
        for output in cell.get("outputs", ()):
            parts.append("".join(output["text"] if "text" in output else output["data"]["text/html"]).rstrip())
        for part in parts:
            at = page.index(part, at) + len(part)
    picture = gallery["first_picture"](notebook)
    assert picture is None or ElementTree.fromstring(picture).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_are_those_of_the_cells(path, refresh):
    if "import torch" in path.read_text(encoding="utf-8"):
        pytest.importorskip("torch")
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
    assert path.stat().st_size < 100_000


def test_a_cell_gives_what_it_prints_and_its_last_value(refresh):
    assert refresh["run_cell"]("a = 2\nprint('x')\na + 1", {}, "cell") == ("x\n", 3)
    assert refresh["run_cell"]("a = 2", {}, "cell") == ("", None)
