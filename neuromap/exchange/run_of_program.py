"""A program on input frames, as exports need it: what the host delivers, and what the chip answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.host_spikes import HostSpikes, host_spikes
from neuromap.hardware.program_file import load_program
from neuromap.simulation.choose_frames import RandomFrames, choose_frames, describe_frames
from neuromap.simulation.run.run_length import ticks_to_run
from neuromap.simulation.run.simulate import simulate
from neuromap.simulation.stimulus import frame_count
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import Trace

__all__ = ["ProgramRun", "program_run"]


@dataclass(frozen=True, eq=False)
class ProgramRun(Card):
    """A program on input frames."""

    program: ChipProgram  # what runs
    n_frames: int  # frames of the stimulus, frame 0 included
    stimulus: str  # what they are, in words
    spikes: HostSpikes  # what the host delivers in the ticks of the run
    frames: Mapping[str, Any]  # (n_frames, size): input frames

    def trace(self, recorded: tuple[str, ...]) -> Trace:
        """Run it, and record the spikes of some neurons, as :class:`~neuromap.Recording` names them."""
        return simulate(self.program, self.frames, record=Recording(spikes=recorded))


def program_run(
    source: str | Path | ChipProgram,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
) -> ProgramRun:
    """Read a program, where it is a file, and choose its input frames."""
    program = source if isinstance(source, ChipProgram) else load_program(source)
    chosen, made = choose_frames(program, frames, random)
    n_frames = frame_count(chosen)
    n_ticks = ticks_to_run(program, n_frames)
    return ProgramRun(program, n_frames, describe_frames(made), host_spikes(program, chosen, n_ticks), chosen)
