"""Counting traffic and work of a program in one run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from numpy.typing import ArrayLike

from neuromap.files.given import needs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.cost.activity import Activity
from neuromap.simulation.cost.work_counter import WorkCounter
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.noc.measure_traffic import TrafficCounter
from neuromap.simulation.run.tick_run import run_ticks

__all__ = ["measure_activity"]


def measure_activity(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike] | None = None,
    *,
    n_ticks: int | None = None,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
) -> Activity:
    """Run a program once and count its traffic and its work, start and end of the run included.

    For figures per frame see :func:`neuromap.simulation.cost.measure_steady_activity.measure_steady_activity`.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    frames : mapping of str to array_like, shape (n_frames, size), optional
        Input frames for every input node; without them the host feeds nothing.
    n_ticks : int, optional
        Ticks to run; by default until the slowest output has shown the last frame.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`.
    progress : callable, optional
        Called as ``progress(ticks done, ticks in all)``.

    Returns
    -------
    Activity

    Raises
    ------
    StimulusError
        If the frames do not match the program's input nodes.
    InputError
        If there is no such engine, a number is out of range, or neither frames nor ticks are given.
    ProgramError
        If the program has no output node and ``n_ticks`` is not given, or its tables point outside it.
    """
    needs("measure_activity", program, ChipProgram)
    choice = EngineChoice(engine, threads, noise_seed)
    traffic, work = TrafficCounter(program), WorkCounter(program)
    for spikes in run_ticks(program, frames, n_ticks=n_ticks, choice=choice, progress=progress):
        traffic.add(spikes)
        work.add(spikes)
    return Activity(traffic.result(), work.result(), math.prod(program.chip.chips))
