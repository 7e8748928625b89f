"""Rules that hold for every module: docstrings, errors, nothing that runs data as code, small files."""

import ast
import inspect
from collections import Counter
from pathlib import Path

import pytest
from optional_rooms import entered

import neuromap
from neuromap import errors

DANGEROUS_CALLS = {"eval", "exec", "compile", "__import__"}
DANGEROUS_MODULES = {"pickle", "dill", "cloudpickle", "marshal", "shelve", "joblib", "subprocess", "yaml"}
RUNS_SCRIPTS = {
    "files/confined.py": {"subprocess"},
    "backends/scripts.py": {"subprocess"},
    "simulation/mpi/start_ranks.py": {"subprocess"},
}
"""Files that start another program: readers of foreign files in a process with limits, `neuromap import`, which says
that it executes the script it is given, and `simulate --ranks`, which lets MPI start this program again."""
ERROR_NAMES = set(errors.__all__)
LONGEST_FILE = 700  # one idea a file, mostly 150 to 500 lines


@pytest.fixture(scope="module")
def reachable(homes):
    """(module, name) of everything that users reach through the door of a package."""
    found = {
        (Path(*home.split(".")[1:]).with_suffix(".py"), name)
        for package, names in homes.items()
        for name, home in names.items()
        if home != package
    }
    assert len(found) > 200
    return found


def functions(tree, prefix=""):
    """Public functions and methods of a module, as (qualified name, node)."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from functions(node, f"{prefix}{node.name}.")


PLAIN_YAML = {"BaseLoader", "CBaseLoader", "YAMLError"}
"""What makes words, lists and tables of YAML: these loaders know no tags, so that nothing can be constructed."""


def test_no_data_is_run_as_code(modules):
    wrong = []
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in DANGEROUS_CALLS:
                wrong.append(f"neuromap/{path}:{node.lineno} {node.func.id}")
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module]
                if node.module == "yaml" and {alias.name for alias in node.names} <= PLAIN_YAML:
                    continue
            else:
                continue
            banned = DANGEROUS_MODULES - RUNS_SCRIPTS.get(path.as_posix(), set())
            wrong += [f"neuromap/{path} {n}" for n in names if n.split(".")[0] in banned]
    assert not wrong


def test_numpy_never_loads_pickles(modules):
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path


def test_no_mutable_default_and_no_global_statement(modules):
    for path, tree in modules.items():
        for node in ast.walk(tree):
            assert not isinstance(node, ast.Global), f"neuromap/{path}"
            if isinstance(node, ast.FunctionDef):
                for default in [*node.args.defaults, *node.args.kw_defaults]:
                    assert not isinstance(default, (ast.List, ast.Dict, ast.Set)), f"neuromap/{path} {node.name}"


def names_given(statement):
    """Names that a statement of a module gives a value without asking for the one they have."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [] if statement.decorator_list else [statement.name]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return []
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    asked = {node.id for node in names if isinstance(node.ctx, ast.Load)}
    return [node.id for node in names if isinstance(node.ctx, ast.Store) and node.id not in asked]


def test_a_name_of_a_module_has_one_value(modules):
    """Where two files become one, a constant of the second would replace that of the first in silence."""
    for path, tree in modules.items():
        counts = Counter(name for statement in tree.body for name in names_given(statement))
        assert [name for name, count in counts.items() if count > 1 and name != "_"] == [], f"neuromap/{path}"


def test_everything_public_has_a_docstring(modules):
    bare = [f"neuromap/{path}" for path, tree in modules.items() if not ast.get_docstring(tree) and tree.body]
    for path, tree in modules.items():
        bare += [f"neuromap/{path} {name}" for name, node in functions(tree) if not ast.get_docstring(node)]
        bare += [
            f"neuromap/{path} {node.name}"
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and not ast.get_docstring(node)
        ]
    assert not bare


def test_docstrings_of_what_users_reach_name_the_errors_that_are_raised(modules, reachable):
    wrong = []
    for path, tree in modules.items():
        if path.parts[0] == "cli":
            continue  # their docstrings are the help texts
        for name, node in functions(tree):
            if (path, name.split(".")[0]) not in reachable:
                continue
            raised = {
                part.exc.func.id
                for part in ast.walk(node)
                if isinstance(part, ast.Raise)
                and isinstance(part.exc, ast.Call)
                and isinstance(part.exc.func, ast.Name)
                and part.exc.func.id in ERROR_NAMES
            }
            text = ast.get_docstring(node) or ""
            bases = {error: {base.__name__ for base in getattr(errors, error).__mro__} for error in raised}
            wrong += [
                f"neuromap/{path} {name}: {error}"
                for error in sorted(raised)
                if "Raises" not in text or not any(base in text for base in bases[error] & ERROR_NAMES)
            ]
    assert not wrong


def test_only_our_errors_are_raised_on_purpose(modules):
    allowed = ERROR_NAMES | {"AttributeError", "AssertionError"}  # for __getattr__, and for what cannot happen
    wrong = []
    for path, tree in modules.items():
        if path.parts[0] == "cli":
            continue  # typer has its own
        for node in ast.walk(tree):
            raised = node.exc if isinstance(node, ast.Raise) else None
            raised = raised.func if isinstance(raised, ast.Call) else raised
            if isinstance(raised, ast.Name):
                name = raised.id
                if name[0].isupper() and name.endswith("Error") and name not in allowed | {"ValueError"}:
                    wrong.append(f"neuromap/{path}:{node.lineno} {name}")
    assert not wrong


def test_files_are_small(package_folder, modules):
    long = {
        str(path): n
        for path in modules
        if (n := len((package_folder / path).read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert not long


@pytest.mark.parametrize("name", dir(neuromap))
def test_public_names_are_reachable_and_documented(name):
    assert inspect.getdoc(getattr(neuromap, name))


def test_all_lists_are_true(modules):
    for path, tree in modules.items():
        if not any(isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__all__" for n in tree.body):
            continue
        parts = ["neuromap", *path.with_suffix("").parts]
        module = entered(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        for name in () if module is None else module.__all__:
            assert hasattr(module, name), f"{module.__name__}.{name}"


def test_every_error_has_an_exit_code_of_the_command_line():
    codes = {name: getattr(errors, name).exit_code for name in ERROR_NAMES - {"NeuromapError"}}
    assert set(codes.values()) == {2, 3, 4, 5}
    for name, code in codes.items():
        if issubclass(getattr(errors, name), errors.InputError):
            assert code == 2
