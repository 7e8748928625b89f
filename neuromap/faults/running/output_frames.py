"""Output frames of a program with faults, for many stimuli."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.faults.effects.fault_model import Faults
from neuromap.faults.effects.struck_program import Count, Struck, strike
from neuromap.faults.running.lossy_run import LossyChip
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Spikes
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.run.batch_job import BatchJob
from neuromap.simulation.run.simulate_batch import simulate_batch
from neuromap.simulation.trace.recording import Recording

__all__ = ["StruckFrames", "frames_of", "output_frames", "struck_frames"]

Frames = dict[str, NDArray[np.bool_]]


class StruckFrames(NamedTuple):
    """What the outputs of a program with faults say."""

    program: ChipProgram  # with faults
    frames: Frames  # (S, n_frames, size): by output node
    counts: Mapping[str, Count]  # how much failed, by kind


def struck_frames(
    program: ChipProgram,
    faults: Faults,
    stimuli: Mapping[str, NDArray[np.bool_]],
    choice: EngineChoice = DEFAULT_ENGINE,
) -> StruckFrames:
    """Run stimuli through a program with faults, every one from the program's initial state.

    Parameters
    ----------
    program : ChipProgram
        Without faults.
    faults : Faults
        What strikes it.
    stimuli : mapping of str to ndarray of bool, shape (S, n_frames, size)
        Input frames by input node.
    choice : EngineChoice
        What runs the ticks.

    Returns
    -------
    StruckFrames

    Raises
    ------
    StimulusError
        If the stimuli do not match the program's input nodes.
    ProgramError
        If the program has no output node, or its tables point outside it.
    """
    return frames_of(strike(program, faults), faults, stimuli, choice)


def frames_of(
    struck: Struck, faults: Faults, stimuli: Mapping[str, NDArray[np.bool_]], choice: EngineChoice = DEFAULT_ENGINE
) -> StruckFrames:
    """Run stimuli through a program that faults have struck; see :func:`struck_frames`."""
    if not faults.rate("dropped-spikes"):
        return StruckFrames(struck.program, output_frames(struck.program, stimuli, choice), struck.counts)
    frames, dropped = _lossy_frames(struck.program, faults, stimuli, choice)
    return StruckFrames(struck.program, frames, {**struck.counts, "dropped-spikes": dropped})


def output_frames(
    program: ChipProgram, stimuli: Mapping[str, NDArray[np.bool_]], choice: EngineChoice = DEFAULT_ENGINE
) -> Frames:
    """Run stimuli through a program as it is; see :func:`struck_frames`."""
    batch = simulate_batch(program, stimuli, engine=choice.engine, threads=choice.threads, noise_seed=choice.noise_seed)
    return {port.name: batch.frames(port.name) for port in batch.nodes}


def _lossy_frames(
    program: ChipProgram, faults: Faults, stimuli: Mapping[str, NDArray[np.bool_]], choice: EngineChoice
) -> tuple[Frames, Count]:
    job = BatchJob.of(program, Recording(), keep_frames=True)
    chip = LossyChip(program, faults, replace(choice, threads=1))  # a tick of a few cores is no work for several
    n_stimuli, n_frames = next(iter(stimuli.values())).shape[:2]
    n_ticks, watched, lost, sent = job.n_ticks(n_frames), [], 0, 0
    for k in range(n_stimuli):
        mine = {name: rows[k : k + 1] for name, rows in stimuli.items()}
        run = chip.run(job.feed.events(mine, n_frames, 0, n_ticks), k)
        here = job.watched[run.spikes.cores, run.spikes.neurons]
        ticks, cores, neurons = (column[here] for column in run.spikes)
        watched.append(Spikes(ticks + k * n_ticks, cores, neurons))
        lost, sent = lost + run.dropped.struck, sent + run.dropped.at_risk
    table = job.part(watched, n_stimuli, n_frames).frames
    ends = np.cumsum([port.size for port in job.neurons.nodes])[:-1]
    parts = [] if table is None else np.split(table, ends, axis=2)
    return dict(zip((port.name for port in job.neurons.nodes), parts, strict=True)), Count(lost, sent)
