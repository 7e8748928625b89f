"""The fast engine for the synapse lists of one rank, which shares memory with other ranks."""

from __future__ import annotations

import numpy as np

from neuromap.cores.synapse_list.list_fast_engine import ListFastEngine
from neuromap.cores.synapse_list.list_kernel.list_image import first_list_cores, make_list_image
from neuromap.cores.synapse_list.program import ListProgram
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.mpi.rank_engine import Exchange, RemoteWires
from neuromap.simulation.mpi.shared_engines import Meeting, SharedRuns, shared_boxes, started, targets


class _SharedListEngine(SharedRuns, ListFastEngine):
    """The fast engine for the synapse lists of one rank."""


def make_shared_engine(
    program: ListProgram, wires: RemoteWires, exchange: Exchange, choice: EngineChoice
) -> Engine | None:
    """Load the program of a rank's cores; all ranks call this."""
    # None if the ranks share no memory
    first = first_list_cores(program.n_cores, choice.n_threads)
    meeting = Meeting.of(exchange, wires, program.chip.delay[0], first, block=1)
    words = [np.append(0, np.cumsum(-(-count // 64))) for count in exchange.share(program.axon_counts)]
    bit = wires.axon.copy()
    for peer, word in enumerate(words):
        some = wires.peer == peer
        bit[some] += 64 * word[wires.core[some]]
    lists = make_list_image(program, targets(meeting, wires, bit))
    boxes = shared_boxes(exchange, meeting, wires, program.chip.neurons, np.int64, 1 << 40)
    return started(_SharedListEngine, program, boxes, lists, choice)
