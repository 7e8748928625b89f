"""``neuromap verify``: show that the simulated chip computes what the rollout defines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from neuromap.cli.arguments.engine_argument import engine_arguments
from neuromap.cli.arguments.mapping_flags import MappingFlags, with_mapping_flags
from neuromap.cli.arguments.options import (
    ChipOption,
    DensityOption,
    EngineOption,
    FramesOption,
    JsonFlag,
    NetworkFile,
    NoiseSeedOption,
    SeedOption,
    StimulusOption,
    ThreadsOption,
    chosen_chip,
)
from neuromap.cli.arguments.pattern_argument import read_pattern, read_rollout
from neuromap.cli.arguments.stimulus_argument import check_run_length, frame_arguments
from neuromap.cli.printing.output import print_json, text_console
from neuromap.cli.printing.progress import progress_bar

__all__ = ["EXAMPLES", "verify"]

EXAMPLES = """\
\b
Examples:
  neuromap verify examples/digits/sr.toml
  neuromap verify examples/digits/sr.toml --pattern hybrid --execution pipelined --frames 100
  neuromap verify examples/digits/sr.toml --splitters anywhere --placer hilbert
  python examples/digits/stimulus.py digits.safetensors    (needs scikit-learn)
  neuromap verify examples/digits/sr.toml --program sr.nmp --stimulus digits.safetensors
"""


@with_mapping_flags()
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
            help="windowed, pipelined or pipelined:P.  [default: that of --program, else windowed]",
            show_default=False,
        ),
    ] = None,
    chip: ChipOption = None,
    program_file: Annotated[
        Path | None,
        typer.Option("--program", metavar="FILE", help="Verify this program instead of mapping.", show_default=False),
    ] = None,
    stimulus: StimulusOption = None,
    n_frames: FramesOption = None,
    seed: SeedOption = 0,
    density: DensityOption = None,
    engine: EngineOption = "fast",
    threads: ThreadsOption = None,
    noise_seed: NoiseSeedOption = 0,
    *,
    flags: MappingFlags,
    as_json: JsonFlag = False,
) -> None:
    """Compare the simulated chip with the chip-free reference, frame by frame, spike for spike.

    Fails with exit code 5 where a frame differs, a spike belongs to no frame, the program breaks a rule of its
    chip, or its frame period is another one.
    """
    import neuromap as nm
    from neuromap.mapping.map_rollout import map_with_stages
    from neuromap.simulation.stimulus.choose_frames import choose_frames
    from neuromap.verification.law import require_verified

    chip = chosen_chip(chip, program_file)
    flags.require_none(program_file)
    how = engine_arguments(engine, threads, noise_seed)
    check_run_length(n_frames)
    net = nm.load_network(network)
    program = None if program_file is None else nm.load_program(program_file)
    if program is not None and program_file is not None:
        rollout, spec = read_rollout(net, program, program_file, pattern, execution), program.chip
    else:
        named = read_pattern(net, "streaming" if pattern is None else pattern)
        rollout = nm.Rollout(net, named, "windowed" if execution is None else execution)
        spec = flags.chip(chip)
    frames, made = choose_frames(net, **frame_arguments(stimulus, n_frames, seed, density))
    if program is None:
        options = flags.options(net, spec)
        with progress_bar("mapping") as progress:
            mapping = map_with_stages(rollout, spec, options, progress)
        rollout, program = mapping.rollout, mapping.program  # splitters may have made the schedule one in ticks
    check_run_length(made["n_frames"], program)
    with progress_bar("comparing chip and reference"):
        found = nm.verify(rollout, program, frames, **how)

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
        console.print(
            f"{net.name} ({rollout.pattern.name}, {rollout.execution}) on {spec.name}: verified", markup=False
        )
        console.print(found.message, markup=False)
    require_verified(found)
