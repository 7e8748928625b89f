"""The import table of docs/architecture.md is true; nothing heavy is imported where it need not be."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import neuromap

OPTIONAL = {"brian2", "torch", "sklearn", "matplotlib", "nengo", "nir", "onnx"}
SHARED = {"errors", "whole_file", "frozen", "toml_table", "numba_cache"}


@pytest.fixture(scope="module")
def floors(root):
    """Folder -> folders it may import, read from the table of the architecture page."""
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(?:neuromap/)?(\w+)(?:\.py)?/?` \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE)
    allowed = {}
    for folder, cell in rows:
        names = set(re.findall(r"\w+", cell.split(";")[0]))
        if cell.startswith("everything above"):
            names = set(allowed)
        elif cell.startswith("everything below cli"):
            names = {name for name, _ in rows} - {"cli", "hardware_models"}
        elif cell.startswith("everything"):
            names = {name for name, _ in rows}
        elif cell.startswith("nothing"):
            names = set()
        allowed[folder] = names
    return allowed


def imports(tree):
    """All absolute names that a module imports: ``import a.b`` and ``from a import b`` give ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def folder_of(name):
    """The folder of the package that an imported name lives in; None where it is not ours."""
    parts = name.split(".")
    if parts[0] == "hardware_models":
        return "hardware_models"
    if parts[0] != "neuromap":
        return None
    if len(parts) == 1:
        return "neuromap"
    home = neuromap._HOMES.get(parts[1])
    return home.split(".")[1] if home else parts[1]


def test_table_names_every_folder(floors, package_folder):
    folders = {p.parent.name for p in package_folder.glob("*/__init__.py")}
    assert folders <= set(floors)


def test_lower_folders_import_no_higher_ones(floors, modules):
    wrong = []
    for path, tree in modules.items():
        if len(path.parts) == 1:
            continue
        here = path.parts[0]
        allowed = floors[here] | SHARED | {here, "__version__", "neuromap"}
        if here == "hardware":
            allowed.add("hardware_models")
        for name in imports(tree):
            folder = folder_of(name)
            if folder is not None and folder not in allowed:
                wrong.append(f"neuromap/{path} imports {name}")
    assert not wrong


def test_below_the_command_line_the_package_itself_gives_its_version_only(modules):
    """``neuromap.load_network`` would reach any folder, past the table."""
    wrong = [
        f"neuromap/{path}: {ast.unparse(node)}"
        for path, tree in modules.items()
        if len(path.parts) > 1 and path.parts[0] != "cli"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("neuromap", "nm")
        if node.attr != "__version__"
    ]
    assert not wrong


def test_simulation_never_imports_mapping(floors, modules):
    assert "mapping" not in floors["simulation"]
    assert "simulation" not in floors["mapping"]


def test_only_the_entry_point_imports_the_command_line(modules):
    importers = {str(path) for path, tree in modules.items() for name in imports(tree) if folder_of(name) == "cli"}
    assert {p for p in importers if not p.startswith("cli/")} == {"__main__.py"}


def test_shared_modules_stand_alone(modules):
    for path, tree in modules.items():
        if path.parent == Path() and path.stem in SHARED:
            assert {folder_of(n) for n in imports(tree)} <= {None, "errors"}


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
        if name.split(".")[0] in OPTIONAL
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
        ("from neuromap.cli.main import main; assert main(['report', '--help']) == 0", set()),
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
