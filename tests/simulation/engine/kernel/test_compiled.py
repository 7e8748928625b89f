"""The cache of compiled code: its key is everything that the code is made of."""

import importlib.util

import numba
import pytest

from neuromap.simulation.engine.kernel.compiled import cached_under, compiled, kernel_stamp

STAMP = "from neuromap.simulation.engine.kernel.compiled import kernel_stamp; print(kernel_stamp())"

# The entry point that takes no second to compile; then what came from the cache and what was compiled.
LIST_SPIKES = """
import numpy as np
from neuromap.simulation.engine.kernel.compiled import compiled

list_spikes = compiled().list_spikes
neurons = list_spikes(np.array([0b1010], np.uint32), 1, 1)[2].tolist()
hits, misses = sum(list_spikes.stats.cache_hits.values()), sum(list_spikes.stats.cache_misses.values())
print(neurons, hits, misses)
"""


def test_every_kernel_file_and_the_version_are_part_of_the_stamp(copied, run_python):
    kernel = copied / "neuromap" / "simulation" / "engine" / "kernel"
    spec = importlib.util.spec_from_file_location("copied_compiled", kernel / "compiled.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stamps = [module.kernel_stamp()]
    assert stamps == [kernel_stamp()]  # not of the place
    for path in sorted(kernel.rglob("*.py")):
        text = path.read_bytes()
        path.write_bytes(text + b"\n")
        stamps.append(module.kernel_stamp())
        path.write_bytes(text)
    assert module.kernel_stamp() == stamps[0]
    assert len(set(stamps)) == len(stamps) > 8

    version = copied / "neuromap" / "version.py"
    version.write_text(version.read_text().replace('__version__ = "', '__version__ = "9'))
    run = run_python(copied, STAMP)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() not in stamps


def test_every_entry_point_is_kept_under_the_stamp():
    for entry in compiled():
        assert entry.py_func.__qualname__ == f"{entry.py_func.__name__}_{kernel_stamp()[:20]}"


@pytest.mark.slow
def test_what_was_compiled_is_loaded_until_a_helper_is_edited(copied, run_python):
    # Numba itself looks at compiled.py only.
    def printed():
        run = run_python(copied, LIST_SPIKES, NUMBA_CACHE_DIR=str(copied / "cache"))
        assert run.returncode == 0, run.stderr
        return run.stdout.strip()

    helper = copied / "neuromap" / "simulation" / "engine" / "kernel" / "words.py"
    text, lowest = helper.read_text(), "builder.cttz(word, BIT(1))"
    assert printed() == "[1, 3] 0 1"
    assert printed() == "[1, 3] 1 0"
    assert text.count(lowest) == 1
    helper.write_text(text.replace(lowest, "WORD(7)"))
    assert printed() == "[7, 7] 0 1"


@pytest.mark.slow
def test_without_a_folder_to_write_to_it_compiles_every_time(copied, run_python):
    # Root may write anywhere: files stand where the folders would have to be.
    (copied / "neuromap" / "simulation" / "engine" / "kernel" / "__pycache__").write_text("no folder")
    home = copied / "home"
    home.write_text("no folder")
    nowhere = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "LOCALAPPDATA": str(home)}
    run = run_python(copied, LIST_SPIKES, **nowhere)
    assert (run.returncode, run.stdout.strip()) == (0, "[1, 3] 0 1"), run.stderr
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
        again = cached_under("stamp", double)
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
