"""Output frames of a program with faults, for many stimuli."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import InputError
from neuromap.faults.edited_program import Count, Struck, draws, fails, strike, without_ways
from neuromap.faults.options import KINDS, Faults
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import HostEvents, Sent, joined, make_engine, sent_of, values_of
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.engine.numpy_engine import core_numbers
from neuromap.simulation.run.simulate_batch import BatchJob, simulate_batch
from neuromap.simulation.trace.recording import Recording

Frames = Mapping[str, NDArray[Any]]
# Kinds of faults that do not change the program: they affect spikes in flight.
ON_THE_WAY = ("dropped-spikes", "flipped-payloads")


class StruckFrames(NamedTuple):
    """Output frames of a program with faults."""

    program: ChipProgram  # with faults
    frames: Frames  # (S, n_frames, size): by output node; bool, or int32 for graded ones
    counts: Mapping[str, Count]  # number of failures, by kind


def struck_frames(
    program: ChipProgram,
    faults: Faults,
    stimuli: Mapping[str, NDArray[Any]],
    choice: EngineChoice = DEFAULT_ENGINE,
) -> StruckFrames:
    """Run stimuli through a program with faults, each from the program's initial state.

    Parameters
    ----------
    program : ChipProgram
        Program without faults.
    faults : Faults
        Faults to apply.
    stimuli : mapping of str to ndarray of bool, shape (S, n_frames, size)
        Input frames by input node.
    choice : EngineChoice
        Engine that runs the ticks.

    Returns
    -------
    StruckFrames

    Raises
    ------
    StimulusError
        If the stimuli do not match the program's input nodes.
    ProgramError
        If the program has no output node, or its tables point out of range.
    """
    return frames_of(strike(program, faults), faults, stimuli, choice)


def frames_of(struck: Struck, faults: Faults, stimuli: Frames, choice: EngineChoice = DEFAULT_ENGINE) -> StruckFrames:
    """Run stimuli through a program to which faults were applied; see :func:`struck_frames`."""
    if "flipped-payloads" in faults.rates and struck.program.value_ranges is None:
        raise InputError(
            f"faults: flipped-payloads: program {struck.program.name} sends spikes, which carry nothing; choose of "
            f"{', '.join(KINDS)}"
        )
    if faults.rates.keys().isdisjoint(ON_THE_WAY):
        return StruckFrames(struck.program, output_frames(struck.program, stimuli, choice), struck.counts)
    frames, counts = _lossy_frames(struck.program, faults, stimuli, choice)
    return StruckFrames(struck.program, frames, {**struck.counts, **counts})


def output_frames(program: ChipProgram, stimuli: Frames, choice: EngineChoice = DEFAULT_ENGINE) -> Frames:
    """Run stimuli through a program unchanged; see :func:`struck_frames`."""
    batch = simulate_batch(program, stimuli, engine=choice.engine, threads=choice.threads, noise_seed=choice.noise_seed)
    return {port.name: batch.frames(port.name) for port in batch.nodes}


def _lossy_frames(
    program: ChipProgram, faults: Faults, stimuli: Mapping[str, NDArray[Any]], choice: EngineChoice
) -> tuple[Frames, dict[str, Count]]:
    job = BatchJob.of(program, Recording(), keep_frames=True)
    chip = LossyChip(program, faults, replace(choice, threads=1))  # one tick is too little work for several
    n_stimuli, n_frames = next(iter(stimuli.values())).shape[:2]
    n_ticks, watched = job.n_ticks(n_frames), list[Sent]()
    counts = {kind: Count(0, 0) for kind in ON_THE_WAY if kind in faults.rates}
    for k in range(n_stimuli):
        shown = {name: rows[k : k + 1] for name, rows in stimuli.items()}
        run = chip.run(job.feed.events(shown, n_frames, 0, n_ticks), k)
        mine = job.watched[run.spikes.cores, run.spikes.neurons]
        ticks, *columns = (column[mine] for column in run.spikes)
        watched.append(sent_of(ticks + k * n_ticks, *columns))
        here = {"dropped-spikes": run.dropped, "flipped-payloads": run.flipped}
        counts = {kind: Count(*map(sum, zip(count, here[kind], strict=True))) for kind, count in counts.items()}
    table = job.part(watched, n_stimuli, n_frames).frames
    ends = np.cumsum([port.size for port in job.neurons.nodes])[:-1]
    parts = [] if table is None else np.split(table, ends, axis=2)
    return dict(zip((port.name for port in job.neurons.nodes), parts, strict=True)), counts


# Runs in which spikes are lost in flight or carry a changed value: exact on every engine and all kinds of cores.
#
# The engine runs the program without its targets, tick by tick, and this module delivers the spikes. A spike is fed
# into its axon like one of the host, in the tick in which it is due, so a run without losses equals that of the engine
# alone, bit by bit. This costs one call of the engine per tick.


class LossyRun(NamedTuple):
    """Run of a chip that loses or changes spikes."""

    spikes: Sent  # all neurons that fired
    # lost spikes, and messages with a flipped bit, of those sent: one for every target of a neuron that fired
    dropped: Count
    flipped: Count


class LossyChip:
    """A chip that loses each spike, or changes each message, with the same probability."""

    def __init__(self, program: ChipProgram, faults: Faults, choice: EngineChoice = DEFAULT_ENGINE) -> None:
        self._program, self._faults = program, faults
        self._engine = make_engine(without_ways(program, np.ones(len(program.wires.core), np.bool_)), choice)
        self._places = core_numbers(program)
        self._noise_seed = choice.noise_seed

    def run(self, events: HostEvents, stimulus: int = 0) -> LossyRun:
        """Run from tick 0 on."""
        self._engine.reset((self._noise_seed + stimulus) % 2**64)
        due: dict[int, list[tuple[NDArray[Any], ...]]] = defaultdict(list)
        found: list[Sent] = []
        lost = flipped = at_risk = 0
        for tick in range(events.n_ticks):
            now = events.of_ticks(tick, 1)
            columns = (now.cores, now.axons, *([] if now.values is None else [now.values]))
            arriving = [columns, *due.pop(tick, ())] if len(now.cores) else due.pop(tick, [columns])
            fed = HostEvents.of_tick(*(np.concatenate(column) for column in zip(*arriving, strict=True)))
            found.append(sent := self._engine.run(fed))
            ways, values = self._program.sent_by(sent.cores, sent.neurons), values_of(sent)
            places = self._places[sent.cores[ways.spike]], sent.neurons[ways.spike], self._places[ways.core], ways.axon
            kept = ~fails(self._faults, "dropped-spikes", stimulus, tick, *places)
            lost += len(kept) - int(kept.sum())
            carried: list[NDArray[Any]] = []
            if values is not None:
                failed = fails(self._faults, "flipped-payloads", stimulus, tick, *places)
                bits = draws(self._faults.seed, "flipped-payloads", stimulus, tick, *places, 1)
                carried = [np.where(failed, self._flipped(sent, ways.spike, values, bits), values[ways.spike])]
                flipped += int(failed.sum())
                kept &= carried[0] != 0
            at_risk += len(kept)
            for delay in np.unique(ways.delay[kept]).tolist():
                here = kept & (ways.delay == delay)
                due[tick + delay].append(tuple(column[here] for column in (ways.core, ways.axon, *carried)))
        spikes = joined(found) if found else self._engine.run(HostEvents.none(0))
        return LossyRun(spikes, Count(lost, at_risk), Count(flipped, at_risk))

    def _flipped(self, sent: Sent, way: Ints, values: Ints, drawn: Floats) -> Ints:
        """Return the value of every message with one bit flipped, chosen by a number from 0 to 1."""
        # Bits are those that the neuron's range of values needs, in two's complement if it has negative ones; results
        # are clipped to the range.
        arriving = values[way]
        units = self._program.units  # type: ignore[attr-defined] # programs with values have it
        low, high = (bound[sent.cores[way], sent.neurons[way]].astype(np.int64) for bound in (units.low, units.high))
        most = np.maximum(high, -1 - low)
        n_bits = np.ceil(np.log2(most + 1)).astype(np.int64) + (low < 0)
        bit = (drawn * n_bits).astype(np.int64)
        is_sign = (bit == n_bits - 1) & (low < 0)
        width = np.where(is_sign, np.int64(1) << bit, 0)
        other = np.where(is_sign, arriving + np.where(arriving < 0, width, -width), arriving ^ (np.int64(1) << bit))
        clipped: Ints = other.clip(low, high)
        return clipped
