"""The fast engine for the synapse lists of one rank, which shares memory with other ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from neuromap.cores.synapse_list.list_fast_engine import ListFastEngine
from neuromap.cores.synapse_list.list_kernel.list_image import (
    first_list_cores,
    make_list_image,
    make_list_team,
    put_reached,
)
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.simulation.engine.engine import EngineState
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.mpi.rank_engine import Exchange, RemoteWires
from neuromap.simulation.mpi.shared_engines import Meeting, SharedRuns, shared_boxes, started, targets


class _SharedListEngine(SharedRuns, ListFastEngine):
    """The fast engine for the synapse lists of one rank."""

    def _teams(self, threads: int) -> Any:
        team = make_list_team(self._image, threads, self._boxes.remote())
        return team, team

    def restore(self, state: EngineState) -> None:
        """Continue from a state of these cores."""
        super().restore(replace(state, spikes=state.spikes[:0]))
        put_reached(self._image, self._state, state.spikes)


def make_shared_engine(
    program: ListProgram, wires: RemoteWires, exchange: Exchange, choice: EngineChoice
) -> _SharedListEngine | None:
    """Load the program of a rank's cores; all ranks call this."""
    # None if the ranks share no memory
    threads = choice.n_threads
    first = first_list_cores(program.n_cores, threads)
    meeting = Meeting.of(exchange, wires, program.chip.delay[0], first, block=1)
    words = [np.append(0, np.cumsum(-(-count // 64))) for count in exchange.share(program.axon_counts)]
    bit = wires.axon.copy()
    for peer, word in enumerate(words):
        some = wires.peer == peer
        bit[some] += 64 * word[wires.core[some]]
    lists = make_list_image(program, targets(meeting, wires, bit))
    boxes = shared_boxes(exchange, meeting, wires, program.chip.neurons, np.int64, 1 << 40)
    return None if boxes is None else started(_SharedListEngine, program, boxes, lists, threads)
