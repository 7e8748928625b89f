"""Input frames as they are asked for at the command line: a file, or random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.report.frames import DEFAULT_FRAMES

__all__ = ["frame_arguments"]


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
