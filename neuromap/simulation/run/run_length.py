"""How long a program runs on a number of frames."""

from __future__ import annotations

from neuromap.errors import ProgramError
from neuromap.hardware.program.program import Program

__all__ = ["ticks_to_run"]


def ticks_to_run(program: Program, n_frames: int) -> int:
    """Count the ticks up to and with the last frame of the slowest output; 0 if that lies before tick 0.

    Raises
    ------
    ProgramError
        If the program has no output node.
    """
    last = [port.sample_tick + (n_frames - 1) * program.period for port in program.nodes if port.kind == "output"]
    if not last:
        raise ProgramError(f"program {program.name}: has no output node to read out; run it with run_events")
    return max(0, max(last) + 1)
