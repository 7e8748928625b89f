"""``neuromap new``: write a commented file to start from."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import check_destinations
from neuromap.cli.printing.text_output import print_line, print_written, text_console
from neuromap.errors import InputError
from neuromap.files.whole_file import write_whole
from neuromap.options import argument, option

# Kinds of files: the next command to run, with FILE for its path. The files themselves are in ``cli/templates``.
KINDS = {
    "chip": "neuromap chips FILE, neuromap map NET --chip FILE",
    "network": "neuromap rollouts FILE, neuromap report FILE",
    "sweep": "neuromap new network -o network.toml beside it, neuromap sweep FILE",
}

EXAMPLES = """\
\b
Examples:
  neuromap new network -o network.toml
  neuromap new chip -o chip.toml
  neuromap new sweep
"""


@command
def new(
    kind: str = argument("KIND  What the file is of: chip, network or sweep.", choices=tuple(KINDS)),
    output: str | None = option("--output, -o FILE  Write it to this file, which must not be there yet."),
) -> None:
    """Print a commented chip, network or sweep file to start from, or write it; it is read as it stands."""
    text = files("neuromap.cli").joinpath("templates", f"{kind}.toml").read_text(encoding="utf-8")
    if output is None:
        sys.stdout.write(text)
        return
    check_destinations({"--output": output}, {})
    if Path(output).is_file():
        raise InputError(f"--output {output}: is there already; give another file, or remove it")
    write_whole(output, text)
    console = text_console()
    print_written(console, output)
    print_line(console, f"next: {KINDS[kind].replace('FILE', output)}")
