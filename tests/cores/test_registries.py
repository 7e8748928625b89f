"""What an installed package adds by a line each: a chip, a placer, formats, a back end."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import neuromap as nm
from neuromap.backends.scripts import SCRIPT_FORMATS, script_format
from neuromap.cores.core_kind import CORE_KINDS
from neuromap.errors import ChipError, InputError, NotSupportedError
from neuromap.exchange import EXPORT_FORMATS, IMPORT_FORMATS, export_file, import_file
from neuromap.mapping.options.options import PLACERS

DENSE = Path(__file__).parent / "plugin" / "neuromap_dense" / "dense-64.toml"
BROKEN = """
[neuromap.core_kinds]
crossbar = no_such_package
[neuromap.chips]
absent = half_a_package
misnamed = half_a_package
lost = no_such_package
[neuromap.placers]
one-place = half_a_package:on_one_place
strange = half_a_package:text
nameless = half_a_package:no_such_name
failing = half_a_package.failing:place
lost = no_such_package:place
[neuromap.import_formats]
function = half_a_package:on_one_place
"""
HALF = """
import numpy as np
text = "no placer"
def on_one_place(graph, board, seed, deadline):
    return np.zeros((graph.n_cores, 2), np.int64)
"""


@pytest.fixture
def rollout():
    """Two nodes, over several cores of every chip here."""
    rng = np.random.default_rng(2)
    nodes = {"I": (30, None), "O": (30, 1)}
    return nm.Rollout(nm.build_network(nodes, {("I", "O"): rng.integers(-1, 2, (30, 30))}), "streaming")


@pytest.fixture
def half_a_package(tmp_path, monkeypatch):
    """A package whose lines are wrong."""
    package, lines = tmp_path / "half_a_package", tmp_path / "half_a_package-1.0.dist-info"
    package.mkdir()
    lines.mkdir()
    (lines / "METADATA").write_text("Metadata-Version: 2.1\nName: half-a-package\nVersion: 1.0\n")
    (lines / "entry_points.txt").write_text(BROKEN)
    (package / "__init__.py").write_text(HALF)
    (package / "failing.py").write_text("raise OSError('two\\nlines')")
    (package / "misnamed.toml").write_text(DENSE.read_text().replace("dense-64", "other"))
    monkeypatch.syspath_prepend(tmp_path)


def test_a_package_is_known_once_it_is_installed_and_read_once(tmp_path, monkeypatch):
    """A mapping asks for its kind of core a hundred times, and what is installed takes long to read."""
    read, entry_points = [], metadata.entry_points
    monkeypatch.setattr(metadata, "entry_points", lambda **asked: read.append(asked) or entry_points(**asked))
    monkeypatch.syspath_prepend(tmp_path)
    os.utime(tmp_path, (0, 0))  # the clock of the file system may not tell what follows from the making of the folder
    assert "late" not in CORE_KINDS
    lines = tmp_path / "late-1.0.dist-info"
    lines.mkdir()
    (lines / "METADATA").write_text("Metadata-Version: 2.1\nName: late\nVersion: 1.0\n")
    (lines / "entry_points.txt").write_text("[neuromap.core_kinds]\nlate = late\n")
    n_before = len(read)
    assert all("late" in CORE_KINDS for _ in range(100))
    assert len(read) == n_before + 1


def test_a_chip_is_known_by_its_name(rollout):
    assert nm.load_chip("dense-64").core_model == "dense"
    assert [chip.name for chip in nm.list_chips()][-1] == "dense-64"
    assert nm.map_rollout(rollout, "dense-64").chip.name == "dense-64"


def test_a_placer_places(rollout, dense_chip):
    for chip in ("truenorth", dense_chip):
        chip = nm.load_chip(chip, {"core.neurons": 4, "core.axons": 60})  # of one word, as kernels that are there
        program = nm.map_rollout(rollout, chip, placer="last-first")
        assert program.n_cores > 4
        assert program.coordinates[0].tolist() == [chip.columns - 1, chip.rows - 1]
        assert nm.verify(rollout, program, n_frames=4, threads=1).verified


def test_formats_read_and_write(tmp_path):
    (tmp_path / "three.chain").write_text("1 1 2")
    found = import_file(tmp_path / "three.chain")
    assert [*found.network.nodes] == ["I", "N0", "N1", "N2"]
    found.network.save(tmp_path / "three.toml")
    export_file(tmp_path / "three.toml", "sizes", tmp_path / "sizes.txt")
    assert (tmp_path / "sizes.txt").read_text() == "I 1\nN0 1\nN1 1\nN2 1\n"


def test_a_back_end_is_found():
    assert [*SCRIPT_FORMATS] == ["brian2", "scripted"]
    with pytest.raises(NotSupportedError, match="needs no_such_simulator, which is not installed; pip install no_such"):
        script_format("scripted")


def test_ours_come_first_and_cannot_be_taken_away(half_a_package):
    assert [*CORE_KINDS] == ["crossbar", "synapse-list", "graded", "dense"]
    assert CORE_KINDS["crossbar"].structure.NEURON_TABLE
    for registry in (CORE_KINDS, PLACERS, IMPORT_FORMATS, EXPORT_FORMATS):
        assert [*registry][: len(registry.ours)] == [*registry.ours]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent", "chip absent: half_a_package has no absent.toml"),
        ("misnamed", "half_a_package/misnamed.toml: name: found 'other'; a packaged chip is named as its file"),
        ("lost", "chip lost: no_such_package cannot be imported"),
    ],
)
def test_a_chip_file_that_is_not_there_is_one_line(half_a_package, name, said):
    with pytest.raises(ChipError) as refused:
        nm.load_chip(name)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("one-place", "placer one-place: gave no layout"),
        ("strange", "placer strange: half_a_package:text is not a Callable"),
        ("nameless", "placer nameless: half_a_package has no no_such_name"),
        ("failing", r"placer failing: half_a_package.failing cannot be imported (two lines)"),
        ("lost", "placer lost: no_such_package cannot be imported"),
        ("nothing", "placer 'nothing' is not known; choose one of auto"),
    ],
)
def test_a_placer_that_is_none_is_one_line(half_a_package, rollout, name, said):
    chip = nm.load_chip("truenorth", {"core.neurons": 4})
    with pytest.raises(InputError) as refused:
        nm.map_rollout(rollout, chip, placer=name)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_format_that_is_none_is_one_line(half_a_package, tmp_path):
    with pytest.raises(InputError, match="format function: half_a_package:on_one_place is not a Format"):
        import_file(tmp_path / "x", "function")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("map --help-all", "Of other packages: last-first."),
        ("import --help", "Of other packages: chain, scripted."),
        ("export --help", "Of other packages: sizes."),
        ("chips", "dense-64"),
    ],
)
def test_lists_show_them(words, said):
    code = f"import sys; sys.path[:0] = {sys.path!r}; sys.argv[1:] = {words.split()!r}\n"
    code += "from neuromap.cli.entry import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert " ".join(said.split()) in " ".join(done.stdout.replace("│", " ").split()), done.stderr
