"""Run the commands of the consoles in README.md and docs/*.md and paste what they print.

A console is a fenced block of the language ``console``; its commands start with ``$ neuromap``. They run one
after the other in a temporary folder in which ``examples`` and ``build`` lie, page by page. Blocks with other
commands are left alone. With ``--check`` nothing is written: the exit code tells whether a page is out of date.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = "140"
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command: str, folder: Path) -> str:
    """Run one command line that starts with ``neuromap``; give what it prints, stderr included."""
    words = shlex.split(command)
    environment = {**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip("\n")


def refresh(text: str, folder: Path) -> str:
    """Give the page with every console's output as it is now."""

    def console(match: re.Match[str]) -> str:
        commands = [line[2:] for line in match.group(1).splitlines() if line.startswith("$ ")]
        if not all(command.split()[0] == "neuromap" for command in commands):
            return match.group()
        parts = [f"$ {command}\n{run(command, folder)}".rstrip() for command in commands]
        return "```console\n" + "\n".join(parts) + "\n```"

    return _CONSOLE.sub(console, text)


def main() -> int:
    """Refresh or check all pages."""
    check = "--check" in sys.argv[1:]
    stale = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        old = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to(ROOT / "examples")
            (Path(folder) / "build").mkdir()
            new = refresh(old, Path(folder))
        if new == old:
            continue
        stale += 1
        sys.stdout.writelines(
            difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(page.name), "as it is now")
        )
        if not check:
            page.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
