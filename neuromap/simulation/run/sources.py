"""Where a live run takes its input frames from: frame by frame, as it comes to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import adopted
from neuromap.errors import StimulusError
from neuromap.files.argument_checks import real_number, whole_number
from neuromap.files.messages import show
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.stimulus import check_frames, input_sizes, value_ranges

InputFrame = Mapping[str, NDArray[Any]]
"""One frame of every input node, shape (size,): bool, or int32 where nodes send values."""


class FrameSource(Protocol):
    """Gives the input frames of a run; asked once for every frame, in order from frame 0, when the chip samples it."""

    def __call__(self, frame: int) -> Mapping[str, ArrayLike]:
        """Give a frame of every input node, shape (size,)."""


class RandomSource:
    """Frames drawn with a density; a frame depends on the seed and its number only. Values are drawn evenly.

    Parameters
    ----------
    program : ChipProgram
        Its input nodes are fed.
    density : float
        Part of neurons that spike, or have a value, in a frame, 0 to 1.
    seed : int
        0 or more.

    Raises
    ------
    StimulusError
        If density or seed is out of range.
    """

    def __init__(self, program: ChipProgram, density: float = 0.2, seed: int = 0) -> None:
        self._sizes, self._ranges = input_sizes(program), value_ranges(program)
        self.density, self.seed = float(real_number("density", density)), whole_number("seed", seed)
        if not 0 <= self.density <= 1:
            raise StimulusError(f"source: density = {self.density:g}; must be 0 to 1")
        if self.seed < 0:
            raise StimulusError(f"source: seed = {self.seed}; must be 0 or more")

    def __call__(self, frame: int) -> dict[str, NDArray[Any]]:
        """Draw a frame."""
        rng = np.random.default_rng((self.seed, frame))
        drawn: dict[str, NDArray[Any]] = {name: rng.random(size) < self.density for name, size in self._sizes.items()}
        for name, (low, high) in (self._ranges or {}).items():
            drawn[name] = drawn[name] * rng.integers(low, high, self._sizes[name], np.int32, endpoint=True)
        return drawn


class GivenFrames:
    """Frames of a stimulus: frame 0, then the others again and again.

    Parameters
    ----------
    program : ChipProgram
        Its input nodes are fed.
    frames : mapping of str to array_like, shape (n_frames, size)
        As for :func:`neuromap.simulate`.

    Raises
    ------
    StimulusError
        If the frames do not match the input nodes.
    """

    def __init__(self, program: ChipProgram, frames: Mapping[str, ArrayLike]) -> None:
        self._frames = check_frames(frames, program)
        self.n_frames = len(next(iter(self._frames.values()), ()))

    def __call__(self, frame: int) -> dict[str, NDArray[Any]]:
        """Give a frame of the stimulus."""
        row = frame if frame < self.n_frames else 1 + (frame - 1) % (self.n_frames - 1)
        return {name: rows[row] for name, rows in self._frames.items()}


class HeldFrame:
    """One frame that is shown until another takes its place, as a drawing is.

    Parameters
    ----------
    program : ChipProgram
        Its input nodes are fed.
    frame : mapping of str to array_like, shape (size,), optional
        Nothing spikes without it, nor do nodes that it lacks.

    Raises
    ------
    StimulusError
        If the frame does not match the input nodes.
    """

    def __init__(self, program: ChipProgram, frame: Mapping[str, ArrayLike] | None = None) -> None:
        self._sizes, self._ranges = input_sizes(program), value_ranges(program)
        self.hold(frame or {})

    def hold(self, frame: Mapping[str, ArrayLike]) -> None:
        """Show another frame from now on; nodes that it lacks do not spike."""
        silent = {name: np.zeros(size, np.bool_) for name, size in self._sizes.items()}
        self._held = checked_frame({**silent, **frame}, self._sizes, self._ranges)

    def __call__(self, frame: int) -> InputFrame:
        """Give the frame that is shown, whatever its number."""
        return self._held


def checked_frame(
    frame: Mapping[str, ArrayLike], sizes: Mapping[str, int], ranges: Mapping[str, tuple[int, int]] | None
) -> InputFrame:
    """Check one frame against the input nodes."""
    # ranges: what values inputs may have, as ``value_ranges`` gives them
    # gives in the order of ``sizes``, read-only
    # shapes: frame (size,)
    if not isinstance(frame, Mapping) or set(frame) != set(sizes):
        given = ", ".join(map(str, frame)) if isinstance(frame, Mapping) else show(frame)
        raise StimulusError(f"source: gives a frame of {given or 'no node'}; give one of {', '.join(sizes)}")
    return {name: _checked(name, frame[name], size, (ranges or {}).get(name)) for name, size in sizes.items()}


def _checked(name: str, values: ArrayLike, size: int, values_range: tuple[int, int] | None) -> NDArray[Any]:
    found = np.asarray(values)
    low, high = (0, 1) if values_range is None else values_range
    if found.shape != (size,):
        raise StimulusError(f"source: frame of node {name} has shape {found.shape}; must be ({size},)")
    wrong = np.zeros(0, np.int64)
    if found.dtype != np.bool_:
        is_whole = found.dtype.kind in "iu"
        wrong = np.flatnonzero((found < low) | (found > high)) if is_whole else np.arange(size)
    if len(wrong):
        allowed = "0 or 1" if values_range is None else f"an integer, {low} to {high}"
        raise StimulusError(f"source: frame of node {name} holds {show(found[wrong[0]])}; must be {allowed}")
    return adopted(found.astype(np.bool_ if values_range is None else np.int32))
