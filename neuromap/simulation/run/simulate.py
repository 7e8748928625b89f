"""Run a program on input frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import InputError, ProgramError
from neuromap.hardware.program.program import Program
from neuromap.simulation.engine.engine import Engine, HostEvents
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.engine.noise import check_seed
from neuromap.simulation.engine.threads import thread_count
from neuromap.simulation.run.host_feed import HostFeed
from neuromap.simulation.stimulus.stimulus import check_frames
from neuromap.simulation.trace.frame_counts import FrameCounts, counted
from neuromap.simulation.trace.recording import Chunk, Potentials, Readout, Recording, readout
from neuromap.simulation.trace.trace import Trace
from neuromap.simulation.trace.trace_hdf5 import hdf5_writer

__all__ = ["simulate", "simulate_to_file", "ticks_to_run"]

_MAX_BYTES = 2**32
"""Memory that the recorded spikes, or potentials, of a run may take."""
_SPIKE_BYTES = 24
_CHUNK_VALUES = 2**24
"""Host rows times ticks, and potentials times ticks, in a chunk."""
_CHUNK_SPIKES = 2**22
"""Spikes that the watched neurons could fire in a chunk."""
_CHUNK_SECONDS = 0.1
"""What a chunk should take: an interrupt waits for its end, and so does the next news of progress."""


class _Run(NamedTuple):
    """A run that is about to start.

    Attributes
    ----------
    header : Trace
        The trace without its spikes, potentials and counts.
    neurons, potential_neurons : Readout
        Whose spikes and whose potentials are recorded.
    counts : ndarray of int64, shape (C, N), or None
        Filled while the chunks are taken.
    chunks : iterator of Chunk
        Runs the program as it is taken.
    """

    header: Trace
    neurons: Readout
    potential_neurons: Readout
    counts: NDArray[np.int64] | None
    chunks: Iterator[Chunk]


def simulate(
    program: Program,
    frames: Mapping[str, ArrayLike],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Trace:
    """Run a program on input frames until the slowest output has shown the last frame.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.
    frames : mapping of str to array_like, shape (n_frames, size)
        Input frames for every input node, Boolean or 0 and 1; row 0 is frame 0.
    engine : {"fast", "numpy"}
        What runs the ticks; the result is the same.
    threads : int, optional
        Threads of the fast engine; by default one for every core of the machine that may be used. The result is
        the same for every number.
    noise_seed : int
        Seed of the neurons' stochastic modes; without such neurons it has no effect.
    record : Recording, optional
        What is kept; by default the spikes of the neurons that are read out.
    progress : callable, optional
        Called as ``progress(ticks done, ticks in all)`` from time to time, and at the end.

    Returns
    -------
    Trace
        What was recorded.

    Raises
    ------
    StimulusError
        If the frames do not match the program's input nodes.
    InputError
        If there is no such engine, node or core, a number is out of range, or more is to be recorded than the memory
        is meant to hold (4 GiB): :func:`simulate_to_file` has no such bound.
    ProgramError
        If the program has no output node, or its tables point outside it.
    """
    run = _prepare(program, frames, engine, threads, noise_seed, record, progress)
    n_ticks, n_potentials = run.header.n_ticks, len(run.potential_neurons)
    if 4 * n_ticks * n_potentials > _MAX_BYTES:
        raise InputError(
            f"recording: {n_potentials} potentials in {n_ticks} ticks take {4 * n_ticks * n_potentials >> 30} GiB; at "
            f"most {_MAX_BYTES >> 30} are held in memory, record fewer or into an HDF5 file"
        )
    ticks, rows = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    potentials = np.empty((n_ticks, n_potentials), dtype=np.int32)
    done = n_spikes = 0
    for chunk in run.chunks:
        n_spikes += len(chunk.tick)
        if n_spikes * _SPIKE_BYTES > _MAX_BYTES:
            raise InputError(
                f"recording: {n_spikes} spikes or more take more than {_MAX_BYTES >> 30} GiB of memory; record fewer "
                "neurons or into an HDF5 file"
            )
        ticks.append(chunk.tick)
        rows.append(chunk.row)
        potentials[done : done + len(chunk.potentials)] = chunk.potentials
        done += len(chunk.potentials)
    row, neurons = np.concatenate(rows), run.neurons
    return replace(
        run.header,
        tick=np.concatenate(ticks),
        node=neurons.node[row],
        index=neurons.index[row],
        core=neurons.core[row],
        neuron=neurons.neuron[row],
        counts=run.counts,
        potential_table=Potentials(run.potential_neurons, potentials) if n_potentials else None,
    )


def simulate_to_file(
    path: str | Path,
    program: Program,
    frames: Mapping[str, ArrayLike],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> FrameCounts:
    """Run a program as :func:`simulate` does, and write what is recorded into an HDF5 file while it runs.

    Memory does not grow with the number of ticks. The file appears when the run is complete; an error or an interrupt
    leaves what was there before. :func:`neuromap.simulation.trace.trace_file.load_trace` reads it, as does whatever
    reads HDF5; ``docs/simulation.md`` describes it.

    Parameters
    ----------
    path : str or Path
        The file.
    program, frames, engine, threads, noise_seed, record, progress
        As in :func:`simulate`.

    Returns
    -------
    FrameCounts
        Spikes of the recorded nodes by frame.

    Raises
    ------
    StimulusError, InputError, ProgramError
        As in :func:`simulate`; also if the file cannot be written.
    NotSupportedError
        If h5py is not installed.
    """
    found: list[FrameCounts] = []
    with hdf5_writer(path) as write:
        run = _prepare(program, frames, engine, threads, noise_seed, record, progress)
        chunks, peak = counted(run.header, run.neurons, run.chunks, found), -program.chip.potential_range[0]
        write(run.header, run.neurons, run.potential_neurons, chunks, run.counts, peak)
    return found[0]


def ticks_to_run(program: Program, n_frames: int) -> int:
    """Count the ticks up to and with the last frame of the slowest output; 0 if that lies before tick 0.

    Raises
    ------
    ProgramError
        If the program has no output node.
    """
    last = [port.sample_tick + (n_frames - 1) * program.period for port in program.nodes if port.kind == "output"]
    if not last:
        raise ProgramError(f"program {program.name}: has no output node to read out; run it with run_events")
    return max(0, max(last) + 1)


def _prepare(
    program: Program,
    frames: Mapping[str, ArrayLike],
    engine: str,
    threads: int | None,
    noise_seed: int,
    record: Recording | None,
    progress: Callable[[int, int], object] | None,
) -> _Run:
    thread_count(threads)
    check_seed(noise_seed)
    recording = Recording() if record is None else record
    checked = check_frames(frames, program)
    chip = make_engine(program, engine, threads=threads, noise_seed=noise_seed)  # refuses indices that point nowhere
    n_frames = len(next(iter(checked.values()))) if checked else 0
    n_ticks = ticks_to_run(program, n_frames)
    neurons, potential_neurons = readout(program, recording.spikes), readout(program, recording.potentials)
    counts = np.zeros(program.target_core.shape, dtype=np.int64) if recording.counts else None
    nothing = np.zeros(0, dtype=np.int32)
    header = Trace(
        name=program.name,
        pattern=program.pattern,
        execution=program.execution,
        nodes=neurons.nodes,
        period=program.period,
        n_frames=n_frames,
        n_ticks=n_ticks,
        tick=nothing.astype(np.int64),
        node=nothing,
        index=nothing,
        core=nothing,
        neuron=nothing,
        tick_seconds=program.chip.tick_seconds,
    )
    stimulus = {name: rows[None] for name, rows in checked.items()}
    chunks = _chunks(chip, stimulus, n_frames, n_ticks, neurons, potential_neurons, counts, progress)
    return _Run(header, neurons, potential_neurons, counts, chunks)


def _chunks(
    chip: Engine,
    stimulus: Mapping[str, NDArray[np.bool_]],
    n_frames: int,
    n_ticks: int,
    neurons: Readout,
    potential_neurons: Readout,
    counts: NDArray[np.int64] | None,
    progress: Callable[[int, int], object] | None,
) -> Iterator[Chunk]:
    """Run all ticks; chunks grow as long as they are short, so that there is news a few times a second."""
    feed = HostFeed(chip.program)
    row_of = neurons.rows(chip.program)
    watched = row_of >= 0 if counts is None else None
    n_watched = len(neurons) if counts is None else row_of.size
    most = max(1, min(_CHUNK_VALUES // max(1, len(feed), len(potential_neurons)), _CHUNK_SPIKES // max(1, n_watched)))
    length = 1
    while chip.tick < n_ticks:
        began = perf_counter()
        first = chip.tick
        events = feed.events(stimulus, n_frames, first, min(length, n_ticks - first))
        if len(potential_neurons):
            parts, potentials = _run_with_potentials(chip, events, watched, potential_neurons)
        else:
            parts, potentials = [chip.run(events, watched)], np.zeros((events.n_ticks, 0), dtype=np.int32)
        tick, core, neuron = (np.concatenate(column) for column in zip(*parts, strict=True))
        if counts is not None:
            np.add.at(counts, (core, neuron), 1)
        row = row_of[core, neuron].astype(np.int64)
        tick, row = tick[row >= 0], row[row >= 0]
        order = np.lexsort((row, tick))
        yield Chunk(tick[order], row[order], potentials)
        if progress is not None:
            progress(chip.tick, n_ticks)
        seconds = perf_counter() - began
        if seconds < _CHUNK_SECONDS:
            length = min(2 * length, most)
        elif seconds > 4 * _CHUNK_SECONDS:
            length = max(1, length // 2)


def _run_with_potentials(
    chip: Engine, events: HostEvents, watched: NDArray[np.bool_] | None, neurons: Readout
) -> tuple[list[tuple[NDArray[np.int64], ...]], NDArray[np.int32]]:
    """Run tick by tick and look at the potentials after each."""
    cores, position = np.unique(neurons.core, return_inverse=True)
    potentials = np.empty((events.n_ticks, len(neurons)), dtype=np.int32)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    for tick in range(events.n_ticks):
        a, b = events.start[tick : tick + 2].tolist()
        now = HostEvents(events.start[tick : tick + 2] - a, events.cores[a:b], events.axons[a:b])
        parts.append(chip.run(now, watched))
        potentials[tick] = chip.potentials_of(cores.astype(np.int64))[position, neurons.neuron]
    return parts, potentials
