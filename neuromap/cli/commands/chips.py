"""``neuromap chips``: the packaged chips, or one chip in full."""

from __future__ import annotations

import sys
from typing import Any

import neuromap as nm
from neuromap.cli.arguments.command import command
from neuromap.cli.arguments.options import AS_JSON
from neuromap.cli.printing.text_output import print_json, text_console
from neuromap.errors import InputError
from neuromap.options import argument, option
from neuromap.render.table import text_table

EXAMPLES = """\
\b
Examples:
  neuromap chips
  neuromap chips truenorth
  neuromap chips truenorth --toml
  neuromap chips ./my_chip.toml --json
"""


@command
def chips(
    chip: str | None = argument(
        "NAME|PATH  A packaged chip or a chip file; by default all packaged chips are listed.", None
    ),
    toml: bool = option("Print the chip's file as it is, with its comments: a start for one of your own.", False),
    as_json: bool = AS_JSON,
) -> None:
    """List the packaged chips, or show one chip in full with its sources."""
    from neuromap.hardware.chip.chip_file import chip_text, list_chips, load_chip

    if toml:
        if chip is None or as_json:
            raise InputError(f"--toml: {'goes without --json' if as_json else 'is of one chip; give its NAME'}")
        sys.stdout.write(chip_text(chip))
        return
    specs = list_chips() if chip is None else (load_chip(chip),)
    if as_json:
        print_json({"chips": [chip_object(spec) for spec in specs]} if chip is None else chip_object(specs[0]))
    elif chip is None:
        _print_list(specs)
    else:
        _print_chip(specs[0])


def chip_object(spec: nm.ChipSpec) -> dict[str, Any]:
    """Return the JSON form of a chip: the tables of its file, and derived ranges.

    Unpublished figures are absent.
    """
    from neuromap.hardware.chip.chip_document import chip_document

    derived = {"n_cores": spec.n_cores, "weight_range": list(spec.weight_range)}
    if spec.leak_bits:  # chips without a leak may scale their thresholds
        derived["leak_range"] = list(spec.leak_range)
        derived["threshold_range"] = list(spec.threshold_range)
        derived["potential_range"] = list(spec.potential_range)
    return {**chip_document(spec), "derived": derived}


def _print_list(specs: tuple[nm.ChipSpec, ...]) -> None:
    headers = ("chip", "cores", "axons x\nneurons", "axon\ntypes", "weight\nbits", "delay\n[ticks]", "tick\n[s]")
    rows = [
        (
            spec.name,
            f"{spec.n_cores}",
            f"{spec.axons} x {spec.neurons}",
            f"{spec.axon_types}" if spec.axon_types else "-",
            f"{spec.weight_bits}",
            f"{spec.delay[0]} to {spec.delay[1]}",
            "timed" if spec.is_timed else f"{spec.tick_seconds:g}",
        )
        for spec in specs
    ]
    console = text_console()
    text_table(headers, rows).print(console)
    console.print("One chip in full: neuromap chips NAME. A chip of your own: give the path of its file.")


def _print_chip(spec: nm.ChipSpec) -> None:
    console = text_console()
    console.print(f"{spec.name}: {spec.description}" if spec.description else spec.name, markup=False)
    data = chip_object(spec)
    rows = [
        (f"{group}.{key}", _shown(key, value))
        for group in ("grid", "core", "time", "neuron", "derived", "router", "energy")
        for key, value in data.get(group, {}).items()
    ]
    text_table(("figure", "value"), rows, (0, 1)).print(console)
    for group in ("router", "energy"):
        if group not in data:
            console.print(f"{group}: no published figures")
    if spec.source:
        console.print(f"source: {spec.source}", markup=False)
    console.print("The source of each figure is a comment beside it in the chip's file: --toml prints it.")


def _shown(key: str, value: Any) -> str:
    if not isinstance(value, list):
        return f"{value:g}" if isinstance(value, float) else str(value)
    joint = ", " if key == "included" else " to " if key == "delay" or key.endswith(("_range", "_shifts")) else " x "
    return joint.join(map(str, value))
