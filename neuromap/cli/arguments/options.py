"""Options that several commands share, and what is chosen by them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.options import argument, option
from neuromap.rollout.schedule.execution import read_execution

DEFAULT_CHIP = "truenorth"
NETWORK = argument("NET  Network file (TOML).")
AS_JSON = option("--json  Print one JSON document to stdout and nothing else.", False)
PATTERN = option(
    "PATTERN  Rollout pattern: streaming, sequential, a name from the file, or its streaming edges "
    "('H1 -> O, H2 -> O').",
    "streaming",
)
EXECUTION = option(
    "EXECUTION  windowed, pipelined, pipelined:P for a frame every P update steps, or pipelined:best for the least "
    "mean frame period.",
    "windowed",
)
EXECUTIONS = option(
    "EXECUTIONS  windowed, pipelined, pipelined:P for a frame every P update steps, pipelined:best; separated by "
    "commas.  [default: windowed,pipelined]",
    items="str",
    reads=read_execution,
    needs="windowed, pipelined, pipelined:PERIOD or pipelined:best",
)
CHIP = option(f"CHIP  A packaged chip (see neuromap chips) or a chip file.  [default: {DEFAULT_CHIP}]")
SCHEDULER = option("ADDRESS  Let the workers of this Dask cluster do it (extra cluster), such as tcp://10.0.0.1:8786.")
DATA = option("SOURCE  Labelled images: mnist:PATH, cifar10:PATH, gtsrb:PATH, or digits (scikit-learn's).", "digits")
LIMIT = option("N  Only the first N images of every part, for a quick look.")


def check_workers(asked: Mapping[str, Any]) -> None:
    """Refuse processes and a cluster together."""
    if "scheduler" in asked and "processes" in asked:
        raise InputError(
            f"--scheduler {asked['scheduler']} and --processes {asked['processes']}: give one of them, a cluster has "
            "workers"
        )


def chosen_chip(chip: str | None, program_file: Path | None = None) -> str:
    """Give the chip asked for, or the default one."""
    if chip is not None and program_file is not None:
        raise InputError(f"--program and --chip {chip}: give one of them, a program holds its chip")
    return DEFAULT_CHIP if chip is None else chip


def chip_file_of(chip: str) -> str | None:
    """Give the path, where a chip is given by one."""
    from neuromap.hardware.chip.chip_file import is_chip_path

    return chip if is_chip_path(chip) else None
