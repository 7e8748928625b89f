"""Files and folders that pages name, and names that code beside the package imports, are there."""

import ast
import importlib
import importlib.util
import re

import pytest

ELSEWHERE = {
    ".toml", ".json",  # endings
    "n/a",  # what a table prints where nothing is known
    "build/explorer",  # made by the studies
}  # fmt: skip
INSIDE_A_FILE = ("spikes/neurons/", "neurons/", "report/potentials/")
"""Groups of a trace in HDF5 (docs/simulation.md)."""
PAGES = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/theorems/*.md")


def named_paths(text):
    """What stands in backticks, outside blocks, and looks like a path of the project."""
    prose = re.sub(r"^(```+).*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    for named in re.findall(r"(?<!`)`([^`\s]+)`(?!`)", prose):
        word = named.split("::")[0]  # of a test only its file; tests/house/test_theorems.py looks for the name
        looks_like_one = "/" in word or word.endswith((".py", ".toml", ".md", ".json"))
        is_pattern = re.search(r"NAME|\.\.\.|…|[*<>{}]", word)
        if looks_like_one and not is_pattern and word not in ELSEWHERE and not word.startswith(INSIDE_A_FILE):
            yield word


def missing(text, root):
    """Paths that are neither below the root, the package or the tests, nor below a folder that the page names."""
    words = list(named_paths(text))
    homes = [root, root / "neuromap", root / "tests"]
    homes += [home / word for home in list(homes) for word in words if (home / word).is_dir()]
    return [word for word in words if not any((home / word).exists() for home in homes)]


def test_the_check_finds_what_it_looks_for(root):
    page = "`tests/gone.py`, `house/test_words.py`, `simulation/NAME.py`, `a = b.py`\n```\n`gone.py`\n```\n`errors.py`"
    assert missing(page, root) == ["tests/gone.py"]
    assert missing("`lanes.py`", root) == ["lanes.py"]
    assert missing("`lanes.py` in `simulation/engine/kernel/`", root) == []


@pytest.mark.parametrize("pattern", PAGES)
def test_paths_that_pages_name_are_there(root, pattern):
    found = {page.name: missing(page.read_text(encoding="utf-8"), root) for page in sorted(root.glob(pattern))}
    assert found
    assert {page: words for page, words in found.items() if words} == {}


@pytest.mark.parametrize("folder", ["benchmarks", "paper", "docs", "examples"])
def test_what_is_imported_of_the_package_is_there(root, folder):
    """What nobody runs for weeks breaks without a word, and tests of it are skipped as if it were not installed."""
    gone = []
    for path in sorted((root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "neuromap":
                module = importlib.import_module(node.module)
                gone += [
                    f"{path.relative_to(root)}: {node.module}.{alias.name}"
                    for alias in node.names
                    if not hasattr(module, alias.name)
                    and importlib.util.find_spec(f"{node.module}.{alias.name}") is None
                ]
    assert gone == []
