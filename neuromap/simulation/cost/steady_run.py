"""A program in steady operation: frames follow each other without end, and whole frame periods of that are looked at.

The given frames are fed in a circle. After enough of them the window begins; it ends as many frame periods later as
there are frames in the circle. So every input edge delivers every frame just once within it, wherever the program's
clock begins: programs that are equal up to the labels of their frames do the same in it. (Networks with cycles may
remember how they began; they begin in silence, which is the same for all whose thresholds are 1 or more.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.times import tick_of_frame
from neuromap.errors import ProgramError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.run.tick_run import TickSpikes, run_ticks
from neuromap.simulation.stimulus import frame_count

__all__ = ["SteadyWindow", "steady_window", "whole_turns"]

Frames = Mapping[str, NDArray[np.bool_]]


class SteadyWindow(NamedTuple):
    """Whole frame periods of a run, as many as there are frames."""

    # the ticks just before, as many as the longest delay (or all there are): what is under way as the window begins
    before: tuple[TickSpikes, ...]
    ticks: Iterator[TickSpikes]  # the ticks of the window, numbered anew; to be gone through once


def steady_window(
    program: ChipProgram, frames: Frames, choice: EngineChoice = DEFAULT_ENGINE, first_tick: int = 0
) -> SteadyWindow:
    """Run a program on frames in a circle until it is in steady operation."""
    # shapes: frames (n_frames, size)
    frames = whole_turns(program, frames)
    n_frames = frame_count(frames)
    if not n_frames:
        raise ProgramError(f"program {program.name}: has no input node, so no frames; count a run of ticks instead")
    # silence puts networks that keep still in it into one state, whatever their first frame is called; then the circle,
    # until everything depends on it
    silent, warm = len(program.nodes) + 1, max(3 * len(program.nodes), _longest_way(program))
    fed = {name: _in_a_circle(rows, silent, warm) for name, rows in frames.items()}
    first_input = min(port.sample_tick for port in program.nodes if port.kind == "input")
    begin = max(0, tick_of_frame(first_input, program.period, silent + warm))
    run = run_ticks(program, fed, n_ticks=begin + int(n_frames * program.period), choice=choice)
    before = deque(islice(run, begin), maxlen=max(1, program.greatest_delay))
    return SteadyWindow(tuple(before), (spikes._replace(tick=k) for k, spikes in enumerate(run, first_tick)))


def whole_turns(program: ChipProgram, frames: Frames) -> Frames:
    """Repeat frames until they take a whole number of ticks: at equal intervals once is enough."""
    q = program.period.denominator
    times = q // gcd(q, frame_count(frames))
    return frames if times == 1 else {name: np.tile(rows, (times, 1)) for name, rows in frames.items()}


def _longest_way(program: ChipProgram) -> int:
    """Bound the frame periods that a frame takes along any path to any node."""
    # The delay of an edge from u to v is the difference of their phases, and a frame period more where it streams. A
    # way of n nodes without a circle has n - 1 edges.
    ticks = [port.sample_tick for port in program.nodes]
    return -(-(max(ticks) - min(ticks)) // program.period) + len(ticks)


def _in_a_circle(rows: NDArray[np.bool_], silent: int, warm: int) -> NDArray[np.bool_]:
    """Give silent frames, then the circle, turned so that after ``warm`` of its frames the first one comes."""
    n_frames, size = rows.shape
    circle = np.resize(np.roll(rows, warm, axis=0), (warm + 2 * n_frames + warm, size))
    return np.concatenate([np.zeros((silent, size), np.bool_), circle])
