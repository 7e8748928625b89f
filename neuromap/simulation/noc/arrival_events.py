"""Event simulation of the mesh: when and where every spike arrives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NotSupportedError
from neuromap.simulation.noc.clock import RouterClock
from neuromap.simulation.noc.mesh import Mesh, Ways

__all__ = ["Arrivals", "MeshEvents", "simulate_arrivals"]

Ints = NDArray[np.int64]
_NEVER = 2**62


class Arrivals(NamedTuple):
    """Spikes that have arrived, in the order in which they were sent; ndarrays of int64, shape (n,)."""

    spikes: Ints  # their numbers: spikes are numbered from 0 in the order in which they are sent
    cycles: Ints  # cycle at whose end each has reached its core, counted from cycle 0 of the simulation
    # x, y: where it has arrived
    x: Ints
    y: Ints


class MeshEvents:
    """The mesh with its spikes under way: a spike is served when it is ready."""

    # On each link in the order of readiness.
    # Of spikes that are ready in the same cycle, the one that was sent first comes first; so the result is a function
    # of what is sent, and of nothing else.

    def __init__(self, mesh: Mesh, clock: RouterClock) -> None:
        from neuromap.simulation.noc.arrival_kernel import compiled

        self._advance = compiled()
        self._sizes = mesh.columns, mesh.rows, mesh.chip_columns, mesh.chip_rows
        self._times = clock.hop_cycles, clock.crossing_cycles, clock.port_cycles or 0
        chip_rows, chip_columns = mesh.chips
        self._free = np.zeros(6 * mesh.rows * mesh.columns + chip_rows * chip_columns, np.int64)
        self._sent = 0
        self._number = np.zeros(0, np.int64)
        self._ready = np.zeros(0, np.int64)
        self._state = np.zeros((0, 8), np.int32)  # as the kernel wants it; 32 bytes, so that a row is in one cache line

    @property
    def oldest(self) -> int:
        """Number of the first spike that has not arrived, or of the next to be sent."""
        return int(self._number[0]) if len(self._number) else self._sent

    def send(self, ways: Ways, cycle: int) -> Ints:
        """Release spikes at the start of a cycle; return their numbers, shape (n,)."""
        n = len(ways.x)
        numbers = np.arange(self._sent, self._sent + n)
        self._sent += n
        self._number = np.concatenate([self._number, numbers])
        self._ready = np.concatenate([self._ready, np.full(n, cycle, np.int64)])
        state = np.zeros((n, 8), np.int32)
        for column, values in enumerate(ways):
            state[:, column] = values
        self._state = np.concatenate([self._state, state])
        return numbers

    def run(self, until: int | None = None) -> Arrivals:
        """Serve every link up to a cycle, or until all have arrived."""
        from neuromap.compiling.announcement import announced

        n = len(self._number)
        bits = max(1, n.bit_length())
        self._require_room(n, bits)
        heap = np.sort((self._ready << bits) | np.arange(n))  # an array in order is a heap
        arrival = np.full(n, -1, np.int64)
        end = _NEVER if until is None else until
        with announced("the network-on-chip for this processor"):
            left = self._advance(heap, n, bits, end, self._state, arrival, self._free, self._sizes, self._times)
        waiting = heap[:left]
        self._ready[waiting & ((1 << bits) - 1)] = waiting >> bits
        there = arrival >= 0
        x, y = self._state[there, :2].astype(np.int64).T
        result = Arrivals(self._number[there], arrival[there], x, y)
        kept = ~there
        self._number, self._ready, self._state = self._number[kept], self._ready[kept], self._state[kept]
        return result

    def _require_room(self, n: int, bits: int) -> None:
        """Refuse what could overflow: a spike takes all its links, and at each waits for all others at most."""
        columns, rows, chip_columns, chip_rows = self._sizes
        hop, crossing, port = self._times
        links, ports = columns + rows + 2, 2 * (columns // chip_columns + rows // chip_rows + 2)
        latest = int(self._ready.max(initial=0)) + links * (max(hop, crossing) + n) + ports * port * (n + 1)
        if latest.bit_length() + bits > 62:
            raise NotSupportedError(
                f"network-on-chip: {n} spikes under way may take until router cycle {latest}; "
                f"with so many, the event simulation goes to cycle {2 ** (62 - bits) - 1}"
            )


def simulate_arrivals(mesh: Mesh, clock: RouterClock, ways: Ways) -> Ints:
    """Cycles in which spikes arrive that are released together into an empty mesh."""
    # shapes: returns (n,)
    events = MeshEvents(mesh, clock)
    events.send(ways, 0)
    return events.run().cycles
