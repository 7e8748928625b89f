"""Input frames as they are asked for at the command line: a file, or random ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuromap.cli.arguments.options import DensityOption, FramesOption, SeedOption, StimulusOption
from neuromap.errors import InputError, StimulusError
from neuromap.files.messages import counted
from neuromap.simulation.frame_defaults import DEFAULT_FRAMES

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.simulation.choose_frames import RandomFrames

__all__ = ["MAX_TICKS", "FrameOptions", "check_run_length", "read_stimuli", "stimuli_arguments"]

MAX_TICKS = 10_000_000
"""Ticks that one run of the command line may have; hours of work, and more output than anyone reads."""


@dataclass(frozen=True)
class FrameOptions:
    """Options of the commands that feed frames; one parameter of such a command (see ``option_blocks``)."""

    stimulus: StimulusOption = None
    n_frames: FramesOption = None
    seed: SeedOption = 0
    density: DensityOption = None

    def random(self) -> RandomFrames:
        """Say which random frames are asked for, where no file of frames is given."""
        from neuromap.simulation.choose_frames import RandomFrames

        if self.stimulus is not None and self.n_frames is not None:
            raise InputError("--stimulus and --frames: give one of them, frames from a file or random frames")
        if self.stimulus is not None and self.density is not None:
            raise InputError("--stimulus and --density: give one of them, a density is that of random frames")
        return RandomFrames(DEFAULT_FRAMES if self.n_frames is None else self.n_frames, self.seed, self.density)

    def arguments(self) -> dict[str, Any]:
        """Make the arguments ``frames``, ``n_frames``, ``seed`` and ``density`` of the library's functions."""
        return {"frames": self.stimulus, **asdict(self.random())}


def stimuli_arguments(fed: FrameOptions, n_stimuli: int | None) -> dict[str, Any]:
    """Make the arguments of functions that take several stimuli: those of the frames, and how many there are."""
    from neuromap.simulation.choose_frames import check_stimulus_count

    if n_stimuli is None:
        return fed.arguments()
    check_stimulus_count(n_stimuli, "--stimuli")
    if fed.stimulus is not None:
        raise InputError("--stimulus and --stimuli: give one of them, frames from a file are the only stimulus")
    check_run_length((DEFAULT_FRAMES if fed.n_frames is None else fed.n_frames) * n_stimuli)
    return {**fed.arguments(), "n_stimuli": n_stimuli}


def check_run_length(n_frames: int | None, program: ChipProgram | None = None) -> None:
    """Refuse runs that would take too long."""
    # n_frames: frames; ``None`` for the default number
    frames = DEFAULT_FRAMES if n_frames is None else n_frames
    period = 1 if program is None else program.period
    first = 0 if program is None else max((port.tick(period, 0) for port in program.nodes), default=0)
    if first + frames * period > MAX_TICKS:
        late = f" from tick {first} on" if first > 0 else ""
        raise InputError(
            f"{frames} frames take {counted(period, 'tick')} each or more{late}; a run may have at most "
            f"{MAX_TICKS} ticks, "
            "give fewer frames"
        )


def read_stimuli(path: Path, program: ChipProgram) -> dict[str, Any] | None:
    """Read many stimuli from a file, where its tensors say that it holds them."""
    # gives checked; ``None`` where no tensor has three axes, or five with those of its node: then the file holds
    # frames, or what is refused as such
    # shapes: returns (stimuli, frames, size)
    from neuromap.simulation.stimulus import check_stimuli, load_frames

    found = load_frames(path)
    if all(array.ndim not in (3, 5) for array in found.values()):
        return None
    try:
        checked, n_stimuli, _ = check_stimuli(found, program)
        if n_stimuli == 0:
            raise StimulusError("holds no stimuli; at least 1 is needed")
        return checked
    except StimulusError as error:
        raise StimulusError(f"{path}: {error}") from None
