"""Input frames behind measured figures: given, read from a file, or random; and their description."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuromap.errors import InputError
from neuromap.options import option
from neuromap.render.value import Card

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.network.network import Network

# Number of random frames if none are given, frame 0 included.
DEFAULT_FRAMES = 32

# Number of random stimuli that figures per frame are averaged over, if no frames are given.
DEFAULT_STIMULI = 5

# More would add little: the confidence interval shrinks with the square root of their number.
MOST_STIMULI = 100


@dataclass(frozen=True)
class RandomFrames(Card):
    """Which random frames are made where none are given."""

    _group: ClassVar = "stimulus"
    n_frames: int = option(
        "--frames, --random N  Without --stimulus: make N random frames, frame 0 included.",
        DEFAULT_FRAMES,
        needs="a whole number, 2 or more",
    )
    seed: int = option("N  Seed of random frames.", 0, needs="a whole number, 0 or more")
    density: float | None = option(
        "P  Fraction of the input neurons that spike in a random frame; by default every frame has its own.",
        needs="a number from 0 to 1, such as 0.2",
    )


def choose_frames(
    source: Network | ChipProgram,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
) -> tuple[dict[str, NDArray[np.bool_]], dict[str, Any]]:
    """Take the given frames, read them from a file, or make random ones; return them with their description."""
    # shapes: frames (n_frames, size); frames (n_frames, size)
    from neuromap.simulation.stimulus import check_frames, frame_count, load_frames, random_frames

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


def choose_stimuli(
    source: Network | ChipProgram,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
    n_stimuli: int = DEFAULT_STIMULI,
) -> tuple[tuple[dict[str, NDArray[np.bool_]], ...], dict[str, Any]]:
    """Take the given frames as the only stimulus, or make several random stimuli."""
    # shapes: stimuli (n_frames, size)
    if type(n_stimuli) is not int or not 1 <= n_stimuli <= MOST_STIMULI:
        raise InputError(f"n_stimuli = {n_stimuli!r}: must be a whole number from 1 to {MOST_STIMULI}")
    first, stimulus = choose_frames(source, frames, random)
    asked = RandomFrames() if random is None else random
    seeds = range(asked.seed + 1, asked.seed + n_stimuli) if frames is None else range(0)
    stimuli = (first, *(choose_frames(source, None, replace(asked, seed=seed))[0] for seed in seeds))
    return stimuli, {**stimulus, "n_stimuli": len(stimuli)}


def describe_frames(stimulus: Mapping[str, Any]) -> str:
    """Describe the frames of :func:`choose_frames` in words."""
    if stimulus["kind"] == "random":
        return f"{stimulus['n_frames']} random frames (seed {stimulus['seed']}, {_density(stimulus)})"
    return f"{stimulus['n_frames']} given frames" + (f" ({stimulus['file']})" if "file" in stimulus else "")


def _density(stimulus: Mapping[str, Any]) -> str:
    return "mixed densities" if stimulus["density"] is None else f"density {stimulus['density']:g}"


def describe_stimuli(stimulus: Mapping[str, Any]) -> str:
    """Describe the stimuli of :func:`choose_stimuli` in words."""
    n_stimuli = stimulus.get("n_stimuli", 1)
    if n_stimuli == 1:
        return f"1 stimulus of {describe_frames(stimulus)}"
    seeds = f"seeds {stimulus['seed']} to {stimulus['seed'] + n_stimuli - 1}"
    return f"{n_stimuli} stimuli of {stimulus['n_frames']} random frames ({seeds}, {_density(stimulus)})"
