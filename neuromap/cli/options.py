"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from neuromap.report.frames import DEFAULT_FRAMES

__all__ = [
    "ChipOption",
    "DensityOption",
    "ExecutionOption",
    "FramesOption",
    "JsonFlag",
    "NetworkFile",
    "PatternOption",
    "SeedOption",
    "StimulusOption",
]

NetworkFile = Annotated[Path, typer.Argument(metavar="NET", help="Network file (TOML).", show_default=False)]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document to stdout and nothing else.")]
PatternOption = Annotated[
    str,
    typer.Option(
        "--pattern",
        metavar="PATTERN",
        help="Rollout pattern: streaming, sequential, a name from the file, or its streaming edges "
        "('H1 -> O, H2 -> O').",
    ),
]
ExecutionOption = Annotated[str, typer.Option("--execution", metavar="EXECUTION", help="windowed or pipelined.")]
ChipOption = Annotated[
    str, typer.Option("--chip", metavar="CHIP", help="A packaged chip (see neuromap chips) or a chip file.")
]
StimulusOption = Annotated[
    Path | None,
    typer.Option(
        "--stimulus", metavar="FILE", help="Input frames (safetensors, one tensor per input node).", show_default=False
    ),
]
FramesOption = Annotated[
    int | None,
    typer.Option(
        "--frames",
        "--random",
        metavar="N",
        help=f"Without --stimulus: make N random frames, frame 0 included.  [default: {DEFAULT_FRAMES}]",
        show_default=False,
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of random frames.")]
DensityOption = Annotated[
    float | None,
    typer.Option(
        "--density",
        metavar="P",
        help="Part of the input neurons that spike in a random frame; by default every frame has its own.",
    ),
]
