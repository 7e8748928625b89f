"""The other project called neuromap, an SDK: never installed beside ours in silence."""

import os
import re
import subprocess
import sys
import tomllib

import pytest

from neuromap.one_installation import DISTRIBUTION

THEIRS = "[console_scripts]\nneuromap=neuromap.cli:main\n"
OURS_ONCE = "[console_scripts]\nneuromap = neuromap.cli.entry:main\n"
REFUSED = r"neuromap-0\.1\.4\.dist-info: .*SDK of another project.* pip uninstall -y neuromap neuromap-rollouts, then"


@pytest.fixture
def record(tmp_path):
    """Write the record of a distribution called neuromap, as pip leaves it in a folder of packages."""

    def write(entry_points):
        folder = tmp_path / "neuromap-0.1.4.dist-info"
        folder.mkdir()
        (folder / "entry_points.txt").write_text(entry_points)

    return write


def python(folder, package_folder, *words):
    path = os.pathsep.join([str(folder), str(package_folder.parent), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *map(str, words)], env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_beside_the_other_project_no_import_and_no_command(record, tmp_path, package_folder):
    record(THEIRS)
    code = "try:\n import neuromap\nexcept ImportError as error:\n print(type(error).__name__, error)"
    assert re.match(f"InstallationError .*{REFUSED}.*\n$", python(tmp_path, package_folder, "-c", code).stdout)
    done = python(tmp_path, package_folder, "-m", "neuromap", "chips")
    assert (done.returncode, done.stdout) == (4, "")
    assert re.fullmatch(f"neuromap: .*{REFUSED}.*\n", done.stderr)


def test_where_the_other_project_came_last(record, tmp_path, package_folder):
    """Its ``__init__.py`` and its program are there; of the modules, our folders go before its files."""
    record(THEIRS)
    (tmp_path / "neuromap").mkdir()
    (tmp_path / "neuromap" / "__init__.py").write_text(
        f"__path__.append({str(package_folder)!r})\nfrom neuromap.network import Network\n"
    )
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "neuromap").write_text("from neuromap.cli import main\nmain()\n")
    done = python(tmp_path, package_folder, tmp_path / "bin" / "neuromap")
    assert (done.returncode, done.stdout) == (4, "")
    assert re.fullmatch(f"neuromap: .*{REFUSED}.*\n", done.stderr)


def test_our_own_record_under_the_old_name_is_no_other_project(record, tmp_path, package_folder):
    record(OURS_ONCE)
    assert python(tmp_path, package_folder, "-c", "import neuromap").returncode == 0


def test_what_is_installed_has_one_name_everywhere(root):
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["name"] == DISTRIBUTION
    folders = ("neuromap", "docs", "examples", "tests", "benchmarks")
    files = [f for folder in folders for end in ("py", "md") for f in (root / folder).rglob(f"*.{end}")]
    for file in [root / "README.md", *files]:
        assert not re.search(
            r"\bneuromap\\?\[(hdf5|partition|benchmarks|training|examples|brian2|docs)", file.read_text()
        )
