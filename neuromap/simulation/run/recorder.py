"""Running ticks in chunks and keeping of each what a recording asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Engine, HostEvents, Spikes
from neuromap.simulation.run.host_feed import FedFrames
from neuromap.simulation.run.run_length import ticks_to_run
from neuromap.simulation.trace.recorded_run import Chunk
from neuromap.simulation.trace.recording import Recording, readout_of

__all__ = ["Recorder", "run_chunks"]

_CHUNK_VALUES = 2**24
"""Host rows times ticks, and potentials times ticks, in a chunk."""
_CHUNK_SPIKES = 2**22
"""Spikes that the watched neurons could fire in a chunk."""
_CHUNK_SECONDS = 0.1
"""What a chunk should take: an interrupt waits for its end, and so does the next news of progress."""


class Recorder:
    """Runs ticks of a program and keeps what is asked for."""

    # n_ticks: ticks to run: up to and with the last frame of the slowest node that is read out or recorded
    # neurons, potential_neurons: whose spikes and whose potentials are kept
    # counts: (C, N): spikes of every neuron so far, where they are asked for

    def __init__(self, program: ChipProgram, recording: Recording, n_frames: int) -> None:
        self.neurons = readout_of(program, recording.spikes)
        self.potential_neurons = readout_of(program, recording.potentials)
        self.counts = np.zeros(program.shape, dtype=np.int64) if recording.counts else None
        self._row_of = self.neurons.rows(program)
        self._watched = self._row_of >= 0 if self.counts is None else None
        self.n_ticks = ticks_to_run(program, n_frames, (*self.neurons.nodes, *self.potential_neurons.nodes))
        # Spikes of outputs are kept as far as they are without other nodes: these do not change what is said of them.
        self._outputs_end = ticks_to_run(program, n_frames)

    @property
    def n_watched(self) -> int:
        """Neurons whose spikes the engine hands out."""
        return len(self.neurons) if self.counts is None else self._row_of.size

    def go_on_from(self, counts: NDArray[np.int64] | None) -> None:
        """Count spikes on from those of a checkpoint."""
        if self.counts is None:
            return
        if counts is None or counts.shape != self.counts.shape:
            raise InputError("lacks the counts of spikes that are recorded; simulate from tick 0")
        self.counts[:] = counts

    def run(self, chip: Engine, events: HostEvents) -> Chunk:
        """Run some ticks on what the host feeds."""
        if len(self.potential_neurons):
            spikes, potentials = self._run_with_potentials(chip, events)
        else:
            spikes, potentials = chip.run(events, self._watched), np.zeros((events.n_ticks, 0), dtype=np.int32)
        if self.counts is not None:
            np.add.at(self.counts, (spikes.cores, spikes.neurons), 1)
        row = self._row_of[spikes.cores, spikes.neurons].astype(np.int64)
        tick, row = spikes.ticks[row >= 0], row[row >= 0]
        kept = (tick < self._outputs_end) | ~self.neurons.is_output[row]
        tick, row = tick[kept], row[kept]
        order = np.lexsort((row, tick))
        return Chunk(tick[order], row[order], potentials)

    def _run_with_potentials(self, chip: Engine, events: HostEvents) -> tuple[Spikes, NDArray[np.int32]]:
        """Run tick by tick and look at the potentials after each."""
        neurons = self.potential_neurons
        cores, position = np.unique(neurons.core, return_inverse=True)
        potentials = np.empty((events.n_ticks, len(neurons)), dtype=np.int32)
        parts = []
        for tick in range(events.n_ticks):
            a, b = events.start[tick : tick + 2].tolist()
            now = HostEvents(events.start[tick : tick + 2] - a, events.cores[a:b], events.axons[a:b])
            parts.append(chip.run(now, self._watched))
            potentials[tick] = chip.potentials_of(cores.astype(np.int64))[position, neurons.neuron]
        return Spikes(*(np.concatenate(column) for column in zip(*parts, strict=True))), potentials


def run_chunks(
    chip: Engine,
    fed: FedFrames,
    recorder: Recorder,
    progress: Callable[[int, int], object] | None = None,
    every: int | None = None,
    agree: Callable[[float], float] = float,
) -> Iterator[Chunk]:
    """Run all ticks; chunks grow as long as they are short, so that there is news a few times a second."""
    # agree: gives all ranks of a run the value of rank 0, so that their chunks are equally long
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
