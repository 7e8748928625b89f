"""Examples in docstrings give what they show."""

import doctest
import importlib

import pytest

import neuromap

pytestmark = pytest.mark.smoke


def module_names():
    from pathlib import Path

    folder = Path(neuromap.__file__).resolve().parent
    for path in sorted(folder.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = ("neuromap", *path.relative_to(folder).with_suffix("").parts)
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", list(module_names()))
def test_examples_of_the_module(name, root, monkeypatch):
    monkeypatch.chdir(root)
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert tried > 0
    assert failed == 0
