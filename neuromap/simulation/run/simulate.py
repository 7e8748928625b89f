"""Run a program on input frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import refuse_masked
from neuromap.errors import InputError, StimulusError, prefixed
from neuromap.files.argument_checks import needs, path_given, refuse_swapped, whole_number
from neuromap.files.messages import show
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.spiking_neuron import PAYLOAD
from neuromap.simulation.engine.engine import Engine, HostEvents, Sent, joined, make_engine, require_inside, values_of
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.tick_run import FedFrames, ticks_to_run
from neuromap.simulation.stimulus import check_frames, frame_count
from neuromap.simulation.trace import checkpoint
from neuromap.simulation.trace.checkpoint import Checkpoints
from neuromap.simulation.trace.recording import Potentials, Recording, readout_of
from neuromap.simulation.trace.trace import FrameCounter, FrameCounts, Trace, labels_of
from neuromap.simulation.trace.trace_file import Chunk, RecordedRun, hdf5_writer

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
    _check("simulate", record, checkpoints)
    return record_run(program, frames, EngineChoice(engine, threads, noise_seed), record, progress, checkpoints)


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
    _check("simulate_to_file", record, checkpoints)
    choice = EngineChoice(engine, threads, noise_seed)
    return write_run(path, lambda: prepare_run(program, frames, choice, record, progress, checkpoints))


def _check(where: str, record: Recording | None, checkpoints: Checkpoints | None) -> None:
    if record is not None:
        needs(f"{where}: record", record, Recording)
    if checkpoints is not None:
        needs(f"{where}: checkpoints", checkpoints, Checkpoints)


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


# Most memory for the recorded spikes, or potentials, of a run.
_MAX_BYTES = 2**32
_SPIKE_BYTES = 24


def prepare_run(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    choice: EngineChoice | Callable[[ChipProgram], Loaded],
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
    checkpoints: Checkpoints | None = None,
) -> RecordedRun:
    """Load a program and get ready to run it; see :func:`neuromap.simulation.run.simulate.simulate`."""
    # ``choice`` may be a function that loads the program: ranks do so in their own way.
    checked = check_frames(frames, program)
    # loading refuses indices out of range
    if isinstance(choice, EngineChoice):
        loaded = Loaded(make_engine(program, choice), program, choice.noise_seed, float, True)
    else:
        loaded = choice(program)
    recording, n_frames = Recording() if record is None else record, frame_count(checked)
    recorder = Recorder(program, recording, n_frames)
    if checkpoints is None or checkpoints == Checkpoints():
        chunks = run_chunks(loaded.chip, FedFrames(loaded.fed, checked), recorder, progress, agree=loaded.agree)
    else:
        chunks = resumable_chunks(loaded, checked, recorder, recording, checkpoints, progress)
    nothing = np.zeros(0, dtype=np.int32)
    header = Trace(
        **labels_of(program, recorder.neurons.nodes, n_frames, recorder.n_ticks),
        tick=nothing.astype(np.int64),
        node=nothing,
        index=nothing,
        core=nothing,
        neuron=nothing,
        value=None if program.value_ranges is None else nothing,
        tick_seconds=program.chip.tick_seconds,
        is_timed=program.chip.is_timed,
    )
    return RecordedRun(
        header,
        recorder.neurons,
        recorder.potential_neurons,
        recorder.counts,
        chunks,
        peak=-program.chip.potential_range[0],
    )


def record_run(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    choice: EngineChoice | Callable[[ChipProgram], Loaded],
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
    checkpoints: Checkpoints | None = None,
) -> Trace:
    """Run a program and record it in memory; see :func:`neuromap.simulation.run.simulate.simulate`."""
    run = prepare_run(program, frames, choice, record, progress, checkpoints)
    n_ticks, n_potentials = run.header.n_ticks, len(run.potential_neurons)
    if 4 * n_ticks * n_potentials > _MAX_BYTES:
        raise InputError(
            f"recording: {n_potentials} potentials in {n_ticks} ticks take {4 * n_ticks * n_potentials >> 30} GiB; at "
            f"most {_MAX_BYTES >> 30} are held in memory, record fewer or into an HDF5 file"
        )
    ticks, rows = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    values = None if run.header.value is None else [run.header.value]
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
        if values is not None and chunk.value is not None:
            values.append(chunk.value)
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
        value=None if values is None else np.concatenate(values),
        counts=run.counts,
        potential_table=Potentials(run.potential_neurons, potentials) if n_potentials else None,
    )


# A recorded run with checkpoints: it may resume where another one stopped.
def resumable_chunks(
    loaded: Loaded,
    frames: Mapping[str, NDArray[Any]],
    recorder: Recorder,
    recording: Recording,
    checkpoints: Checkpoints,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[Chunk]:
    """Run all ticks; chunks before the checkpoint from which the run resumes are read instead."""
    # shapes: frames (n_frames, size)
    identity = checkpoint.run_identity(loaded.chip.program, frames, recording, loaded.noise_seed)
    source = None if checkpoints.resume is None else Path(checkpoints.resume)
    parts: tuple[str, ...] = ()
    if source is not None:
        found = checkpoint.load_checkpoint(source, identity)
        if found.state.tick > recorder.n_ticks:
            raise InputError(
                f"checkpoint {source}: is at tick {found.state.tick} of a run of {recorder.n_ticks} ticks; "
                "simulate from tick 0"
            )
        with prefixed(f"checkpoint {source}: ", InputError):
            loaded.chip.restore(found.state)
        if recorder.counts is not None:
            if found.counts is None or found.counts.shape != recorder.counts.shape:
                raise InputError(
                    f"checkpoint {source}: lacks the counts of spikes that are recorded; simulate from tick 0"
                )
            recorder.counts[:] = found.counts
        parts = found.parts
    target = None if checkpoints.path is None or not loaded.keeps_record else Path(checkpoints.path)
    writer = None if target is None else checkpoint.Parts(target, parts)
    fed = FedFrames(loaded.fed, frames)

    def chunks() -> Iterator[Chunk]:
        if source is not None and loaded.keeps_record:
            yield from checkpoint.read_parts(source, parts, target)
        every = None if checkpoints.path is None else checkpoints.every
        for chunk in run_chunks(loaded.chip, fed, recorder, progress, every, loaded.agree):
            if writer is not None:
                writer.keep(chunk)
            yield chunk
            if every is not None and loaded.chip.tick % every == 0:
                state = loaded.chip.state  # all ranks give it, one writes
                if writer is not None and target is not None:
                    writer.flush()  # the last part that the checkpoint names
                    checkpoint.save_checkpoint(
                        target, checkpoint.Checkpoint(state, tuple(writer.checksums), recorder.counts), identity
                    )

    return chunks()


# Running ticks in chunks, and keeping what the recording selects.
# Most host rows times ticks, and potentials times ticks, in a chunk.
_CHUNK_VALUES = 2**24
# Most spikes that the watched neurons could fire in a chunk.
_CHUNK_SPIKES = 2**22
# Target time of a chunk: interrupts and progress reports wait for its end.
_CHUNK_SECONDS = 0.1


class Recorder:
    """Runs ticks of a program and keeps what the recording selects."""

    # n_ticks: ticks to run, through the last frame of the slowest node that is read out or recorded
    # neurons, potential_neurons: neurons whose spikes, and whose potentials, are kept
    # counts: (C, N): spikes of every neuron so far, if recorded

    def __init__(self, program: ChipProgram, recording: Recording, n_frames: int) -> None:
        self.neurons = readout_of(program, recording.spikes)
        self.potential_neurons = readout_of(program, recording.potentials)
        self.counts = np.zeros(program.shape, dtype=np.int64) if recording.counts else None
        self._row_of = self.neurons.rows(program)
        self._watched = self._row_of >= 0 if self.counts is None else None
        self.n_ticks = ticks_to_run(program, n_frames, (*self.neurons.nodes, *self.potential_neurons.nodes))
        # Output spikes are kept only as long as without other recorded nodes, so that these do not affect them.
        self._outputs_end = ticks_to_run(program, n_frames)

    def run(self, chip: Engine, events: HostEvents) -> Chunk:
        """Run some ticks on the host's events, and return what is recorded."""
        neurons = self.potential_neurons
        potentials = np.empty((events.n_ticks, len(neurons)), dtype=np.int32)
        if len(neurons):  # tick by tick
            cores, position = np.unique(neurons.core.astype(np.int64), return_inverse=True)
            parts = []
            for tick in range(events.n_ticks):
                parts.append(chip.run(events.of_ticks(tick, 1), self._watched))
                potentials[tick] = chip.potentials_of(cores)[position, neurons.neuron]
            spikes = joined(parts)
        else:
            spikes = chip.run(events, self._watched)
        if self.counts is not None:
            np.add.at(self.counts, (spikes.cores, spikes.neurons), 1)
        row = self._row_of[spikes.cores, spikes.neurons].astype(np.int64)
        kept = np.flatnonzero(row >= 0)
        kept = kept[(spikes.ticks[kept] < self._outputs_end) | ~self.neurons.is_output[row[kept]]]
        kept = kept[np.lexsort((row[kept], spikes.ticks[kept]))]
        values = values_of(spikes)
        value = None if values is None else values[kept].astype(np.int32)
        return Chunk(spikes.ticks[kept], row[kept], potentials, value)


def run_chunks(
    chip: Engine,
    fed: FedFrames,
    recorder: Recorder,
    progress: Callable[[int, int], object] | None = None,
    every: int | None = None,
    agree: Callable[[float], float] = float,
) -> Iterator[Chunk]:
    """Run all ticks; chunk lengths adapt so that progress is reported a few times per second."""
    # agree: gives all ranks of a run the value of rank 0, so that their chunks have equal lengths
    # neurons whose spikes the engine returns
    n_watched = len(recorder.neurons) if recorder.counts is None else recorder.counts.size
    of_host = _CHUNK_VALUES // max(1, fed.n_rows, len(recorder.potential_neurons))
    most = max(1, min(of_host, _CHUNK_SPIKES // max(1, n_watched)))
    length, n_ticks = 1, recorder.n_ticks
    while chip.tick < n_ticks:
        began = perf_counter()
        left = n_ticks - chip.tick if every is None else min(n_ticks - chip.tick, every - chip.tick % every)
        yield recorder.run(chip, fed.events(chip.tick, min(length, left)))
        if progress is not None:
            progress(chip.tick, n_ticks)
        seconds = agree(perf_counter() - began)
        if seconds < _CHUNK_SECONDS:
            length = min(2 * length, most)
        elif seconds > 4 * _CHUNK_SECONDS:
            length = max(1, length // 2)


# A program in an engine, on one machine or as the part of one rank, ready to be fed and recorded.


class Loaded(NamedTuple):
    """A program loaded into an engine."""

    chip: Engine  # at tick 0
    fed: ChipProgram  # the program whose host table is fed here; on a rank, with the rows of its own cores only
    noise_seed: int  # the engine's
    agree: Callable[[float], float]  # gives all ranks the value of rank 0
    keeps_record: bool  # whether the recording is collected here
