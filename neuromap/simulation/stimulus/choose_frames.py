"""The input frames that figures stand on: given ones, those of a file, or random ones; and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuromap.forms.card import Card

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from neuromap.hardware.program.program import Program
    from neuromap.network.network import Network

__all__ = ["DEFAULT_FRAMES", "RandomFrames", "choose_frames", "describe_frames"]

DEFAULT_FRAMES = 32
"""Random frames that are made where none are given, frame 0 included."""


@dataclass(frozen=True)
class RandomFrames(Card):
    """Which random frames are made where none are given.

    Attributes
    ----------
    n_frames : int
        Frames, including frame 0.
    seed : int
        Zero or more.
    density : float or None
        Probability of a 1; ``None`` where every frame draws its own.
    """

    n_frames: int = DEFAULT_FRAMES
    seed: int = 0
    density: float | None = None


def choose_frames(
    source: Network | Program,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
) -> tuple[dict[str, NDArray[np.bool_]], dict[str, Any]]:
    """Take the frames that are given, read those of a file, or make random ones.

    Parameters
    ----------
    source : Network or Program
        What the frames are for.
    frames : mapping of str to array_like of shape (n_frames, size), or path, optional
        Input frames, row 0 is frame 0, or a file of them; random ones by default.
    random : RandomFrames, optional
        Which random frames; 32 of mixed densities by default.

    Returns
    -------
    frames : dict of str to ndarray of bool, shape (n_frames, size)
        Checked.
    stimulus : dict
        What a report says of them: ``kind`` (``"given"`` or ``"random"``) and ``n_frames``; ``seed`` and
        ``density`` of random frames, ``file`` of those read from one.

    Raises
    ------
    StimulusError
        If the frames do not fit the input nodes, or a parameter is out of range.
    """
    from neuromap.simulation.stimulus.stimulus import check_frames, frame_count, load_frames, random_frames

    stimulus: dict[str, Any] = {"kind": "given"}
    if frames is None:
        asked = RandomFrames() if random is None else random
        frames = random_frames(source, asked.n_frames, density=asked.density, seed=asked.seed)
        stimulus = {"kind": "random", "seed": asked.seed, "density": asked.density}
    elif isinstance(frames, (str, Path)):
        stimulus["file"] = str(frames)
        frames = load_frames(frames, source)
    checked = check_frames(frames, source)
    stimulus["n_frames"] = frame_count(checked)
    return checked, stimulus


def describe_frames(stimulus: Mapping[str, Any]) -> str:
    """Say in words what :func:`choose_frames` says of its frames."""
    if stimulus["kind"] == "random":
        density = "mixed densities" if stimulus["density"] is None else f"density {stimulus['density']:g}"
        return f"{stimulus['n_frames']} random frames (seed {stimulus['seed']}, {density})"
    return f"{stimulus['n_frames']} given frames" + (f" ({stimulus['file']})" if "file" in stimulus else "")
