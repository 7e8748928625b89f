"""``neuromap import``: a network file out of a script of another simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuromap.cli.arguments.destinations import check_destinations
from neuromap.cli.arguments.options import JsonFlag, chip_file_of, file_option, said_option
from neuromap.cli.printing.json_output import print_json
from neuromap.cli.printing.text_output import print_written, text_console, text_width

__all__ = ["EXAMPLES", "import_command"]

EXAMPLES = """\
\b
Examples:
  neuromap import brian2 examples/brian2/current.py
  neuromap import brian2 examples/brian2/current.py -o current.toml
  neuromap import brian2 examples/brian2/leak.py --chip truenorth --json
"""


def import_command(
    format: Annotated[str, typer.Argument(metavar="FORMAT", help="Whose script it is: brian2.", show_default=False)],
    script: Annotated[
        Path, typer.Argument(metavar="SCRIPT", help="The script, which is executed.", show_default=False)
    ],
    output: Annotated[str | None, file_option("--output", "-o", holds="the integer network")] = None,
    chip: Annotated[
        str | None,
        said_option(
            "--chip",
            metavar="CHIP",
            text="A packaged chip (see neuromap chips) or a chip file.  [default: that of the script, or loihi1]",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a script of another simulator on a chip, and write its network in integers.

    The script is executed, as python SCRIPT would: only import scripts that you would run. What it prints goes to
    stderr. The network that ran last is imported; what the chip does not compute is refused with its equation.
    """
    from neuromap.backends.scripts import import_script

    files = {"script": script, "chip file": None if chip is None else chip_file_of(chip)}
    check_destinations({"--output": output}, files)
    found = import_script(format, script, chip, width=text_width())
    if output is not None:
        found.network.save(output)
    if as_json:
        print_json({"format": "neuromap import 1", "from": format, **found.figures, "file": output})
        return
    console = text_console()
    console.print(found.text.rstrip("\n"), markup=False, soft_wrap=True)
    print_written(console, output)
