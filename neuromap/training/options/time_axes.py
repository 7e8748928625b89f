"""When the frames of an output are known, on the three time axes of the literature."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.rollout.schedule.rollout import Rollout


@dataclass(frozen=True)
class FrameTimes:
    """Times of the frames of an output, from its first response on.

    Attributes
    ----------
    windowed : tuple of int
        Update steps since the onset of the stimulus, in windows of size 1 one after the other: the axis of the figures
        of Fischer, Köhler, Pfeil 2018. One update step is one tick on a chip where no step is stretched.
    deep_window : tuple of int
        Update steps of one deep window, its tableau T.
    """

    windowed: tuple[int, ...]
    deep_window: tuple[int, ...]


def frame_times(rollout: Rollout, output: str, first: int, n_frames: int) -> FrameTimes:
    """Give the times of an output's frames."""
    start, period = rollout.first_response(output), int(rollout.frame_period)
    tableau = rollout.pattern.tableau(first + n_frames)
    return FrameTimes(
        windowed=tuple(start + k * period for k in range(n_frames)),
        deep_window=tuple(tableau[first + k, output] for k in range(n_frames)),
    )
