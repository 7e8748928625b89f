"""How long a program runs on a number of frames."""

from __future__ import annotations

from collections.abc import Iterable

from neuromap.errors import ProgramError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import NodePort

__all__ = ["ticks_to_run"]


def ticks_to_run(program: ChipProgram, n_frames: int, recorded: Iterable[NodePort] = ()) -> int:
    """Count the ticks up to and with the last frame of the slowest node that is read out or recorded."""
    read_out = [port for port in program.nodes if port.kind == "output"]
    if not read_out:
        raise ProgramError(f"program {program.name}: has no output node to read out; run it with run_events")
    slowest = max((*read_out, *recorded), key=lambda port: port.sample_tick)
    return max(0, slowest.tick(program.period, n_frames - 1) + 1)
