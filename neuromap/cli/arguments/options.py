"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from neuromap.errors import InputError
from neuromap.simulation.frame_defaults import DEFAULT_FRAMES, DEFAULT_STIMULI, MOST_STIMULI

__all__ = [
    "DEFAULT_CHIP",
    "ChipOption",
    "DensityOption",
    "EngineOption",
    "ExecutionOption",
    "ExecutionsOption",
    "FramesOption",
    "JsonFlag",
    "NetworkFile",
    "NoiseSeedOption",
    "PatternOption",
    "SchedulerOption",
    "SeedOption",
    "StimuliOption",
    "StimulusOption",
    "ThreadsOption",
    "check_workers",
    "chip_file_of",
    "chosen_chip",
    "file_option",
    "said_option",
]


def said_option(*names: str, metavar: str, text: str) -> Any:
    """Make an option whose text says what holds where it is not given; no default is shown."""
    return typer.Option(*names, metavar=metavar, help=text, show_default=False)


def file_option(*names: str, holds: str) -> Any:
    """Make the option for a file that is written; its value is a text, as a path would lose a slash at the end."""
    return said_option(*names, metavar="FILE", text=f"Write {holds} to this file.")


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
ExecutionOption = Annotated[
    str,
    typer.Option(
        "--execution",
        metavar="EXECUTION",
        help="windowed, pipelined, pipelined:P for a frame every P update steps, or pipelined:best for the least mean "
        "frame period.",
    ),
]
ExecutionsOption = Annotated[
    list[str] | None,
    said_option(
        "--executions",
        metavar="EXECUTIONS",
        text="windowed, pipelined, pipelined:P for a frame every P update steps, pipelined:best; separated by commas.  "
        "[default: windowed,pipelined]",
    ),
]
DEFAULT_CHIP = "truenorth"
ChipOption = Annotated[
    str | None,
    said_option(
        "--chip",
        metavar="CHIP",
        text=f"A packaged chip (see neuromap chips) or a chip file.  [default: {DEFAULT_CHIP}]",
    ),
]
StimulusOption = Annotated[
    Path | None,
    said_option("--stimulus", metavar="FILE", text="Input frames (safetensors, one tensor per input node)."),
]
FramesOption = Annotated[
    int | None,
    said_option(
        "--frames",
        "--random",
        metavar="N",
        text=f"Without --stimulus: make N random frames, frame 0 included.  [default: {DEFAULT_FRAMES}]",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of random frames.")]
DensityOption = Annotated[
    float | None,
    typer.Option(
        "--density",
        metavar="P",
        help="Fraction of the input neurons that spike in a random frame; by default every frame has its own.",
    ),
]
StimuliOption = Annotated[
    int | None,
    said_option(
        "--stimuli",
        metavar="N",
        text=f"Without --stimulus: random stimuli, 1 to {MOST_STIMULI}, over which energy and traffic per frame are "
        f"means, with the seeds from --seed on; the first is verified with.  [default: {DEFAULT_STIMULI}]",
    ),
]
EngineOption = Annotated[
    str,
    typer.Option("--engine", metavar="NAME", help="What runs the ticks: fast or numpy; the results are the same."),
]
ThreadsOption = Annotated[
    int | None,
    said_option(
        "--threads",
        metavar="N",
        text="Threads to run on; the results are the same.  [default: the cores of the machine]",
    ),
]
NoiseSeedOption = Annotated[
    int, typer.Option("--noise-seed", metavar="N", help="Seed of neurons with stochastic modes.")
]


SchedulerOption = Annotated[
    str | None,
    said_option(
        "--scheduler",
        metavar="ADDRESS",
        text="Let the workers of this Dask cluster do it (extra cluster), such as tcp://10.0.0.1:8786.",
    ),
]


def check_workers(processes: int | None, scheduler: str | None) -> dict[str, Any]:
    """Give who works as arguments, those that were typed."""
    from neuromap.jobs.runners import check_processes

    if scheduler is not None and processes is not None:
        raise InputError(
            f"--scheduler {scheduler} and --processes {processes}: give one of them, a cluster has workers"
        )
    if scheduler is not None:
        return {"scheduler": scheduler}
    return {} if processes is None else {"processes": check_processes(processes, "--processes")}


def chosen_chip(chip: str | None, program_file: Path | None = None) -> str:
    """Give the chip asked for, or the default one."""
    if chip is not None and program_file is not None:
        raise InputError(f"--program and --chip {chip}: give one of them, a program holds its chip")
    return DEFAULT_CHIP if chip is None else chip


def chip_file_of(chip: str) -> str | None:
    """Give the path, where a chip is given by one."""
    from neuromap.hardware.chip.chip_file import is_chip_path

    return chip if is_chip_path(chip) else None
