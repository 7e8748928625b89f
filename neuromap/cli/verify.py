"""``neuromap verify``: show that the simulated chip computes what the rollout defines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from neuromap.cli.options import (
    ChipOption,
    DensityOption,
    FramesOption,
    JsonFlag,
    NetworkFile,
    SeedOption,
    StimulusOption,
)
from neuromap.cli.output import print_json, text_console
from neuromap.cli.pattern_argument import read_pattern
from neuromap.cli.progress import progress_bar
from neuromap.cli.stimulus_argument import read_frames
from neuromap.errors import InputError, VerificationError

__all__ = ["EXAMPLES", "verify"]

EXAMPLES = """\
\b
Examples:
  neuromap verify examples/digits/sr.toml
  neuromap verify examples/digits/sr.toml --pattern hybrid --execution pipelined --frames 100
  neuromap verify examples/digits/sr.toml --program sr.nmp --stimulus build/digits.safetensors
"""


def verify(
    network: NetworkFile,
    pattern: Annotated[
        str | None,
        typer.Option(
            "--pattern",
            metavar="PATTERN",
            help="Rollout pattern: a name or streaming edges ('H1 -> O, H2 -> O').  "
            "[default: that of --program, else streaming]",
            show_default=False,
        ),
    ] = None,
    execution: Annotated[
        str | None,
        typer.Option(
            "--execution",
            metavar="EXECUTION",
            help="windowed or pipelined.  [default: that of --program, else windowed]",
            show_default=False,
        ),
    ] = None,
    chip: ChipOption = "truenorth",
    program_file: Annotated[
        Path | None,
        typer.Option("--program", metavar="FILE", help="Verify this program instead of mapping.", show_default=False),
    ] = None,
    stimulus: StimulusOption = None,
    n_frames: FramesOption = None,
    seed: SeedOption = 0,
    density: DensityOption = 0.5,
    as_json: JsonFlag = False,
) -> None:
    """Compare the simulated chip with the chip-free reference, frame by frame, spike for spike.

    Fails with exit code 5 where a frame differs or a spike belongs to no frame.
    """
    import neuromap as nm

    net = nm.load_network(network)
    program = None if program_file is None else nm.load_program(program_file)
    if program is not None:
        if pattern is None and program.pattern in ("", "unnamed"):
            raise InputError(f"{program_file}: does not name its pattern; give --pattern")
        if execution is None and not program.execution:
            raise InputError(f"{program_file}: does not name its execution; give --execution")
    label = pattern if pattern is not None else program.pattern if program else "streaming"
    rollout = nm.Rollout(net, read_pattern(net, label), execution or (program.execution if program else "windowed"))
    spec = nm.load_chip(chip) if program is None else program.chip
    frames = read_frames(net, stimulus, n_frames, seed, density)
    if program is None:
        with progress_bar("mapping") as progress:
            program = nm.map_rollout(rollout, chip=spec, progress=progress)
    with progress_bar("comparing chip and reference"):
        found = nm.verify(rollout, program, frames)

    if as_json:
        document = {
            "network": net.name,
            "chip": spec.name,
            "pattern": rollout.pattern.name,
            "execution": rollout.execution,
            **asdict(found),
            "message": found.message,
        }
        print_json(document)
    elif found.verified:
        console = text_console()
        console.print(f"{net.name} ({label}, {rollout.execution}) on {spec.name}: verified", markup=False)
        console.print(found.message, markup=False)
    if not found.verified:
        typer.echo(f"neuromap: not verified: {found.message}", err=True)
        raise typer.Exit(VerificationError.exit_code)
