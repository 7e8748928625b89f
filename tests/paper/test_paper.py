"""The paper's numbers and figures are those of the results and the library, and its text has no others."""

import json
import re
from pathlib import Path

import pytest

make_numbers = pytest.importorskip(
    "paper.make_numbers", reason="the paper is not part of the package", exc_type=ModuleNotFoundError
)
ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT / "paper"
WRITTEN = ("paper.typ", "appendix.typ")


@pytest.fixture(scope="module")
def text():
    return "\n".join((PAPER / name).read_text(encoding="utf-8") for name in WRITTEN)


def close(one, other):
    """Equal, but for the last digits of floating numbers, which machines may add up in another order."""
    if isinstance(one, float) and isinstance(other, float):
        return one == pytest.approx(other, rel=1e-9)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    return type(one) is type(other) and one == other


@pytest.fixture(scope="module")
def committed():
    return json.loads(make_numbers.NUMBERS.read_text(encoding="utf-8"))


@pytest.mark.parametrize("section", make_numbers.SECTIONS, ids=lambda section: section.__name__)
def test_committed_numbers_are_those_of_the_results(section, committed):
    assert close(committed[section.__name__], json.loads(json.dumps(section()))), "run python -m paper.make_numbers"


def test_figures_are_those_of_the_numbers():
    from paper.draw import IMAGES, drawn

    found = drawn()
    assert sorted(found) == sorted(path.name for path in IMAGES.iterdir()), "run python -m paper.draw"
    stale = [name for name, document in found.items() if document != (IMAGES / name).read_text(encoding="utf-8")]
    assert not stale, "run python -m paper.draw"


def test_pictures_and_sources_of_the_text_are_there(text):
    for path in re.findall(r'image\("([^"]+)"', text):
        assert (ROOT / path[1:] if path.startswith("/") else PAPER / path).exists(), path
    for path in re.findall(r'"(tests/[^"]+)"', text):
        assert (ROOT / path).exists(), path
    sources = re.findall(r'^  \("(\w+)", \[', (PAPER / "sources.typ").read_text(encoding="utf-8"), re.MULTILINE)
    cited = {key for keys in re.findall(r"#src\(([^)]*)\)", text) for key in re.findall(r'"(\w+)"', keys)}
    assert cited == set(sources)
    assert sources == sorted(sources)


def test_every_result_that_the_numbers_read_is_named_with_its_command(text):
    told = (PAPER / "README.md").read_text(encoding="utf-8")
    for name in re.findall(r'result\("(\w+)"', Path(make_numbers.__file__).read_text(encoding="utf-8")):
        assert f"{name}.json" in told, f"paper/README.md does not name the command of {name}.json"


LITERALS = {"1.1"}
"""Numbers with decimals or thousands that the text may write itself: bounds that it chose."""


def test_the_text_writes_no_measured_number(text):
    layout = r"\d+(?:\.\d+)?(?:pt|em|cm|%|fr)|columns:[^\n]*|#import[^\n]*|#set[^\n]*"
    prose = re.sub(layout, "", text)
    found = set(re.findall(r"(?<![\w.])\d+(?:\.\d+|(?:,\d{3})+)(?![\w.])", prose))
    assert found <= LITERALS
