"""``neuromap map``: put a rolled-out network onto a chip."""

from __future__ import annotations

from typing import Annotated

from neuromap.cli.options import (
    ChipOption,
    ExecutionOption,
    JsonFlag,
    NetworkFile,
    PatternOption,
    chip_file_of,
    chosen_chip,
    file_option,
)
from neuromap.cli.output import check_destinations, new_table, one_line, print_json, text_console
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
    chip: ChipOption = None,
    output: Annotated[str | None, file_option("--output", "-o", holds="the program")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Map a rolled-out network onto a chip, print what it takes, and write the program."""
    import neuromap as nm
    from neuromap.cli.program_figures import UNITS, program_figures

    chip = chosen_chip(chip)
    check_destinations({"--output": output}, {"network file": network, "chip file": chip_file_of(chip)})
    net = nm.load_network(network)
    rollout = nm.Rollout(net, read_pattern(net, pattern), execution)
    spec = nm.load_chip(chip)
    with progress_bar("mapping") as progress:
        program = nm.map_rollout(rollout, chip=spec, progress=progress)
    if output is not None:
        program.save(output)
    figures = program_figures(program)
    if as_json:
        print_json({**figures, "file": output})
        return
    console = text_console()
    label = f"{program.name} ({program.pattern}, {program.execution}) on {program.chip.name}"
    console.print(label, markup=False)
    table = new_table("figure", "value", "")
    for key in figures:
        if key not in ("network", "chip", "pattern", "execution", "cores_of_chip"):
            value = figures[key]
            shown = (
                f"{value:.1%}"
                if key.endswith("utilisation")
                else f"{value:g}"
                if isinstance(value, float)
                else f"{value}"
            )
            name = key.removesuffix("_ticks").removesuffix("_hz").replace("_", " ")
            table.add_row(name, shown, UNITS.get(key, "").format(**figures))
    table.columns[2].justify = "left"
    console.print(table)
    if output is not None:
        console.print(f"written to {one_line(output)}", markup=False, soft_wrap=True)
