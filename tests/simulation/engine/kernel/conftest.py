"""One clean compile."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import hardware_models
import neuromap

PACKAGES = [Path(package.__file__).parent for package in (neuromap, hardware_models)]

# One small program, so that the leak is all that happens; then what was compiled and what came from the cache. One
# group of lanes is the least to compile. What comes from the cache has no code to show.
THREE_TICKS = """
import sys
import numpy as np
from dataclasses import replace
from pathlib import Path
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.bench.characterisation import characterisation_program
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.compiled import compiled

chip = replace(load_chip("truenorth"), axons=32, neurons=32)
program = characterisation_program(1, chip=chip, synapses=0)
silent = replace(program.neurons, potential=np.zeros_like(program.neurons.potential))
engine = FastEngine(replace(program, neurons=silent))
engine.run(HostEvents.none(3))
run = compiled().run
hits, misses = sum(run.stats.cache_hits.values()), sum(run.stats.cache_misses.values())
print(set(engine.potentials.reshape(-1).tolist()), hits, misses)
if len(sys.argv) > 1:
    [signature] = run.signatures
    Path(sys.argv[1], "kernel.s").write_text(run.inspect_asm(signature))
    Path(sys.argv[1], "kernel.ll").write_text(run.inspect_llvm(signature))
"""


def _copy(folder):
    for package in PACKAGES:
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def _run_python(folder, code, *words, **variables):
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [sys.executable, "-c", code, *words], env=clean | variables, cwd=folder, capture_output=True, text=True
    )


@dataclass(frozen=True)
class OnceCompiled:
    """A copy of the packages with a cache of its own, and what its first run printed and compiled."""

    folder: Path
    printed: str

    @property
    def assembly(self):
        return (self.folder / "kernel.s").read_text()

    def run_again(self):
        return _printed(self.folder)


def _printed(folder, *words):
    run = _run_python(folder, THREE_TICKS, *words, NUMBA_CACHE_DIR=str(folder / "cache"))
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


@pytest.fixture
def copied(tmp_path):
    """A copy of the packages that may be edited."""
    return _copy(tmp_path)


@pytest.fixture(scope="session")
def run_python():
    """Run code on a copy, whether it goes well or not: ``run_python(folder, code, **environment)``."""
    return _run_python


@pytest.fixture(scope="session")
def three_ticks():
    return THREE_TICKS


@pytest.fixture(scope="session")
def once_compiled(tmp_path_factory):
    """The kernel compiled for this processor with an empty cache: the tests of cache and instructions share it."""
    folder = _copy(tmp_path_factory.mktemp("compiled"))
    return OnceCompiled(folder, _printed(folder, str(folder)))
