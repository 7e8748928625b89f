"""The fast engine for the crossbars of one rank, which shares memory with other ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.engine import EngineState
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.memory_layout import make_image, put_spikes
from neuromap.simulation.engine.kernel.team import first_cores, make_team
from neuromap.simulation.mpi.rank_engine import Exchange, RemoteWires
from neuromap.simulation.mpi.shared_engines import Meeting, SharedRuns, shared_boxes, started, targets


class _SharedFastEngine(SharedRuns, FastEngine):
    """The fast engine for the crossbars of one rank."""

    def _teams(self, threads: int) -> Any:
        team = self._workers(make_team(self._image, threads, self._boxes.remote()))
        return team, team

    def restore(self, state: EngineState) -> None:
        """Continue from a state of these cores; spikes of other ranks may be under way longer than any of their own."""
        super().restore(replace(state, spikes=state.spikes[:0]))
        put_spikes(self._image, self._state, state.spikes)


def make_shared_engine(
    program: Program, wires: RemoteWires, exchange: Exchange, choice: EngineChoice
) -> _SharedFastEngine | None:
    """Load the program of a rank's cores; all ranks call this."""
    # None if the ranks share no memory
    threads = choice.n_threads
    first = first_cores(program.n_cores, threads)
    delay = np.append(program.delay.reshape(-1), wires.delay).max(initial=0)
    meeting = Meeting.of(exchange, wires, int(delay), first, block=64)
    image = make_image(program, targets(meeting, wires, wires.axon))
    per_core = 1 << (image.shape.axon_bits + image.shape.slot_bits)
    boxes = shared_boxes(exchange, meeting, wires, program.chip.neurons, image.target.dtype, per_core)
    return None if boxes is None else started(_SharedFastEngine, program, boxes, image, threads, choice.noise_seed)
