"""Run a program on input frames, on all ranks of an MPI run together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from neuromap.files.given import path_given
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.checkpoint.checkpoints import Checkpoints
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.ranks.exchange import Exchange
from neuromap.simulation.ranks.rank_engine import RankEngine
from neuromap.simulation.ranks.rank_program import rows_of_cores
from neuromap.simulation.run.loaded import Loaded
from neuromap.simulation.run.record_run import prepare_run, record_run
from neuromap.simulation.run.simulate import counted_chunks
from neuromap.simulation.trace.forms.hdf5_file import hdf5_writer
from neuromap.simulation.trace.frame_counts import FrameCounter, FrameCounts
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import Trace

__all__ = ["simulate_on_ranks", "simulate_on_ranks_to_file"]


def simulate_on_ranks(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    exchange: Exchange,
    *,
    engine: str = "fast",
    threads: int = 1,
    noise_seed: int = 0,
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trace | None:
    """Run a program as :func:`neuromap.simulate` does, with its cores divided among ranks; all of them call this.

    Parameters
    ----------
    program, frames
        The same on every rank.
    exchange : Exchange
        To the other ranks, such as :class:`neuromap.simulation.ranks.mpi_exchange.MpiExchange`.
    engine : {"fast", "numpy"}
        What runs the cores of each rank.
    threads : int
        Of each rank.
    noise_seed, record, progress, checkpoints
        As in :func:`neuromap.simulate`.

    Returns
    -------
    Trace or None
        What was recorded, equal to that of one machine; on other ranks than 0 None.

    Raises
    ------
    StimulusError, InputError, ProgramError
        As :func:`neuromap.simulate`; also if there are more ranks than cores. A rank that fails leaves the others
        waiting: start scripts with ``python -m mpi4py``, which ends them all.
    """
    load = _loader(exchange, EngineChoice(engine, threads, noise_seed))
    trace = record_run(program, frames, load, record, progress, checkpoints or Checkpoints())
    return trace if exchange.rank == 0 else None


def simulate_on_ranks_to_file(
    path: str | Path, program: ChipProgram, frames: Mapping[str, ArrayLike], exchange: Exchange, **how: Any
) -> FrameCounts | None:
    """Run a program as :func:`simulate_on_ranks` does, and let rank 0 write what is recorded while it runs.

    Parameters
    ----------
    path : str or Path
        An HDF5 file, which appears when the run is complete.
    program, frames, exchange, **how
        As in :func:`simulate_on_ranks`.

    Returns
    -------
    FrameCounts or None
        Spikes of the recorded nodes by frame; on other ranks than 0 None.

    Raises
    ------
    StimulusError, InputError, ProgramError, NotSupportedError
        As :func:`neuromap.simulate_to_file`.
    """
    path = path_given("simulate_on_ranks_to_file", path)
    asked = dict(how)
    choice = EngineChoice(asked.pop("engine", "fast"), asked.pop("threads", 1), asked.pop("noise_seed", 0))
    asked["checkpoints"] = asked.get("checkpoints") or Checkpoints()
    load = _loader(exchange, choice)
    if exchange.rank > 0:
        for _ in prepare_run(program, frames, load, **asked).chunks:
            pass
        return None
    with hdf5_writer(path) as write:
        run = prepare_run(program, frames, load, **asked)
        counter = FrameCounter(run.header)
        write(run._replace(chunks=counted_chunks(run, counter)))
    return counter.result()


def _loader(exchange: Exchange, choice: EngineChoice) -> Callable[[ChipProgram], Loaded]:
    """Say how this rank loads a program: its own cores, fed by their own rows of the host table."""

    def load(program: ChipProgram) -> Loaded:
        chip = RankEngine(program, exchange, choice)
        own = np.full(program.n_cores, -1, np.int64)
        own[chip.cores] = chip.cores
        fed = replace(program, host=rows_of_cores(program.host, own))
        return Loaded(chip, fed, choice.noise_seed, exchange.agree, exchange.rank == 0)

    return load
