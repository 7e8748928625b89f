"""The program that a command holds against a rollout: read from a file, or mapped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuromap.cli.arguments.mapping_flags import MappingFlags
from neuromap.cli.arguments.options import read_pattern, read_rollout
from neuromap.options import option

if TYPE_CHECKING:
    from collections.abc import Callable

    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.network.network import Network
    from neuromap.rollout.schedule.rollout import Rollout

PATTERN_OR_ITS_OWN = option(
    "PATTERN  Rollout pattern: a name or streaming edges ('H1 -> O, H2 -> O').  [default: that of --program, else "
    "streaming]"
)
EXECUTION_OR_ITS_OWN = option(
    "EXECUTION  windowed, pipelined, pipelined:P or pipelined:best.  [default: that of --program, else windowed]"
)


def given_program(
    net: Network,
    pattern: str | None,
    execution: str | None,
    chip: str,
    program_file: Path | None,
    flags: MappingFlags,
    progress: Callable[[int, int, str], None],
) -> tuple[Rollout, ChipProgram]:
    """Read a program and make the rollout that it is held against, or map one."""
    import neuromap as nm
    from neuromap.mapping.map_rollout import map_with_stages

    if program_file is not None:
        program = nm.load_program(program_file)
        return read_rollout(net, program, program_file, pattern, execution), program
    named = read_pattern(net, "streaming" if pattern is None else pattern)
    rollout = nm.Rollout(net, named, "windowed" if execution is None else execution)
    spec = flags.chip(chip)
    options = flags.options(net, spec)
    mapping = map_with_stages(rollout, spec, options, progress)
    return mapping.rollout, mapping.program  # splitters may have made the schedule one in ticks
