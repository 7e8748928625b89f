"""The tables and the picture of the page on wide neurons are those of the results."""

import json
from pathlib import Path

import pytest

page = pytest.importorskip(
    "benchmarks.wide.page", reason="benchmarks are not part of the package", exc_type=ModuleNotFoundError
)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found():
    return json.loads((ROOT / "benchmarks" / "results" / "wide.json").read_text(encoding="utf-8"))


def test_tables_and_picture_are_those_of_the_results(found):
    text = (ROOT / "docs" / "wide-neurons.md").read_text(encoding="utf-8")
    assert page.with_tables(text, found) == text
    assert page.picture(found) == (ROOT / "docs" / "img" / "wide-neurons.svg").read_text(encoding="utf-8")


def test_every_row_is_verified_and_measured_as_predicted(found):
    rows = [row for row in found["rows"] if "refused" not in row]
    assert len(rows) >= 40
    assert all(row["verified"] and row["measured_first"] == row["predicted_first"] for row in rows)
