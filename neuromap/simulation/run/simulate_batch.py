"""Many stimuli through one program: one stimulus per thread, what is only read is shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from neuromap.errors import InputError, StimulusError
from neuromap.files.given import needs, refuse_swapped
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.run.batch_job import BatchJob, BatchPart
from neuromap.simulation.run.batch_threads import run_parts
from neuromap.simulation.run.chips import Chips
from neuromap.simulation.trace.batch import Batch
from neuromap.simulation.trace.recording import Recording

__all__ = ["simulate_batch"]

_MAX_BYTES = 2**31
"""Memory that the recorded frames of a batch may take."""


def simulate_batch(
    program: ChipProgram,
    stimuli: Mapping[str, ArrayLike] | Iterable[Mapping[str, ArrayLike]],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    record: Recording | None = None,
    keep: str = "frames",
    progress: Callable[[int, int], object] | None = None,
    bit_slicing: bool | None = None,
) -> Batch:
    """Run many stimuli through a program, every one from the program's initial state.

    Stimulus s gives exactly what ``simulate(program, stimulus, noise_seed=noise_seed + s)`` gives, for every
    number of threads.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    stimuli : mapping of str to array_like, shape (S, n_frames, size), or iterable of such mappings
        Input frames for every input node, Boolean or 0 and 1. An iterable gives them in portions, of any number of
        stimuli each, that are taken when they are needed and let go when they are done.
    engine : {"fast", "numpy"}
        What runs the ticks; the result is the same.
    threads : int, optional
        Stimuli that run at the same time; by default one for every core of the machine that may be used.
    noise_seed : int
        Seed of the neurons' stochastic modes for the first stimulus; the others take the numbers that follow (after
        2**64 - 1 comes 0).
    record : Recording, optional
        Nodes whose frames are kept; by default the outputs. A batch keeps no cores, potentials or counts of all
        neurons.
    keep : {"frames", "counts"}
        Whether frames are kept, one byte per stimulus, frame and neuron, or only their sums over frames.
    progress : callable, optional
        Called as ``progress(stimuli done, stimuli known so far)``.
    bit_slicing : bool, optional
        Whether the fast engine takes stimuli side by side, a bit for each, on cores where it can
        (``docs/fast-engine.md``); by default where that is quicker. The result is the same.

    Returns
    -------
    Batch
        Stimuli in the order given.

    Raises
    ------
    StimulusError
        If stimuli do not match the program's input nodes, differ in their number of frames, or there are none.
    InputError
        If there is no such engine or node, a number is out of range, the recording asks for more than nodes, or the
        frames would take more than 2 GiB.
    ProgramError
        If the program has no output node, or its tables point outside it.
    """
    refuse_swapped("simulate_batch(program, stimuli)", program, ChipProgram, stimuli)
    needs("simulate_batch", program, ChipProgram)
    if record is not None:
        needs("simulate_batch: record", record, Recording)
    if not isinstance(stimuli, Iterable):
        raise StimulusError(f"stimuli: found {type(stimuli).__name__}; give a mapping or a sequence of mappings")
    choice = EngineChoice(engine, threads, noise_seed, bit_slicing)
    if keep not in ("frames", "counts"):
        raise InputError(f"keep {keep!r}: must be 'frames' or 'counts'")
    job = BatchJob.of(program, Recording() if record is None else record, keep == "frames")
    chips = Chips(program, choice)
    portions = [stimuli] if isinstance(stimuli, Mapping) else stimuli

    found: list[BatchPart] = []
    n_bytes = done = n_frames = 0
    for part, known, n_frames in run_parts(job, chips, portions, choice.n_threads):  # noqa: B007
        found.append(part)
        done += len(part.counts)
        n_bytes += 0 if part.frames is None else part.frames.nbytes
        if n_bytes > _MAX_BYTES:
            raise InputError(
                f"batch: frames of {counted(done, 'stimulus', 'stimuli')} take {n_bytes / 2**30:.1f} GiB; at "
                f"most {_MAX_BYTES >> 30} are held "
                'in memory, give fewer stimuli at once or keep="counts"'
            )
        if progress is not None:
            progress(done, known)
    kept = [part.frames for part in found if part.frames is not None]
    return Batch(
        name=program.name,
        pattern=program.pattern,
        execution=program.execution,
        nodes=job.neurons.nodes,
        period=program.period,
        n_frames=n_frames,
        n_ticks=job.n_ticks(n_frames),
        spikes_by_frame=np.concatenate(kept) if kept else None,
        spike_counts=np.concatenate([part.counts for part in found]),
        stray_counts=np.concatenate([part.strays for part in found]),
    )
