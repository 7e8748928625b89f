"""The same random examples in every run of one commit, where Hypothesis is given a seed (``--hypothesis-seed=0``).

A seed does not settle it: Hypothesis also draws constants that it reads in the local modules that are loaded by then.
Workers load what the tests that fall to them load, so each would draw others. Here all of them are read before the
first test.
"""

import sys
from pathlib import Path
from types import ModuleType

from hypothesis import given, seed, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
WITH_CODE = ("neuromap", "hardware_models", "benchmarks", "examples", "docs")


def pytest_collection_finish(session):
    if session.config.getoption("--hypothesis-seed", default=None) is not None and session.items:
        read_constants(sorted(path for name in WITH_CODE for path in (ROOT / name).rglob("*.py")))


def read_constants(paths):
    """Show Hypothesis modules with these files, which hold nothing: it reads the files."""
    shown = {}
    for path in paths:
        shown[f"constants of {path}"] = module = ModuleType(path.stem)
        module.__file__ = str(path)
    sys.modules.update(shown)
    look()
    for name in shown:
        del sys.modules[name]


@seed(0)
@settings(max_examples=10, database=None, deadline=None)
@given(st.lists(st.integers(), min_size=200, max_size=200))
def look(_):
    """Draw many: Hypothesis reads modules that have come when it next draws a constant, one time of twenty."""
