"""One word for one thing: words that the nomenclature does not use stay out of names and prose."""

import ast
import re
from itertools import pairwise

import pytest

UNUSED_TOKENS = {
    "unroll", "unrolled", "unrolling", "unrolls", "fps", "throughput", "timestep", "timesteps", "packet", "packets",
    "sink", "sinks", "instantaneous",
}  # fmt: skip
UNUSED_PAIRS = {("time", "step"), ("time", "steps"), ("layer", "graph"), ("frame", "rate")}
UNUSED_PROSE = re.compile(r"\b(unroll\w*|fps|throughputs?|time[- ]?steps?|frame rates?)\b", re.IGNORECASE)


def tokens(name):
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)


def offends(name):
    words = [t.lower() for t in tokens(name)]
    return bool(UNUSED_TOKENS & set(words) or UNUSED_PAIRS & set(pairwise(words)))


def public_names(tree):
    """Names of modules' functions, classes, parameters, fields and constants that a user can meet."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not node.name.startswith("_") or node.name == "__init__":
                yield node.name
                arguments = node.args
                yield from (a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])
        elif isinstance(node, ast.ClassDef):
            yield node.name
            yield from (
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            )
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield from (t.id for t in node.targets if isinstance(t, ast.Name))


@pytest.mark.parametrize("name", ["unroll_graph", "UnrolledNet", "n_time_steps", "fps", "frameRate", "Timestep"])
def test_the_check_finds_what_it_looks_for(name):
    assert offends(name)


@pytest.mark.parametrize("name", ["ticks_per_step", "RolloutPattern", "frame_period", "sampling_frequency_hz"])
def test_the_check_lets_our_words_pass(name):
    assert not offends(name)


def test_public_names_use_the_words_of_the_nomenclature(modules):
    found = [
        f"neuromap/{path}: {name}" for path, tree in modules.items() for name in public_names(tree) if offends(name)
    ]
    assert not found


def test_file_names_use_the_words_and_there_is_no_utils(modules):
    for path in modules:
        assert not offends(path.stem)
        assert path.stem not in {"utils", "util", "helpers", "misc", "common"}


def test_pages_use_the_words(pages):
    found = [f"{path.name}: {match.group()}" for path, text in pages.items() for match in UNUSED_PROSE.finditer(text)]
    assert not found


def test_docstrings_use_the_words(modules):
    found = []
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                found += [f"neuromap/{path}: {m.group()}" for m in UNUSED_PROSE.finditer(text)]
    assert not found
