"""Run the commands of the consoles in README.md and docs/*.md and paste what they print.

A console is a fenced block of the language ``console``; its commands start with ``$ neuromap``. They run one
after the other, in this process, in a temporary folder in which ``examples`` and ``build`` lie, page by page. Blocks
with other commands are left alone. With ``--check`` nothing is written: the exit code tells whether a page is out of
date.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from neuromap.cli.main import main as neuromap

ROOT = Path(__file__).resolve().parents[1]
WIDTH = "80"
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@contextmanager
def terminal() -> Iterator[None]:
    """A width and no colours, whatever the terminal is that this runs in."""
    before = dict(os.environ)
    os.environ |= {"COLUMNS": WIDTH, "NO_COLOR": "1"}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run(command: str, folder: Path) -> str:
    """Run one command line that starts with ``neuromap``; give what it prints, stderr included."""
    printed = StringIO()
    with chdir(folder), terminal(), redirect_stdout(printed), redirect_stderr(printed):
        neuromap(shlex.split(command)[1:])
    return "\n".join(line.rstrip() for line in printed.getvalue().splitlines()).strip("\n")


def refresh(text: str, folder: Path) -> str:
    """Give the page with every console's output as it is now."""

    def console(match: re.Match[str]) -> str:
        commands = [line[2:] for line in match.group(1).splitlines() if line.startswith("$ ")]
        if not all(command.split()[0] == "neuromap" for command in commands):
            return match.group()
        parts = [f"$ {command}\n{run(command, folder)}".rstrip() for command in commands]
        return "```console\n" + "\n".join(parts) + "\n```"

    return _CONSOLE.sub(console, text)


def refreshed(page: Path) -> str:
    """Give a page as it has to be, its commands run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        (Path(folder) / "build").mkdir()
        return refresh(page.read_text(encoding="utf-8"), Path(folder))


def difference(page: Path, new: str) -> str:
    """Give what has to change on a page; empty if nothing."""
    old = page.read_text(encoding="utf-8")
    return "".join(difflib.unified_diff(old.splitlines(True), new.splitlines(True), page.name, "as it is now"))


def main() -> int:
    """Refresh or check all pages."""
    check = "--check" in sys.argv[1:]
    stale = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        new = refreshed(page)
        if change := difference(page, new):
            stale += 1
            sys.stdout.write(change)
            if not check:
                page.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
