"""Input frames as they are asked for at the command line: a file, or random ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuromap.cli.arguments.command import Given
from neuromap.errors import InputError, StimulusError
from neuromap.files.messages import counted
from neuromap.options import COMMON, option
from neuromap.simulation.choose_frames import RandomFrames
from neuromap.simulation.frame_defaults import DEFAULT_STIMULI, MOST_STIMULI

if TYPE_CHECKING:
    from neuromap.hardware.program.chip_program import ChipProgram


MAX_TICKS = 10_000_000
"""Ticks that one run of the command line may have; hours of work, and more output than anyone reads."""


class FrameFlags(Given[RandomFrames]):
    """Input frames, as keywords of the library's functions: a file, or random ones."""

    _group: ClassVar = "stimulus"
    first = ("frames",)
    frames: Path | None = option(
        "--stimulus FILE  Input frames (safetensors, one tensor per input node).", group=COMMON
    )

    def random(self) -> RandomFrames:
        """Say which random frames are asked for, where no file of frames is given."""
        if self.frames is not None and "n_frames" in self:
            raise InputError("--stimulus and --frames: give one of them, frames from a file or random frames")
        if self.frames is not None and "density" in self:
            raise InputError("--stimulus and --density: give one of them, a density is that of random frames")
        return self.made()


class StimuliFlags(FrameFlags):
    """The same for commands that feed several stimuli."""

    n_stimuli: int = option(
        f"--stimuli N  Without --stimulus: random stimuli, 1 to {MOST_STIMULI}, over which energy and traffic per "
        "frame are means, with the seeds from --seed on; the first is verified with.",
        DEFAULT_STIMULI,
        within=(1, MOST_STIMULI),
    )

    def random(self) -> RandomFrames:
        """Say which random frames are asked for, the first of several."""
        found = super().random()
        if "n_stimuli" in self and self.frames is not None:
            raise InputError("--stimulus and --stimuli: give one of them, frames from a file are the only stimulus")
        check_run_length(found.n_frames * self.get("n_stimuli", 1))
        return found


def check_run_length(frames: int, program: ChipProgram | None = None) -> None:
    """Refuse runs that would take too long."""
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
