"""``neuromap lift``: the network that a program computes."""

from __future__ import annotations

from pathlib import Path

import neuromap as nm
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import AS_JSON, check_destinations, weights_beside
from neuromap.cli.printing.text_output import give_form
from neuromap.options import argument, option

EXAMPLES = """\
\b
Examples:
  neuromap lift sr.nmp
  neuromap lift sr.nmp -o lifted.toml
  neuromap lift sr.nmp --keep --json
"""


@command
def lift(
    program: Path = argument("PROGRAM  Program file."),
    output: str | None = option("--output, -o FILE  Write the network to this file (TOML), and its weights beside it."),
    keep: bool = option("--keep  Lift all neurons in use, not only those on which an output depends.", False),
    as_json: bool = AS_JSON,
) -> None:
    """Turn a program into the network that it computes, tick for tick, reading nothing but the program.

    Relays, splitters and copies are taken out. The network is spiking: one frame is one tick. What networks do
    not have, such as neurons that draw at random, is refused by name.
    """
    check_destinations({"--output": output, "--output, its weights": weights_beside(output)}, {"program": program})
    found = nm.lift(nm.load_program(program), keep=keep)
    if output is not None:
        found.network.save(output)
    give_form(found, output, as_json=as_json, file=output)
