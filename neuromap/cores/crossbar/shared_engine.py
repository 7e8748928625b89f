"""The fast engine for the crossbars of one rank, which shares memory with other ranks."""

from __future__ import annotations

import numpy as np

from neuromap.cores.crossbar.program import Program
from neuromap.simulation.engine.engine import Engine
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.memory_layout import make_image
from neuromap.simulation.engine.kernel.team import first_cores
from neuromap.simulation.mpi.rank_engine import Exchange, RemoteWires
from neuromap.simulation.mpi.shared_engines import Meeting, SharedRuns, shared_boxes, started, targets


class _SharedFastEngine(SharedRuns, FastEngine):
    """The fast engine for the crossbars of one rank."""


def make_shared_engine(program: Program, wires: RemoteWires, exchange: Exchange, choice: EngineChoice) -> Engine | None:
    """Load the program of a rank's cores; all ranks call this."""
    # None if the ranks share no memory
    first = first_cores(program.n_cores, choice.n_threads)
    delay = np.append(program.delay.reshape(-1), wires.delay).max(initial=0)
    meeting = Meeting.of(exchange, wires, int(delay), first, block=64)
    image = make_image(program, targets(meeting, wires, wires.axon))
    per_core = 1 << (image.shape.axon_bits + image.shape.slot_bits)
    boxes = shared_boxes(exchange, meeting, wires, program.chip.neurons, image.target.dtype, per_core)
    return started(_SharedFastEngine, program, boxes, image, choice)
