"""Kernels compiled apart from all others, in processes of their own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hardware_models
import neuromap

PACKAGES = [Path(package.__file__).parent for package in (neuromap, hardware_models)]


def _run_python(folder, code, *words, **variables):
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=clean | variables, cwd=folder, capture_output=True, text=True
    )


@pytest.fixture
def copied(tmp_path):
    """A copy of the packages that may be edited."""
    for package in PACKAGES:
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.fixture(scope="session")
def run_python():
    """Run code on a copy, whether it goes well or not: ``run_python(folder, code, **environment)``."""
    return _run_python
