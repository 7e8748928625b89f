"""A recorded run with checkpoints: it may begin where another one was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.simulation.checkpoint.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from neuromap.simulation.checkpoint.checkpoints import Checkpoints
from neuromap.simulation.checkpoint.parts import Parts, read_parts
from neuromap.simulation.checkpoint.run_identity import RunIdentity, run_identity
from neuromap.simulation.run.host_feed import FedFrames
from neuromap.simulation.run.loaded import Loaded
from neuromap.simulation.run.recorder import Recorder, run_chunks
from neuromap.simulation.trace.recorded_run import Chunk
from neuromap.simulation.trace.recording import Recording

__all__ = ["resumable_chunks"]


def resumable_chunks(
    loaded: Loaded,
    frames: Mapping[str, NDArray[np.bool_]],
    recorder: Recorder,
    recording: Recording,
    checkpoints: Checkpoints,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[Chunk]:
    """Run all ticks, those before the checkpoint that the run goes on from excepted; these are read."""
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
                _write(loaded, recorder, writer, target, identity)

    return chunks()


def _write(
    loaded: Loaded, recorder: Recorder, writer: Parts | None, target: Path | None, identity: RunIdentity
) -> None:
    """Write a checkpoint: first the part that it names, then itself. All ranks tell their state, one writes."""
    state = loaded.chip.state
    if writer is not None and target is not None:
        writer.flush()
        save_checkpoint(target, Checkpoint(state, tuple(writer.checksums), recorder.counts), identity)
