"""The cache of compiled code: its key is everything that the code is made of."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import hardware_models
import neuromap
from neuromap.simulation.engine.kernel.compiled import _cached, kernel_stamp

PACKAGES = [Path(package.__file__).parent for package in (neuromap, hardware_models)]

# One small program, so that the leak is all that happens; then what was compiled and what came from the cache.
RUN = """
import numpy as np
from dataclasses import replace
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
stats = compiled().run.stats
print(set(engine.potentials.reshape(-1).tolist()), sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
STAMP = "from neuromap.simulation.engine.kernel.compiled import kernel_stamp; print(kernel_stamp())"


@pytest.fixture
def copied(tmp_path):
    """A copy of the packages that may be edited."""
    for package in PACKAGES:
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def python(folder, code, **variables):
    """Run code on the copy; its own words, whether it went well or not."""
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    variables = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=clean | variables, cwd=folder, capture_output=True, text=True
    )


def printed(folder, code, **variables):
    run = python(folder, code, **variables)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_every_kernel_file_and_the_version_are_part_of_the_stamp(copied):
    kernel = copied / "neuromap" / "simulation" / "engine" / "kernel"
    spec = importlib.util.spec_from_file_location("copied_compiled", kernel / "compiled.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stamps = [module.kernel_stamp()]
    assert stamps == [kernel_stamp()]  # not of the place
    for path in sorted(kernel.glob("*.py")):
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        stamps.append(module.kernel_stamp())
        path.write_bytes(text)
    assert module.kernel_stamp() == stamps[0]
    assert len(set(stamps)) == len(stamps) > 8

    package = copied / "neuromap" / "__init__.py"
    package.write_text(package.read_text().replace('__version__ = "', '__version__ = "9'))
    assert printed(copied, STAMP) not in stamps


@pytest.mark.slow
def test_what_was_compiled_is_loaded_until_a_helper_is_edited(copied, tmp_path):
    # Numba itself looks at compiled.py only.
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    step = copied / "neuromap" / "simulation" / "engine" / "kernel" / "core_narrow.py"
    text = step.read_text()
    leak = "potential = potential {} _parameter(image, core, LEAK"
    assert printed(copied, RUN, **cache) == "{3} 0 1"
    assert printed(copied, RUN, **cache) == "{3} 1 0"
    assert text.count(leak.format("+")) == 1
    step.write_text(text.replace(leak.format("+"), leak.format("-")))
    assert printed(copied, RUN, **cache) == "{-3} 0 1"


@pytest.mark.slow
def test_without_a_folder_to_write_to_it_compiles_every_time(copied):
    # Root may write anywhere: files stand where the folders would have to be.
    (copied / "neuromap" / "simulation" / "engine" / "kernel" / "__pycache__").write_text("no folder")
    home = copied / "home"
    home.write_text("no folder")
    nowhere = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "LOCALAPPDATA": str(home)}
    run = python(copied, RUN, **nowhere)
    assert (run.returncode, run.stdout.split()[0]) == (0, "{3}"), run.stderr
    assert home.is_file()


def double(x):
    return 2 * x


def flipped(data):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [lambda _: b"", lambda data: data[:-7], lambda _: b"garbage", flipped])
def test_a_damaged_cache_is_compiled_anew(tmp_path, monkeypatch, suffix, damage):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def hits():
        again = _cached(double, "stamp")
        assert again(21) == 42
        return sum(again.stats.cache_hits.values())

    assert [hits(), hits()] == [0, 1]
    (path,) = tmp_path.rglob(f"*{suffix}")
    path.write_bytes(damage(path.read_bytes()))
    hits()  # damage to the seal at the end of an index changes nothing
    assert hits() == 1
    if suffix == ".nbc":
        path = next(tmp_path.rglob("*.nbc"))
        path.write_bytes(flipped(path.read_bytes()))
        assert [hits(), hits()] == [0, 1]
