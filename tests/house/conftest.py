"""Where things are: the checkout's files, and the modules of the package under test (wheel or checkout)."""

import ast
import gc
from pathlib import Path

import pytest

import neuromap


@pytest.fixture(scope="session")
def root():
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def package_folder():
    return Path(neuromap.__file__).resolve().parent


@pytest.fixture(scope="session")
def modules(package_folder):
    """Path relative to the package -> syntax tree, for every module."""
    gc.disable()  # millions of objects in no cycle, which stay: half of the time went into looking at them
    trees = {
        path.relative_to(package_folder): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package_folder.rglob("*.py"))
    }
    gc.freeze()
    gc.enable()
    return trees


@pytest.fixture(scope="session")
def pages(root):
    """Every Markdown page of the project: path -> text."""
    paths = [path for pattern in ("*.md", "docs/*.md", "docs/theorems/*.md") for path in sorted(root.glob(pattern))]
    return {path: path.read_text(encoding="utf-8") for path in paths}
