"""The floors of docs/architecture.md are true: nothing imports upwards, nothing in a circle, nothing heavy early."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

OPTIONAL = {
    "brian2",
    "elephant",
    "neo",
    "quantities",
    "torch",
    "sklearn",
    "matplotlib",
    "nengo",
    "nir",
    "onnx",
    "vl_convert",
    "pymetis",
    "h5py",
    "pandas",
    "PIL",
    "dask",
    "distributed",
    "pyarrow",
    "mpi4py",
    "uvicorn",
    "websockets",
    "playwright",
}
ADAPTERS: dict[str, set[str]] = {
    "backends/brian2": {"brian2"},
    "backends/nengo": {"nengo"},
    "training/torch": {"torch"},
}
"""Rooms that must import an optional package when they are imported, because they derive from its classes."""
MOST_FILES = 25
"""Files of a folder."""
GROUND = "1"
SEAM = Path("cores/core_kind.py")
"""Behind it stand kinds of cores, which it finds by their names: no import statement leads to them."""


class Room(NamedTuple):
    floor: str
    place: int
    name: str

    @property
    def house(self):
        """Rooms of one house may import those before them in the table; the ground floor is one house."""
        return "ground" if self.floor == GROUND else self.name.split("/")[0]

    def may_import(self, other):
        if other.floor != self.floor:
            return other.floor < self.floor
        return other == self or (other.house == self.house and other.place < self.place)


@pytest.fixture(scope="module")
def rooms(root):
    """Name of a folder or of a module beside the folders -> room, read from the table of the architecture page."""
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| ([^|]+) \|", text, re.MULTILINE)
    names = [(floor, name) for floor, names in rows for name in re.findall(r"`([\w/*]+)`", names)]
    return {name: Room(floor, place, name) for place, (floor, name) in enumerate(names)}


def imports(tree):
    """All absolute names that a module imports: ``import a.b`` and ``from a import b`` give ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_at_run_time(tree):
    """Those of a seam, which names what stands above it to the type checker alone."""
    return imports(ast.Module([node for node in module_level(tree) if not isinstance(node, ast.If)], []))


def module_of(name, modules):
    """The path of the module of ours that an imported name is, or lies in; None where it is not ours."""
    parts = name.split(".")
    if parts[0] != "neuromap":
        return None
    for end in range(len(parts), 1, -1):
        path = Path(*parts[1:end])
        for found in (path.with_suffix(".py"), path / "__init__.py"):
            if found in modules:
                return found
    return Path("__init__.py")


def room_of(path, rooms):
    """A module of a kind of core is a room of its own where the table has it as ``cores/*/NAME``."""
    folder = path.parent.as_posix()
    part = f"{path.parent.parent.as_posix()}/*/{path.stem}"
    return rooms[path.stem if folder == "." else part if part in rooms else folder]


def inner(modules):
    """Modules, without the doors of packages: these only list names."""
    return {path: tree for path, tree in modules.items() if path.name != "__init__.py"}


@pytest.fixture(scope="module")
def arrows(modules):
    """Who imports whom, however late: pairs of paths."""
    return {
        (path, found)
        for path, tree in inner(modules).items()
        for name in (imports_at_run_time(tree) if path == SEAM else imports(tree))
        if (found := module_of(name, modules)) is not None and found != path
    }


def test_the_table_names_every_room(rooms, modules):
    folders = {path.parent.as_posix() for path in inner(modules)} - {"."}
    beside = {path.stem for path in inner(modules) if len(path.parts) == 1} - {"__main__"}
    assert {name for name in rooms if "*" not in name} == folders | beside
    parts = {f"{path.parent.parent.as_posix()}/*/{path.stem}" for path in inner(modules)}
    assert {name for name in rooms if "*" in name} <= parts


def test_nothing_imports_upwards(rooms, arrows):
    wrong = [
        f"neuromap/{path} imports neuromap/{found}"
        for path, found in arrows
        if path.name != "__main__.py" and found.name != "__init__.py"
        if not room_of(path, rooms).may_import(room_of(found, rooms))
    ]
    assert not sorted(wrong)


def test_nothing_is_imported_in_a_circle(arrows):
    knots = nx.strongly_connected_components(nx.DiGraph(arrows))
    assert not [sorted(map(str, knot)) for knot in knots if len(knot) > 1]


def test_inside_the_package_names_come_from_where_they_are_defined(arrows):
    """The public names of a package reach any of its rooms, past the table; only the command line may use them."""
    wrong = [f"neuromap/{path} imports {found}" for path, found in arrows if found.name == "__init__.py"]
    assert not [line for line in wrong if not line.startswith(("neuromap/cli/", "neuromap/__main__"))]


def test_only_the_entry_point_imports_the_command_line(arrows):
    outside = {str(path) for path, found in arrows if found.parts[0] == "cli" and path.parts[0] != "cli"}
    assert outside == {"__main__.py"}


def test_only_hardware_reads_the_chip_files(modules):
    readers = {
        path.parts[0]
        for path, tree in modules.items()
        if "hardware_models" in imports(tree)
        or any(isinstance(node, ast.Constant) and node.value == "hardware_models" for node in ast.walk(tree))
    }
    assert readers == {"hardware"}


def test_folders_are_small(modules):
    count = {}
    for path in inner(modules):
        count[path.parent] = count.get(path.parent, 0) + 1
    assert {str(folder): n for folder, n in count.items() if n > MOST_FILES} == {}


def module_level(tree):
    """Statements that run on import: not those in functions, nor under TYPE_CHECKING."""
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        yield node
        todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def test_optional_packages_are_imported_inside_functions_only(modules):
    wrong = [
        f"neuromap/{path} imports {name}"
        for path, tree in modules.items()
        for node in module_level(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in imports(node)
        if name.split(".")[0] in OPTIONAL - ADAPTERS.get(path.parent.as_posix(), set())
    ]
    assert not wrong


HEAVY = {"numpy", "scipy", "networkx", "jinja2", "brian2", "torch", "sklearn", "safetensors"}


@pytest.mark.parametrize(
    ("statement", "more"),
    [
        ("import neuromap", {"pydantic", "typer", "rich"}),
        ("import neuromap; dir(neuromap)", {"pydantic", "typer", "rich"}),
        ("from neuromap.cli.main import main; assert main(['--help']) == 0", {"pydantic"}),
        ("from neuromap.cli.main import main; assert main(['--version']) == 0", {"pydantic"}),
        # typer itself takes pydantic to read the values of options
        ("from neuromap.cli.main import COMMANDS, main; assert not any(main([c, '--help']) for c in COMMANDS)", set()),
        ("from neuromap.cli.main import main; assert main(['nonsense']) == 2", set()),
    ],
)
def test_import_and_help_are_light(statement, more):
    code = f"import sys; {statement}; heavy = {HEAVY | more} & set(sys.modules); assert not heavy, heavy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_dependency_is_used(root, modules):
    """What is not imported is not needed."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    used = {name.split(".")[0] for tree in modules.values() for name in imports(tree)}
    for requirement in project["dependencies"]:
        assert re.match(r"[a-z0-9-]+", requirement).group() in used
