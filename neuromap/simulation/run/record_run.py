"""A program on input frames with what is recorded, into memory or chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.checkpoint.checkpoints import Checkpoints
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.host_feed import FedFrames
from neuromap.simulation.run.loaded import Loaded, load_engine
from neuromap.simulation.run.recorder import Recorder, run_chunks
from neuromap.simulation.run.resumable_run import resumable_chunks
from neuromap.simulation.stimulus.stimulus import check_frames, frame_count
from neuromap.simulation.trace.readout import Potentials
from neuromap.simulation.trace.recorded_run import RecordedRun
from neuromap.simulation.trace.recording import Recording
from neuromap.simulation.trace.trace import Trace

__all__ = ["prepare_run", "record_run"]

_MAX_BYTES = 2**32
"""Memory that the recorded spikes, or potentials, of a run may take."""
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
    # ``choice`` may be what loads it: a rank among several does so in its own way.
    checked = check_frames(frames, program)
    # refuses indices that point nowhere
    loaded = load_engine(program, choice) if isinstance(choice, EngineChoice) else choice(program)
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
        tick_seconds=program.chip.tick_seconds,
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
    """Run a program into memory; see :func:`neuromap.simulation.run.simulate.simulate`."""
    run = prepare_run(program, frames, choice, record, progress, checkpoints)
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
