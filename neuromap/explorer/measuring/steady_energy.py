"""Energy per frame of a program in steady operation: frames follow each other without end, start-up left out.

The given frames are fed in a circle. After enough of them the counting begins; it ends as many frame periods later as
there are frames in the circle. So every input edge delivers every frame just once while it is counted, wherever the
program's clock begins: programs that are equal up to the labels of their frames have equal energy. (Networks with
cycles may remember how they began; they begin in silence, which is the same for all whose thresholds are 1 or more.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.program import Program
from neuromap.simulation.activity.activity import energy_counts
from neuromap.simulation.activity.energy import Counts, energy_of
from neuromap.simulation.activity.work_counter import WorkCounter
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.noc.wires import WireCounter
from neuromap.simulation.run.tick_run import run_ticks

__all__ = ["energy_per_frame", "steady_counts"]

Frames = Mapping[str, NDArray[np.bool_]]


def steady_counts(program: Program, frames: Frames, choice: EngineChoice = DEFAULT_ENGINE) -> Counts:
    """Count what costs energy while every frame of a circle is fed once, in steady operation.

    Parameters
    ----------
    program : Program
        Mapped.
    frames : mapping of str to ndarray of bool, shape (n_frames, size)
        The circle of input frames, checked.
    choice : EngineChoice
        What runs the ticks.

    Returns
    -------
    Counts
        Over ``n_frames`` frame periods.
    """
    n_frames = len(next(iter(frames.values())))
    # silence puts networks that keep still in it into one state, whatever their first frame is called; then the circle,
    # until everything depends on it: along a path delays add up to three frame periods per node, at most
    silent = len(program.nodes) + 1
    warm = 3 * len(program.nodes)
    circle = {name: np.roll(rows, warm, axis=0) for name, rows in frames.items()}
    n_rows = warm + 2 * n_frames + warm
    fed = {
        name: np.concatenate([np.zeros((silent, rows.shape[1]), np.bool_), np.resize(rows, (n_rows, rows.shape[1]))])
        for name, rows in circle.items()
    }
    first_input = min(port.sample_tick for port in program.nodes if port.kind == "input")
    begin = max(0, first_input + (silent + warm) * program.period)
    end = begin + n_frames * program.period
    work, wires, chips = WorkCounter(program), WireCounter(program), math.prod(program.chip.chips)
    before = energy_counts(wires.result(), work.result(), chips)
    for spikes in run_ticks(program, fed, n_ticks=end, choice=choice):
        if spikes.tick == begin:
            before = energy_counts(wires.result(), work.result(), chips)
        work.add(spikes)
        wires.add(spikes)
    after = asdict(energy_counts(wires.result(), work.result(), chips))
    return Counts(chips=after.pop("chips"), **{name: count - getattr(before, name) for name, count in after.items()})


def energy_per_frame(program: Program, frames: Frames, choice: EngineChoice = DEFAULT_ENGINE) -> float | None:
    """Energy of one frame in steady operation, in joules.

    Parameters
    ----------
    program : Program
        Mapped.
    frames : mapping of str to ndarray of bool, shape (n_frames, size)
        The circle of input frames, checked.
    choice : EngineChoice
        What runs the ticks.

    Returns
    -------
    float or None
        All terms whose figures the chip has; ``None`` where it has none.
    """
    if not program.chip.energy:
        return None
    counts = steady_counts(program, frames, choice)
    joules = energy_of(program.chip, counts).joules
    return None if joules is None else joules / len(next(iter(frames.values())))
