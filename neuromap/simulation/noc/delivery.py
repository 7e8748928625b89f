"""What the mesh delivers: the axons at which the spikes of a tick end up, and when they are due there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.noc.arrival_events import MeshEvents
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.mesh import Mesh, ways_of
from neuromap.simulation.run.tick_run import TickSpikes

__all__ = ["delivered"]


def delivered(program: ChipProgram, spikes: TickSpikes) -> NDArray[np.int64]:
    """Send the spikes of a tick through the mesh, and list what the cores receive."""
    # The core is the one at the router where the event simulation gives a spike out; so the list is equal to what an
    # engine of crossbar cores has under way (:attr:`neuromap.simulation.engine.engine.Engine.pending`) if both agree.
    # gives sorted rows (tick in which it is due, core, axon), each once: two spikes for one axon and tick are one. Core
    # -1 where a spike ends at a router that has no core of the program
    # shapes: returns (n, 3)
    mesh = Mesh.of(program.chip)
    sent = program.sent_by(spikes.cores, spikes.neurons)
    events = MeshEvents(mesh, RouterClock.of(program.chip))
    events.send(ways_of(program, spikes.cores[sent.spike], sent.core), 0)
    arrivals = events.run()
    core_at = np.full((mesh.rows, mesh.columns), -1, np.int64)
    core_at[program.coordinates[:, 1], program.coordinates[:, 0]] = np.arange(program.n_cores)
    due = spikes.tick + sent.delay[arrivals.spikes]
    axon = sent.axon[arrivals.spikes]
    return np.unique(np.column_stack([due, core_at[arrivals.y, arrivals.x], axon]), axis=0)
