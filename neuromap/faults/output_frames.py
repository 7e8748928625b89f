"""Output frames of a program with faults, for many stimuli."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from neuromap.arrays.array_types import Bools, Ints
from neuromap.faults.options import Faults
from neuromap.faults.struck_program import Count, Struck, fails, strike, without_ways
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import HostEvents, Spikes
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.engine.noise import core_numbers
from neuromap.simulation.run.simulate_batch import BatchJob, simulate_batch
from neuromap.simulation.trace.recording import Recording

Frames = dict[str, Bools]


class StruckFrames(NamedTuple):
    """What the outputs of a program with faults say."""

    program: ChipProgram  # with faults
    frames: Frames  # (S, n_frames, size): by output node
    counts: Mapping[str, Count]  # how much failed, by kind


def struck_frames(
    program: ChipProgram,
    faults: Faults,
    stimuli: Mapping[str, Bools],
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
    struck: Struck, faults: Faults, stimuli: Mapping[str, Bools], choice: EngineChoice = DEFAULT_ENGINE
) -> StruckFrames:
    """Run stimuli through a program that faults have struck; see :func:`struck_frames`."""
    if not faults.rate("dropped-spikes"):
        return StruckFrames(struck.program, output_frames(struck.program, stimuli, choice), struck.counts)
    frames, dropped = _lossy_frames(struck.program, faults, stimuli, choice)
    return StruckFrames(struck.program, frames, {**struck.counts, "dropped-spikes": dropped})


def output_frames(program: ChipProgram, stimuli: Mapping[str, Bools], choice: EngineChoice = DEFAULT_ENGINE) -> Frames:
    """Run stimuli through a program as it is; see :func:`struck_frames`."""
    batch = simulate_batch(program, stimuli, engine=choice.engine, threads=choice.threads, noise_seed=choice.noise_seed)
    return {port.name: batch.frames(port.name) for port in batch.nodes}


def _lossy_frames(
    program: ChipProgram, faults: Faults, stimuli: Mapping[str, Bools], choice: EngineChoice
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


# Runs in which spikes are lost on their way: exact on every engine, and on both kinds of cores.
#
# The engine runs the program without its ways, tick by tick; what carries spikes from tick to tick is here. A spike
# that arrives is fed into its axon as the host would feed it, in the tick in which it is due, so that a run without
# losses is that of the engine alone, bit by bit. It costs a call of the engine for every tick.


_NONE = np.zeros(0, np.int64)


class LossyRun(NamedTuple):
    """What a chip that loses spikes does."""

    spikes: Spikes  # all neurons that fired
    dropped: Count  # spikes that were lost, of those that were sent: one for every target of a neuron that fired


class LossyChip:
    """A chip that loses every spike with the same probability."""

    def __init__(self, program: ChipProgram, faults: Faults, choice: EngineChoice = DEFAULT_ENGINE) -> None:
        self._program, self._faults = program, faults
        self._engine = make_engine(without_ways(program, np.ones(len(program.wires.core), np.bool_)), choice)
        self._places = core_numbers(program)
        self._noise_seed = choice.noise_seed

    def run(self, events: HostEvents, stimulus: int = 0) -> LossyRun:
        """Run from tick 0 on."""
        self._engine.reset((self._noise_seed + stimulus) % 2**64)
        due: dict[int, list[tuple[Ints, Ints]]] = defaultdict(list)
        fired = [(_NONE, _NONE, _NONE)]
        lost = sent = 0
        for tick in range(events.n_ticks):
            mine = slice(events.start[tick], events.start[tick + 1])
            arriving = [(events.cores[mine], events.axons[mine]), *due.pop(tick, ())]
            cores, neurons = self._engine.step(*(np.concatenate(column) for column in zip(*arriving, strict=True)))
            fired.append((np.full(len(cores), tick, np.int64), cores, neurons))
            ways = self._program.sent_by(cores, neurons)
            places = self._places[cores[ways.spike]], neurons[ways.spike], self._places[ways.core], ways.axon
            gone = fails(self._faults, "dropped-spikes", stimulus, tick, *places)
            lost, sent = lost + int(gone.sum()), sent + len(gone)
            for delay in np.unique(ways.delay[~gone]).tolist():
                here = ~gone & (ways.delay == delay)
                due[tick + delay].append((ways.core[here], ways.axon[here]))
        return LossyRun(Spikes(*map(np.concatenate, zip(*fired, strict=True))), Count(lost, sent))
