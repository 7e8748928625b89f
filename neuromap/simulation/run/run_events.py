"""Run a program on raw events: for programs written by hand, and files of other simulators."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.frozen import refuse_masked
from neuromap.errors import StimulusError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import HostEvents, Spikes, require_inside
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engines import make_engine


def run_events(
    program: ChipProgram,
    ticks: ArrayLike,
    cores: ArrayLike,
    axons: ArrayLike,
    n_ticks: int,
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
) -> Spikes:
    """Run a program on raw events and return every spike: for programs written by hand.

    Parameters
    ----------
    program : ChipProgram
        Its host and output tables are not used.
    ticks, cores, axons : array_like of int, shape (n,)
        Events from the host, in any order: the tick in which the axon is integrated, core, axon.
    n_ticks : int
        Ticks to run, from tick 0.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`.

    Returns
    -------
    Spikes
        All neurons that fired: ticks, cores, neurons.

    Raises
    ------
    InputError
        If there is no such engine, or the number of threads or the seed is out of range.
    StimulusError
        If an event lies outside the ticks, cores or axons of the run.
    """
    chip = make_engine(program, EngineChoice(engine, threads, noise_seed))
    refuse_masked([ticks, cores, axons], "events", StimulusError)
    event = [np.asarray(column, dtype=np.int64).reshape(-1) for column in (ticks, cores, axons)]
    if len({len(column) for column in event}) > 1:
        raise StimulusError(
            f"events: {len(event[0])} ticks, {len(event[1])} cores, {len(event[2])} axons; give as many of each"
        )
    require_inside("tick", event[0], n_ticks)
    require_inside("core", event[1], program.n_cores)
    require_inside("axon", event[2], program.axon_counts[event[1]])
    order = np.argsort(event[0], kind="stable")
    at, core, axon = (column[order] for column in event)
    start = np.searchsorted(at, np.arange(n_ticks + 1)).astype(np.int64)
    return chip.run(HostEvents(start, core.astype(np.int32), axon.astype(np.int32)))
