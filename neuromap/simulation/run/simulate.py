"""Run a program on input frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import refuse_masked
from neuromap.errors import StimulusError
from neuromap.files.argument_checks import needs, path_given, refuse_swapped, whole_number
from neuromap.files.messages import show
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.spiking_neuron import PAYLOAD
from neuromap.simulation.engine.engine import HostEvents, Sent, make_engine, require_inside
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.record_run import prepare_run, record_run
from neuromap.simulation.trace.checkpoint import Checkpoints
from neuromap.simulation.trace.recorded_run import Chunk, RecordedRun
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import FrameCounter, FrameCounts, Trace
from neuromap.simulation.trace.trace_file import hdf5_writer

# Most ticks of a run on events, whose table of ticks then takes 2 GiB.
_MAX_TICKS = 2**28


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
    """Run a program on raw events and return every spike, for programs written by hand.

    Parameters
    ----------
    program : ChipProgram
        The program; its host and output tables are not used.
    ticks, cores, axons : array_like of int, shape (n,)
        Host events in any order: the tick in which the axon is integrated, core, axon.
    n_ticks : int
        Number of ticks to run, from tick 0; at most 2**28.
    engine, threads, noise_seed
        As in :func:`neuromap.simulation.run.simulate.simulate`.
    values : array_like of int, shape (n,), optional
        Values of events to cores that take values; 1 by default.

    Returns
    -------
    Spikes or Messages
        Ticks, cores and neurons of all spikes; for graded cores, of all messages, with their values.

    Raises
    ------
    InputError
        If the engine is unknown, or the number of threads or the seed is out of range.
    StimulusError
        If an event lies outside the ticks, cores or axons of the run, its value is not allowed there, a number is
        not whole, or there are more than 2**28 ticks.
    """
    chip = make_engine(program, EngineChoice(engine, threads, noise_seed))
    graded = program.value_ranges is not None
    if values is not None and not graded:
        raise StimulusError(f"events: values are given, but program {program.name} sends spikes; leave them out")
    n_ticks = whole_number("events: n_ticks", n_ticks, StimulusError)
    if n_ticks < 0:
        raise StimulusError(f"events: n_ticks = {n_ticks}; must be 0 or more")
    if n_ticks > _MAX_TICKS:
        raise StimulusError(f"events: n_ticks = {show(n_ticks)}; at most 2**28 = {_MAX_TICKS} are run, give fewer")
    columns = {"ticks": ticks, "cores": cores, "axons": axons} | ({} if values is None else {"values": values})
    refuse_masked([*columns.values()], "events", StimulusError)
    event = [_whole_numbers(name, column) for name, column in columns.items()]
    if graded and values is None:
        event.append(np.ones(len(event[0]), np.int64))
    if len({len(column) for column in event}) > 1:
        told = zip(event, ("ticks", "cores", "axons", "values"), strict=False)
        raise StimulusError(
            f"events: {', '.join(f'{len(column)} {name}' for column, name in told)}; give as many of each"
        )
    if graded and ((event[3] == 0) | (event[3] < -PAYLOAD) | (event[3] > PAYLOAD)).any():
        raise StimulusError(f"events: values must be -{PAYLOAD} to {PAYLOAD}, and not 0, which is not sent")
    if graded:
        program.require_sums(int(event[3].min(initial=0)), int(event[3].max(initial=0)))
    require_inside("tick", event[0], n_ticks)
    require_inside("core", event[1], program.n_cores)
    require_inside("axon", event[2], program.axon_counts[event[1]])
    order = np.argsort(event[0], kind="stable")
    at, *places = (column[order] for column in event)
    start = np.searchsorted(at, np.arange(n_ticks + 1)).astype(np.int64)
    return chip.run(HostEvents(start, *(column.astype(np.int32) for column in places)))


def _whole_numbers(name: str, given: ArrayLike) -> NDArray[np.integer]:
    """Convert a column of events to an array, of the type given: a cast could wrap what the bounds refuse."""
    try:
        column = np.asarray(given)
    except (ValueError, TypeError, OverflowError, RuntimeError):  # ragged lists, and tensors that need gradients
        raise StimulusError(f"events: {name} = {show(given)}; give a list of whole numbers") from None
    if column.size == 0:  # NumPy makes floats of an empty list
        return np.zeros(0, np.int64)
    if column.dtype.kind not in "iu":
        raise StimulusError(f"events: {name} have dtype {column.dtype}; must be whole numbers, give integers")
    if column.ndim != 1:
        raise StimulusError(f"events: {name} have shape {column.shape}; give one number for each event, shape (n,)")
    return column


def simulate(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trace:
    """Run a program on input frames until the slowest node that is read out or recorded has shown the last frame.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    frames : mapping of str to array_like, shape (n_frames, size) or (n_frames, rows, columns, features)
        Input frames for every input node, Boolean or 0 and 1; row 0 is frame 0.
    engine : {"fast", "numpy"}
        Engine that runs the ticks; the result is the same.
    threads : int, optional
        Number of threads of the fast engine; by default one per usable core of the machine. The result is
        the same for every number.
    noise_seed : int
        Seed of the neurons' stochastic modes; no effect without such neurons.
    record : Recording, optional
        What to record; by default the spikes of the neurons that are read out.
    progress : callable, optional
        Called as ``progress(ticks_done, total_ticks)`` from time to time, and at the end.
    checkpoints : Checkpoints, optional
        Checkpoints to write, so that a stopped run can resume, and the checkpoint to resume from.

    Returns
    -------
    Trace
        The recorded trace.

    Raises
    ------
    StimulusError
        If the frames do not match the program's input nodes.
    InputError
        If an engine, node or core does not exist, a number is out of range, or the recording would exceed the memory
        limit (4 GiB), which :func:`simulate_to_file` does not have. Also if a checkpoint cannot be written or
        read, or belongs to another run.
    ProgramError
        If the program has no output node, or its tables point outside it.
    """
    refuse_swapped("simulate(program, frames)", program, ChipProgram, frames)
    needs("simulate", program, ChipProgram)
    asked = _check("simulate", record, checkpoints)
    return record_run(program, frames, EngineChoice(engine, threads, noise_seed), record, progress, asked)


def simulate_to_file(
    path: str | Path,
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
    checkpoints: Checkpoints | None = None,
) -> FrameCounts:
    """Run a program like :func:`simulate`, and write the recording to an HDF5 file during the run.

    Memory does not grow with the number of ticks. The file appears when the run is complete; an error or interrupt
    leaves an earlier file untouched. :func:`neuromap.simulation.trace.load_trace.load_trace` and any HDF5 reader
    can read it; ``docs/simulation.md`` describes it.

    Parameters
    ----------
    path : str or Path
        The file.
    program, frames, engine, threads, noise_seed, record, progress, checkpoints
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
    path = path_given("simulate_to_file", path)
    needs("simulate_to_file", program, ChipProgram)
    asked = _check("simulate_to_file", record, checkpoints)
    choice = EngineChoice(engine, threads, noise_seed)
    return write_run(path, lambda: prepare_run(program, frames, choice, record, progress, asked))


def _check(where: str, record: Recording | None, checkpoints: Checkpoints | None) -> Checkpoints:
    if record is not None:
        needs(f"{where}: record", record, Recording)
    if checkpoints is None:
        return Checkpoints()
    needs(f"{where}: checkpoints", checkpoints, Checkpoints)
    return checkpoints


def write_run(path: Path, prepare: Callable[[], RecordedRun]) -> FrameCounts:
    """Write a run to an HDF5 file while it runs, and count its spikes by frame."""
    with hdf5_writer(path) as write:  # refuses a path before anything is loaded
        run = prepare()
        counter = FrameCounter(run.header)

        def counted_chunks() -> Iterator[Chunk]:
            for chunk in run.chunks:
                counter.add(chunk.tick, run.neurons.node[chunk.row], run.neurons.index[chunk.row])
                yield chunk

        write(run._replace(chunks=counted_chunks()))
    return counter.result()
