"""Where things are: the checkout's files, and the modules of the package under test (wheel or checkout)."""

import ast
import gc
import importlib.util
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


@pytest.fixture(scope="session")
def homes(package_folder):
    """Package -> public name -> what it is imported from, for every stub: a module, or the package itself."""
    found = {}
    for path in sorted(package_folder.rglob("*.pyi")):
        assert path.name == "__init__.pyi", path
        package = ".".join(["neuromap", *path.parent.relative_to(package_folder).parts])
        names = found[package] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            (node,) = ast.parse(line).body
            (alias,) = node.names
            assert line == f"from {'.' * node.level}{node.module or ''} import {alias.name} as {alias.name}"
            assert alias.name not in names, f"{path}: {alias.name}"
            names[alias.name] = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
    return found
