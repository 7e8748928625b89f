"""FrameSeconds: spans of ticks in steady operation, in seconds, where a tick lasts as long as its work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Floats
from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.times import Time, tick_of_frame
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.numbers import seconds
from neuromap.render.value import Card
from neuromap.simulation.cost.tick_times import TickTimes

Which = Literal["measured", "bound"]
_FEMTOSECONDS = 1e15
"""In a second."""


@dataclass(frozen=True, eq=False)
class FrameSeconds(Card):
    """Seconds from sample to response, and from sample to sample, over whole frame periods of S stimuli of W ticks.

    Frames follow each other in a circle, so a span that leaves the window goes on at its beginning. What a frame
    brings is computed from the tick after its sample on: a response of r ticks takes those from the first to the r-th
    after it.

    Attributes
    ----------
    measured, bound : ndarray of float64, shape (S, W)
        Seconds of every tick, in the event simulation and by its bound from counts; see
        :class:`neuromap.simulation.cost.tick_times.TickTimes`.
    period : int or Fraction
        Ticks between two frames of a node.
    first_frame, first_tick : int
        The frame with whose sample the window begins, and that tick.
    """

    measured: Floats
    bound: Floats
    period: Time
    first_frame: int
    first_tick: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_frames(self) -> int:
        """Frames of the window."""
        return int(self.measured.shape[1] / self.period)

    def frame_period(self, which: Which = "measured") -> Floats:
        """Mean seconds from sample to sample, shape (S,)."""
        return np.asarray(self._sums(which)[:, self.measured.shape[1]] / (self.n_frames * _FEMTOSECONDS))

    def _sums(self, which: Which) -> NDArray[np.int64]:
        """Add up the window twice over, shape (S, 2 W + 1), in whole femtoseconds: equal ticks make equal spans."""
        each: Floats = getattr(self, which)
        twice = np.rint(np.concatenate([np.zeros((len(each), 1)), each, each], axis=1) * _FEMTOSECONDS).astype(np.int64)
        return np.asarray(twice.cumsum(axis=1))

    def span(self, sample_tick: Time, ticks: Time, which: Which = "measured", early: Time = 0) -> Floats:
        """Mean seconds of a span over the frames.

        Parameters
        ----------
        sample_tick : int or Fraction
            Tick at which the input's frame 0 is sampled.
        ticks : int or Fraction
            Ticks from there to the response.
        which : {"measured", "bound"}
            The event simulation, or the bound from counts.
        early : int or Fraction
            Ticks before the sample that are counted too.

        Returns
        -------
        ndarray of float64, shape (S,)
            Seconds, stimulus by stimulus.
        """
        n_ticks = self.measured.shape[1]
        samples = np.array(
            [tick_of_frame(sample_tick, self.period, self.first_frame + k) for k in range(self.n_frames)], np.int64
        )
        begin = samples - self.first_tick + 1 - math.ceil(early)
        turns, rest = divmod(math.ceil(ticks) + math.ceil(early), n_ticks)
        sums = self._sums(which)
        begin %= n_ticks
        spans: Floats = (sums[:, begin + rest] - sums[:, begin]).mean(axis=1)
        return np.asarray((spans + turns * sums[:, n_ticks]) / _FEMTOSECONDS)

    def tick(self, number: int) -> float:
        """Mean seconds of the ticks that do what tick ``number`` of the run does: those whole frame periods apart."""
        turn = Fraction(self.period).numerator
        return float(self.measured[:, (number - self.first_tick) % turn :: turn].mean())

    def _facts(self) -> dict[str, object]:
        return {
            "stimuli": f"{len(self.measured)} of {self.n_frames} frames",
            "frame period": seconds(float(self.frame_period().mean())),
            "bound of it": seconds(float(self.frame_period("bound").mean())),
        }


class ResponseSeconds:
    """Converts responses in ticks into seconds: at a tick of fixed length, or as ticks were timed."""

    def __init__(self, program: ChipProgram, frames: FrameSeconds | None) -> None:
        self._chip, self.frames = program.chip, frames
        self._samples = _samples(program)
        self._sample_of = {port.name: port.sample_tick for port in program.nodes}

    def of(self, ticks: Time | None, which: Which = "measured", early: Time = 0) -> float | None:
        """Give the mean seconds of a response over frames and stimuli; of several inputs the longest.

        None where there is no response, or where this chip's ticks are to be timed and nothing was run.
        """
        if ticks is None:
            return None
        if not self._chip.is_timed:
            return float((ticks + early) * self._chip.tick_seconds)
        if self.frames is None:
            return None
        return max(float(self.frames.span(sample, ticks, which, early).mean()) for sample in self._samples)

    def reaction(self, answers: Mapping[str, int], early: int, which: Which = "measured") -> float | None:
        """Give the mean seconds of a reaction to an event at the input where they are most.

        Parameters
        ----------
        answers : mapping of str to int
            Ticks from a sample of every input to the first output that depends on it.
        early : int
            Ticks before the sample, in which the event waits for it.
        which : {"measured", "bound"}
            As in :meth:`FrameSeconds.span`.

        Returns
        -------
        float or None
            None as in :meth:`of`.
        """
        if not self._chip.is_timed:
            return self.of(max(answers.values()), which, early)
        if self.frames is None:
            return None
        spans = (self.frames.span(self._sample_of[u], ticks, which, early) for u, ticks in answers.items())
        return max(float(seconds.mean()) for seconds in spans)

    def frequency(self, period: Time, which: Which = "measured") -> float | None:
        """Give the frames that are sampled in a second; None as in :meth:`of`, and where a frame takes no time."""
        if not self._chip.is_timed:
            return float(1 / (period * self._chip.tick_seconds))
        each = None if self.frames is None else float(self.frames.frame_period(which).mean())
        return 1 / each if each else None


def frame_seconds(program: ChipProgram, times: TickTimes, n_stimuli: int, first_frame: int) -> FrameSeconds:
    """Cut the ticks of several stimuli, windows of equal length, into those of each."""
    return FrameSeconds(
        times.seconds.reshape(n_stimuli, -1),
        times.bound.reshape(n_stimuli, -1),
        program.period,
        first_frame,
        tick_of_frame(_samples(program)[0], program.period, first_frame),
    )


def _samples(program: ChipProgram) -> list[Time]:
    """List the ticks in which the inputs' frame 0 is sampled, rising; without inputs, those of what is computed."""
    ticks = {port.sample_tick for port in program.nodes if port.kind == "input"}
    return sorted(ticks or {port.sample_tick for port in program.nodes})
