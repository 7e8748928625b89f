"""Input frames as they are asked for at the command line: a file, or random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.report.frames import DEFAULT_FRAMES

__all__ = ["MAX_TICKS", "check_run_length", "frame_arguments"]

MAX_TICKS = 10_000_000
"""Ticks that one run of the command line may have; hours of work, and more output than anyone reads."""


def check_run_length(n_frames: int | None, period: int = 1) -> None:
    """Refuse runs that would take too long.

    Parameters
    ----------
    n_frames : int or None
        Frames; ``None`` where nothing is asked for.
    period : int
        Ticks from one frame to the next; 1, the least, where it is not known yet.

    Raises
    ------
    InputError
        If there are more than ``MAX_TICKS`` ticks.
    """
    if n_frames is not None and n_frames * period > MAX_TICKS:
        raise InputError(
            f"{n_frames} frames of {'at least ' if period == 1 else ''}{period} ticks each: a run may have at most "
            f"{MAX_TICKS} ticks; give fewer frames"
        )


def frame_arguments(stimulus: Path | None, n_frames: int | None, seed: int, density: float | None) -> dict[str, Any]:
    """Make the arguments ``frames``, ``n_frames``, ``seed`` and ``density`` of the library's functions.

    Raises
    ------
    InputError
        If both a file and a number of random frames are given.
    """
    if stimulus is not None and n_frames is not None:
        raise InputError("--stimulus and --frames: give one of them, frames from a file or random frames")
    return {
        "frames": stimulus,
        "n_frames": DEFAULT_FRAMES if n_frames is None else n_frames,
        "seed": seed,
        "density": density,
    }
