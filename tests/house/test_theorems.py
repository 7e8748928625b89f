"""Pages of theorems name the tests that try to break them, and these draw as many cases as the pages say."""

import ast
import re
from pathlib import Path

import pytest
from example_counts import examples

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in (ROOT / "docs" / "theorems").glob("*.md") if page.stem != "index")
MANY = 1000


def named_tests(text):
    """Path and name of every test in backticks: `tests/rollout/test_x.py::test_y`."""
    return re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)


def find(path, name):
    """The function of a test, and what the marks of its module say."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    marks = [ast.unparse(n.value) for n in tree.body if isinstance(n, ast.Assign) and "pytestmark" in ast.unparse(n)]
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    assert found, f"{path} has no test {name}"
    return found[0], " ".join(marks)


def drawn(path, name):
    """Examples of a property in the thorough profile; 0 of a test that is none."""
    test, marks = find(path, name)
    text = " ".join([marks, *map(ast.unparse, test.decorator_list)])
    written = re.search(r"max_examples=(\d+)", text)
    kind = next((kind for kind in ("law", "theorem") if f"mark.{kind}" in text), "")
    return examples(int(written.group(1)), kind, thorough=True) if written else 0


def test_the_check_finds_what_it_looks_for():
    me = "tests/house/test_theorems.py"
    assert named_tests(f"`{me}::test_x`, `{me}`") == [(me, "test_x")]
    with pytest.raises(AssertionError, match="has no test test_x"):
        find(me, "test_x")
    assert drawn(me, "test_the_check_finds_what_it_looks_for") == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_page_names_tests_that_are_there(page):
    named = named_tests(page.read_text(encoding="utf-8"))
    assert named
    counts = [drawn(*test) for test in named]
    assert max(counts) >= MANY or page.stem == "conjectures"


def test_every_page_has_its_parts():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if page.stem != "conjectures":
            parts = (r"\*\*(Theorem|Proposition) ?\d?( \(.*\))?\.\*\*", "∎", r"\n## Tests\n", r"\n## Known and new\n")
            assert [part for part in parts if not re.search(part, text)] == [], page.stem


def test_tests_of_theorems_are_on_a_page():
    named = {test for page in PAGES for test in named_tests(page.read_text(encoding="utf-8"))}
    marked = set()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and any("mark.theorem" in ast.unparse(d) for d in node.decorator_list):
                marked.add((str(path.relative_to(ROOT)), node.name))
    assert marked <= named
