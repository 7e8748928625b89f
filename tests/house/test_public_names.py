"""The doors of packages: each public name is said once, in a stub, and means the same at run time and to mypy."""

import ast
import importlib.util
import subprocess
import sys
import zipfile
from importlib import import_module

import pytest

import neuromap

FROM_ELSEWHERE = {("neuromap.hardware", "Program")}
"""The one name that a package offers though it lies in another, above it."""


def test_every_door_has_a_stub_and_every_stub_a_door(modules, homes):
    doors = {
        ".".join(["neuromap", *path.parent.parts])
        for path, tree in modules.items()
        if path.name == "__init__.py"
        and any(isinstance(node, ast.Name) and node.id == "lazy_names" for node in ast.walk(tree))
    }
    assert doors == set(homes)
    assert len(doors) > 25
    assert sum(map(len, homes.values())) > 300
    assert all(homes.values())


def test_doors_list_no_names_of_their_own(modules):
    """What a door lists beside its stub would be said twice."""
    for path, tree in modules.items():
        if path.name == "__init__.py":
            parts = list(ast.walk(tree))
            assert not any(isinstance(node, ast.Dict) for node in parts), f"neuromap/{path}"
            assert not any(isinstance(node, ast.Name) and node.id == "TYPE_CHECKING" for node in parts)


@pytest.mark.smoke
def test_every_name_is_the_object_of_its_home(homes):
    for package, names in homes.items():
        door = import_module(package)
        if package == "neuromap.backends.nengo" and importlib.util.find_spec("nengo") is None:
            continue
        for name, home in names.items():
            meant = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
            assert getattr(door, name) is meant, f"{package}.{name}"


@pytest.mark.smoke
def test_a_door_lists_the_names_of_its_stub(homes):
    for package, names in homes.items():
        door = import_module(package)
        assert door.__all__ == sorted(names)
        assert dir(door) == sorted(name for name in names if name != "__version__")
        with pytest.raises(AttributeError, match=f"^module '{package}' has no attribute 'nonsense'$"):
            _ = door.nonsense


def test_a_star_gives_every_name():
    given = {}
    exec("from neuromap import *", given)
    assert set(given) - {"__builtins__"} == set(neuromap.__all__)
    assert given["__version__"] == neuromap.version.__version__


def test_public_names_are_those_of_the_own_folder(homes):
    """A package offers what lies in it, and leads nowhere else."""
    led = {(package, name): home for package, names in homes.items() for name, home in names.items()}
    assert {key for key, home in led.items() if not f"{home}.".startswith(f"{key[0]}.")} == FROM_ELSEWHERE


def test_no_module_hides_a_public_name(homes, package_folder):
    """Once a module is imported, its package has it under its name, in the place of what a public name promised."""
    for package, names in homes.items():
        folder = package_folder.joinpath(*package.split(".")[1:])
        for name, home in names.items():
            beside = folder / name / "__init__.py", folder / f"{name}.py"
            assert any(path.exists() for path in beside) == (home == package), f"{package}.{name}"


READ = """
import sys
read = []
sys.addaudithook(lambda event, words: event == "open" and str(words[0])[-4:] == ".pyi" and read.append(words[0]))
{statement}
assert len(read) == {number}, read
"""


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("import neuromap", 0),
        ("from neuromap.cli.main import main; assert main(['--help']) == 0", 0),
        ("import neuromap; neuromap.Network; neuromap.Rollout", 1),
        ("from neuromap.rollout import Count, Rollout; import neuromap; neuromap.Rollout", 2),
    ],
)
def test_a_stub_is_read_once_when_a_name_is_asked_for(statement, number):
    code = READ.format(statement=statement, number=number)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_are_found_in_an_archive(package_folder, tmp_path):
    with zipfile.ZipFile(tmp_path / "neuromap.zip", "w") as archive:
        for path in package_folder.rglob("*.py*"):
            if path.suffix in (".py", ".pyi"):
                archive.write(path, path.relative_to(package_folder.parent))
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'neuromap.zip')!r}); import neuromap;"
        "print(neuromap.__file__, neuromap.Network.__name__, len(dir(neuromap)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == [
        str(tmp_path / "neuromap.zip" / "neuromap" / "__init__.py"), "Network", str(len(dir(neuromap))),
    ], done.stderr  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_mypy_sees_the_same_names(homes, package_folder, tmp_path):
    """It takes every name of every door, and none besides; that homes have them, `make lint` checks."""
    taken = [(package, name) for package, names in homes.items() for name in [*names, "nonsense"]]
    lines = [f"from {package} import {name} as taken_{n}" for n, (package, name) in enumerate(taken)]
    (tmp_path / "takes_all.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=skip", "--no-error-summary",
         "--config-file=", f"--cache-dir={tmp_path / 'cache'}", "takes_all.py"],
        cwd=tmp_path, env={"MYPYPATH": str(package_folder.parent)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    refused = [line.partition(": error: ")[2] for line in done.stdout.splitlines()]
    assert refused == [f'Module "{package}" has no attribute "nonsense"  [attr-defined]' for package in homes]
