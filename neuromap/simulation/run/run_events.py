"""Run a program on raw events: for programs written by hand, and files of other simulators."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from neuromap.arrays.frozen import refuse_masked
from neuromap.errors import StimulusError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.spiking_neuron import PAYLOAD
from neuromap.simulation.engine.engine import HostEvents, Sent, require_inside
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
    values: ArrayLike | None = None,
) -> Sent:
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
    values : array_like of int, shape (n,), optional
        What events carry to cores that take values; 1 by default.

    Returns
    -------
    Spikes or Messages
        All neurons that fired: ticks, cores, neurons; of graded cores those that sent a value, and the values.

    Raises
    ------
    InputError
        If there is no such engine, or the number of threads or the seed is out of range.
    StimulusError
        If an event lies outside the ticks, cores or axons of the run, or carries what there it cannot.
    """
    chip = make_engine(program, EngineChoice(engine, threads, noise_seed))
    graded = program.value_ranges is not None
    if values is not None and not graded:
        raise StimulusError(f"events: values are given, but program {program.name} sends spikes; leave them out")
    carried = [np.ones(np.size(ticks), np.int64) if values is None else values] if graded else []
    refuse_masked([ticks, cores, axons, *carried], "events", StimulusError)
    event = [np.asarray(column, dtype=np.int64).reshape(-1) for column in (ticks, cores, axons, *carried)]
    if len({len(column) for column in event}) > 1:
        told = zip(event, ("ticks", "cores", "axons", "values"), strict=False)
        raise StimulusError(
            f"events: {', '.join(f'{len(column)} {name}' for column, name in told)}; give as many of each"
        )
    if graded and (event[3] == 0).any() | (np.abs(event[3]) > PAYLOAD).any():
        raise StimulusError(f"events: values must be -{PAYLOAD} to {PAYLOAD}, and not 0, which is not sent")
    if graded:
        program.require_sums(int(event[3].min(initial=0)), int(event[3].max(initial=0)))
    require_inside("tick", event[0], n_ticks)
    require_inside("core", event[1], program.n_cores)
    require_inside("axon", event[2], program.axon_counts[event[1]])
    order = np.argsort(event[0], kind="stable")
    at, *columns = (column[order] for column in event)
    start = np.searchsorted(at, np.arange(n_ticks + 1)).astype(np.int64)
    return chip.run(HostEvents(start, *(column.astype(np.int32) for column in columns)))
