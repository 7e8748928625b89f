"""Run a program on input frames and record it, in memory or chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Engine, HostEvents, Sent, joined, make_engine, values_of
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.tick_run import FedFrames, ticks_to_run
from neuromap.simulation.stimulus import check_frames, frame_count
from neuromap.simulation.trace.checkpoint import (
    Checkpoint,
    Checkpoints,
    Parts,
    load_checkpoint,
    read_parts,
    run_identity,
    save_checkpoint,
)
from neuromap.simulation.trace.recorded_run import Chunk, RecordedRun
from neuromap.simulation.trace.recording import Potentials, Recording, readout_of
from neuromap.simulation.trace.trace import Trace

# Most memory for the recorded spikes, or potentials, of a run.
_MAX_BYTES = 2**32
_SPIKE_BYTES = 24
_NONE = Checkpoints()


def prepare_run(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike],
    choice: EngineChoice | Callable[[ChipProgram], Loaded],
    record: Recording | None = None,
    progress: Callable[[int, int], object] | None = None,
    checkpoints: Checkpoints = _NONE,
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
    if checkpoints == _NONE:
        chunks = run_chunks(loaded.chip, FedFrames(loaded.fed, checked), recorder, progress, agree=loaded.agree)
    else:
        chunks = resumable_chunks(loaded, checked, recorder, recording, checkpoints, progress)
    nothing = np.zeros(0, dtype=np.int32)
    header = Trace(
        name=program.name,
        pattern=program.pattern,
        execution=program.execution,
        nodes=recorder.neurons.nodes,
        period=program.period,
        n_frames=n_frames,
        n_ticks=recorder.n_ticks,
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
    checkpoints: Checkpoints = _NONE,
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
    identity = run_identity(loaded.chip.program, frames, recording, loaded.noise_seed)
    source = None if checkpoints.resume is None else Path(checkpoints.resume)
    parts: tuple[str, ...] = ()
    if source is not None:
        found = load_checkpoint(source, identity)
        if found.state.tick > recorder.n_ticks:
            raise InputError(
                f"checkpoint {source}: is at tick {found.state.tick} of a run of {recorder.n_ticks} ticks; "
                "simulate from tick 0"
            )
        try:
            loaded.chip.restore(found.state)
            recorder.go_on_from(found.counts)
        except InputError as error:
            raise InputError(f"checkpoint {source}: {error}") from None
        parts = found.parts
    target = None if checkpoints.path is None or not loaded.keeps_record else Path(checkpoints.path)
    writer = None if target is None else Parts(target, parts)
    fed = FedFrames(loaded.fed, frames)

    def chunks() -> Iterator[Chunk]:
        if source is not None and loaded.keeps_record:
            yield from read_parts(source, parts) if writer is None else writer.read(source)
        every = None if checkpoints.path is None else checkpoints.every
        for chunk in run_chunks(loaded.chip, fed, recorder, progress, every, loaded.agree):
            if writer is not None:
                writer.keep(chunk)
            yield chunk
            if every is not None and loaded.chip.tick % every == 0:
                state = loaded.chip.state  # all ranks give it, one writes
                if writer is not None and target is not None:
                    writer.flush()  # the last part that the checkpoint names
                    save_checkpoint(target, Checkpoint(state, tuple(writer.checksums), recorder.counts), identity)

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

    @property
    def n_watched(self) -> int:
        """Number of neurons whose spikes the engine returns."""
        return len(self.neurons) if self.counts is None else self._row_of.size

    def go_on_from(self, counts: NDArray[np.int64] | None) -> None:
        """Continue counting spikes from a checkpoint."""
        if self.counts is None:
            return
        if counts is None or counts.shape != self.counts.shape:
            raise InputError("lacks the counts of spikes that are recorded; simulate from tick 0")
        self.counts[:] = counts

    def run(self, chip: Engine, events: HostEvents) -> Chunk:
        """Run some ticks on the host's events, and return what is recorded."""
        if len(self.potential_neurons):
            spikes, potentials = self._run_with_potentials(chip, events)
        else:
            spikes, potentials = chip.run(events, self._watched), np.zeros((events.n_ticks, 0), dtype=np.int32)
        if self.counts is not None:
            np.add.at(self.counts, (spikes.cores, spikes.neurons), 1)
        row = self._row_of[spikes.cores, spikes.neurons].astype(np.int64)
        kept = np.flatnonzero(row >= 0)
        kept = kept[(spikes.ticks[kept] < self._outputs_end) | ~self.neurons.is_output[row[kept]]]
        kept = kept[np.lexsort((row[kept], spikes.ticks[kept]))]
        values = values_of(spikes)
        value = None if values is None else values[kept].astype(np.int32)
        return Chunk(spikes.ticks[kept], row[kept], potentials, value)

    def _run_with_potentials(self, chip: Engine, events: HostEvents) -> tuple[Sent, NDArray[np.int32]]:
        """Run tick by tick and read the potentials after each."""
        neurons = self.potential_neurons
        cores, position = np.unique(neurons.core, return_inverse=True)
        potentials = np.empty((events.n_ticks, len(neurons)), dtype=np.int32)
        parts = []
        for tick in range(events.n_ticks):
            parts.append(chip.run(events.of_ticks(tick, 1), self._watched))
            potentials[tick] = chip.potentials_of(cores.astype(np.int64))[position, neurons.neuron]
        return joined(parts), potentials


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
    of_host = _CHUNK_VALUES // max(1, fed.n_rows, len(recorder.potential_neurons))
    most = max(1, min(of_host, _CHUNK_SPIKES // max(1, recorder.n_watched)))
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
