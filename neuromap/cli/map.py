"""``neuromap map``: put a rolled-out network onto a chip."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuromap.cli.options import ChipOption, ExecutionOption, JsonFlag, NetworkFile, PatternOption
from neuromap.cli.output import check_destination, new_table, print_json, text_console
from neuromap.cli.pattern_argument import read_pattern
from neuromap.cli.progress import progress_bar

__all__ = ["EXAMPLES", "map_network"]

EXAMPLES = """\
\b
Examples:
  neuromap map examples/digits/sr.toml
  neuromap map examples/digits/sr.toml --pattern hybrid --execution pipelined -o sr.nmp
  neuromap map examples/digits/sr.toml --pattern "H1 -> H1, H1 -> O" --chip ./my_chip.toml --json
"""


def map_network(
    network: NetworkFile,
    pattern: PatternOption = "streaming",
    execution: ExecutionOption = "windowed",
    chip: ChipOption = "truenorth",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the program to this file.", show_default=False),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Map a rolled-out network onto a chip, print what it takes, and write the program."""
    import neuromap as nm
    from neuromap.cli.program_figures import program_figures

    check_destination(output, "--output")
    net = nm.load_network(network)
    rollout = nm.Rollout(net, read_pattern(net, pattern), execution)
    spec = nm.load_chip(chip)
    with progress_bar("mapping") as progress:
        program = nm.map_rollout(rollout, chip=spec, progress=progress)
    if output is not None:
        program.save(output)
    figures = program_figures(program)
    if as_json:
        print_json({**figures, "file": None if output is None else str(output)})
        return
    console = text_console()
    table = new_table("figure", "value", "unit", left=1)
    for key, value in figures.items():
        name, unit = _UNITS.get(key, (key.replace("_", " "), ""))
        table.add_row(name, f"{value:.1%}" if key.endswith("utilisation") else f"{value}", unit)
    console.print(table)
    if output is not None:
        console.print(f"written to {output}", markup=False)


_UNITS = {
    "frame_period_ticks": ("frame period", "ticks"),
    "ticks_per_step": ("ticks per step", "ticks"),
    "sampling_frequency_hz": ("sampling frequency", "frames/s"),
    "core_utilisation": ("cores in use", "of the board"),
    "neuron_utilisation": ("neurons in use", "of the used cores"),
    "axon_utilisation": ("axons in use", "of the used cores"),
}
