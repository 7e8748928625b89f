"""Input frames as they are asked for at the command line: a file, or random ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuromap.errors import InputError

if TYPE_CHECKING:
    from neuromap.hardware.program import Program
    from neuromap.network.network import Network

__all__ = ["DEFAULT_FRAMES", "read_frames"]

DEFAULT_FRAMES = 17
"""Random frames where nothing is asked for: frame 0 and 16 that the network computes."""


def read_frames(
    source: Program | Network, stimulus: Path | None, n_frames: int | None, seed: int, density: float
) -> dict[str, Any]:
    """Read frames from a file, or make random ones.

    Raises
    ------
    StimulusError
        If the file or a parameter is wrong.
    InputError
        If both a file and a number of random frames are given.
    """
    from neuromap.simulation.stimulus import load_frames, random_frames

    if stimulus is not None:
        if n_frames is not None:
            raise InputError("--stimulus and --frames: give one of them, frames from a file or random frames")
        return load_frames(stimulus, source)
    return random_frames(source, DEFAULT_FRAMES if n_frames is None else n_frames, density, seed)
