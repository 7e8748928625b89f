"""Break the code itself, one expression at a time, and see whether the tests notice.

    python tests/fuzz/mutants_of_code.py --learn rollout mapping   which tests of these folders reach which lines
    python tests/fuzz/mutants_of_code.py rollout --count 40        another 40 mutants of neuromap/rollout
    python tests/fuzz/mutants_of_code.py files proof --seed 1      two rooms, other mutants
    python tests/fuzz/mutants_of_code.py files --again             those that survived, after a change of code or tests

A mutant changes a comparison, a whole number by 1, an operator, ``and`` or ``or``, or drops a ``not``, in a copy of the
tree; it is killed when a test fails, or ends no more. Tests are those that reach its line, as learnt (with coverage, of
the extra fuzz), of more than 80 those that reach least, and then all of its room: compiled kernels are mutated too,
every copy with a cache of its own, but their lines are not followed. What is found is added to a CSV file, and what
that holds is not tried again. Tests that killed run once more at the end, on unbroken code: one that fails there has
killed nothing.
"""

from __future__ import annotations

import argparse
import ast
import csv
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REACH = ROOT / "build" / "reach.coverage"
"""Which test reaches which line."""
_MOST_TESTS, _SECONDS, _WAIT = 80, 300, 3600
"""Tests of a mutant; seconds of the processor, and on the clock, that have killed it, if unbroken they end before."""
_MEMORY = 16 * 2**30
"""Bytes of address space that tests may take."""
_ALIKE = ("--hypothesis-seed=0",)
"""Examples that are the same with a mutant and without: else one that fails by itself would count as a kill."""
_FAILED, _BROKE_OFF, _NO_TESTS, _LIVES = ("FAILED ", "ERROR "), 3, 5, "survived"
_TREES = ("neuromap", "tests", "examples", "hardware_models", "docs")
_FLIPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult,
}  # fmt: skip


def mutants(tree: ast.Module) -> Iterator[tuple[ast.AST, str, Any]]:
    """Give every mutant of a module: the expression, a field of it, and its new value."""
    skipped = {id(inner) for node in ast.walk(tree) for inner in _of_no_behaviour(node)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            yield node, "ops", [_FLIPS[type(node.ops[0])]()]
        elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in _FLIPS:
            yield node, "op", _FLIPS[type(node.op)]()
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, "value", node.value + 1
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, "operand", ast.UnaryOp(ast.Not(), node.operand)


def _of_no_behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """Give what lies in annotations and in the texts of errors."""
    if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
        yield from ast.walk(node.annotation)
    elif isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield from ast.walk(node.returns)
    elif isinstance(node, ast.Raise):
        yield from ast.walk(node)


def mutated(text: str, number: int) -> tuple[str, range, str, str]:
    """Give the text with one mutant, its lines, and the expression before and after."""
    node, name, value = list(mutants(tree := ast.parse(text)))[number]
    before, line = ast.unparse(node), getattr(node, "lineno", 0)
    setattr(node, name, value)
    broken = _spliced(text, node)
    if broken is None or ast.dump(ast.parse(broken)) != ast.dump(tree):
        broken = ast.unparse(tree)
    return broken, range(line, getattr(node, "end_lineno", line) + 1), before, ast.unparse(node)


def _spliced(text: str, node: Any) -> str | None:
    """Write a changed expression in its place: tests that read the code itself see nothing else changed."""
    data, starts = text.encode(), [0]
    starts += [k + 1 for k, byte in enumerate(data) if byte == ord("\n")]
    begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    try:
        ast.parse(broken := (data[:begin] + b"(" + ast.unparse(node).encode() + b")" + data[end:]).decode())
    except (SyntaxError, ValueError):  # inside an f-string
        return None
    return broken


def learn(rooms: Sequence[str]) -> int:
    """Run tests with coverage, and keep which of them reach which lines."""
    REACH.parent.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".rc") as settings:
        settings.write(f"[run]\ndynamic_context = test_function\nsource = neuromap\ndata_file = {REACH}\n")
        settings.flush()
        command = [
            sys.executable,
            "-m",
            "coverage",
            "run",
            f"--rcfile={settings.name}",
            "-m",
            "pytest",
            "-q",
            "-n0",
            *_ALIKE,
        ]
        return subprocess.run([*command, *(f"tests/{room}" for room in rooms)], cwd=ROOT).returncode


class Reach:
    """Which tests reach a line."""

    def __init__(self, path: Path) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(path))
        self._data.read()
        self._files = {name.rpartition("/neuromap/")[2]: name for name in self._data.measured_files()}
        self._lines: Counter[str] = Counter()
        for name in self._data.measured_files():
            self._lines.update(one for of_line in self._data.contexts_by_lineno(name).values() for one in of_line)

    def tests(self, file: str, lines: range) -> list[str]:
        """Give tests that reach some of the lines, or the file where none does; first those that reach little else."""
        known = self._data.contexts_by_lineno(self._files.get(file.partition("/")[2], ""))
        found = {one for line in lines for one in known.get(line, ())} - {""}
        found = found or {one for of_line in known.values() for one in of_line} - {""}
        every = sorted(found, key=lambda one: (self._lines[one], one))
        return list(dict.fromkeys(filter(None, map(_node_of, every))))[:_MOST_TESTS]


def _node_of(context: str) -> str | None:
    """Give what pytest calls a test, of its module and name; ``None`` where it is no test of its own."""
    parts = context.split(".")
    for k in range(len(parts) - 1, 0, -1):
        if (path := Path(*parts[:k]).with_suffix(".py")).parts[0] == "tests" and (ROOT / path).exists():
            return "::".join([path.as_posix(), *parts[k:]])
    return None


def _tests_of(room: str) -> str:
    return next(f"tests/{one}" for one in (room, room.partition("/")[0]) if (ROOT / "tests" / one).exists())


def failing(copy: Path, tests: Sequence[str], *, first: bool = True) -> list[str] | None:
    """Run tests: the first that fails or all, by name; ``None`` where they take too long or break off."""
    # CI: Hypothesis asks for no speed, so that a busy machine kills nothing
    environment = {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "cache"), "CI": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", *_ALIKE, *tests]
    command += ["-x"] * first
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=_WAIT, text=True, preexec_fn=_bounded
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode < 0 or done.returncode == _BROKE_OFF:  # a signal, or an error of pytest itself
        return None
    if "ERROR: not found:" in done.stderr or done.returncode == _NO_TESTS:
        raise SystemExit(f"tests that were learnt are not there any more, learn again: {done.stderr[-500:]}")
    told = [
        line.split(" - ")[0].split("[")[0].split(" ", 1)[1]
        for line in done.stdout.splitlines()
        if line.startswith(_FAILED)
    ]
    return [] if done.returncode == 0 else told or [f"the run of the tests itself: {done.stdout[-300:]!r}"]


def _bounded() -> None:
    """Bound what tests take: loops without end may make lists."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))


def sampled(room: str, count: int, seed: int) -> list[tuple[str, int]]:
    """Draw mutants of a room: file, and number in it."""
    sites = [
        (file.relative_to(ROOT).as_posix(), number)
        for file in sorted((ROOT / "neuromap" / room).rglob("*.py"))
        for number in range(sum(1 for _ in mutants(ast.parse(file.read_text(encoding="utf-8")))))
    ]
    return random.Random(seed).sample(sites, min(count, len(sites)))


def main() -> None:
    """Read what is asked for, break it, tell the score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rooms", nargs="+", help="folders of neuromap/ that have tests of the same name")
    parser.add_argument("--learn", action="store_true", help="only learn which tests of these folders reach what")
    parser.add_argument("--count", type=int, default=20, help="mutants of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="try only what survived, once more")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "mutants_of_code.csv")
    asked = parser.parse_args()
    if asked.learn:
        raise SystemExit(learn(asked.rooms))
    reach = Reach(REACH) if REACH.exists() else None
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    known = list(csv.reader(asked.output.open(encoding="utf-8"))) if asked.output.exists() else []
    results = {(room, file, int(number)): (before, result) for room, file, number, _, before, *_, result in known}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for tree in _TREES:
            shutil.copytree(ROOT / tree, copy / tree, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("pyproject.toml", "README.md", "CHANGELOG.md"):
            shutil.copy(ROOT / file, copy / file)
        for room in asked.rooms:
            survivors = [
                (file, number) for (of, file, number), (_, end) in results.items() if of == room and end == _LIVES
            ]
            killers: set[str] = set()
            for file, number in survivors if asked.again else sampled(room, asked.count, asked.seed):
                if (room, file, number) in results and not asked.again:
                    continue
                text = (ROOT / file).read_text(encoding="utf-8")
                broken, lines, before, after = mutated(text, number)
                if asked.again and before != results[room, file, number][0]:
                    print(
                        f"left out: {file}:{lines.start}: the code has changed, {number} is another mutant", flush=True
                    )
                    continue
                tests = (reach.tests(file, lines) if reach else []) or [_tests_of(room)]
                (copy / file).write_text(broken, encoding="utf-8")
                found = failing(copy, tests)
                if found == [] and tests != [_tests_of(room)]:  # a line may be reached by what was kept, or by others
                    found = failing(copy, [_tests_of(room)]) or []
                (copy / file).write_text(text, encoding="utf-8")
                if found is None and failing(copy, tests) != []:
                    print(f"left out: {file}:{lines.start}: its tests take too long", flush=True)
                    continue
                result = _LIVES if found == [] else "killed"
                results[room, file, number] = before, result
                by = "".join(found or ())
                killers |= {by}
                with asked.output.open("a", encoding="utf-8") as kept:
                    csv.writer(kept).writerow([room, file, number, lines.start, before, after, by, result])
                print(f"{result}: {file}:{lines.start}: {before}  ->  {after}  {by}", flush=True)
            if killers := sorted(one for one in killers if "::" in one):
                for one in failing(copy, killers, first=False) or []:
                    print(f"fails on unbroken code too, and has killed nothing: {one}", flush=True)
    score = Counter((room, result) for (room, *_), (_, result) in results.items())
    for room in sorted({room for room, _ in score}):
        killed, alive = score[room, "killed"], score[room, _LIVES]
        print(f"{room}: {killed} of {killed + alive} mutants killed ({killed / (killed + alive):.0%})")


if __name__ == "__main__":
    main()
