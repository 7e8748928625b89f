"""How long the ticks of a run take, where a tick lasts as long as its slowest core and a barrier.

In a tick a core accesses its neurons in use one after the other, computes the active ones, and sends the spikes of
those that fire to every core that reads them; each is on its way at once. At the same time the core works through what
comes in, first come first served: what a spike of tick t sets off belongs to tick t, though neurons add it later. The
tick ends with the last core; then comes the barrier. ``docs/timed-ticks.md`` has the formulas and proves the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.packed_rows import rank_in_run
from neuromap.errors import InputError
from neuromap.hardware.chip.tick_costs import TickCosts, tick_costs
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.render.numbers import seconds
from neuromap.render.value import Card
from neuromap.simulation.run.tick_run import TickSpikes

if TYPE_CHECKING:
    from neuromap.simulation.cost.tick_kernel import ClockState, ClockTables

_FEMTO = 1e-15


@dataclass(frozen=True, eq=False)
class TickTimes(Card):
    """Seconds of every tick of a run (T ticks), and what the cores (C of them) were busy with.

    Attributes
    ----------
    seconds : ndarray of float64, shape (T,)
        Each tick in the event simulation, its barrier included.
    bound : ndarray of float64, shape (T,)
        At most so long, by counts of what every block of neurons sends to every core; barrier included.
    least : ndarray of float64, shape (T,)
        At least so long: the most that one core sends, or takes in, and the barrier.
    barrier : float
        Seconds of it, the same in every tick.
    sending, receiving : ndarray of float64, shape (C,)
        Seconds that every core works, summed over the ticks.
    critical : ndarray of int64, shape (C,)
        Ticks that each core ended, as the last one.
    active, fired, arrivals : int
        Neurons that were active and that fired, and spikes that came into a core, summed over the ticks.
    """

    seconds: Floats
    bound: Floats
    least: Floats
    barrier: float
    sending: Floats
    receiving: Floats
    critical: Ints
    active: int
    fired: int
    arrivals: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.seconds)

    def _facts(self) -> dict[str, object]:
        if not len(self):
            return {"ticks": 0}
        return {
            "ticks": len(self),
            "mean tick": seconds(float(self.seconds.mean())),
            "longest tick": seconds(float(self.seconds.max())),
            "barrier": seconds(self.barrier),
            "bound": f"{self.bound.sum() / (self.seconds.sum() or 1.0) - bool(self.seconds.any()):.1%} above",
        }


def tick_clock(program: ChipProgram) -> TickClock | None:
    """Make the clock of a program's chip; None where ticks are of fixed length."""
    costs = tick_costs(program.chip)
    return None if costs is None else TickClock(program, costs)


class TickClock:
    """Times the ticks of a run, one by one."""

    def __init__(self, program: ChipProgram, costs: TickCosts) -> None:
        self._program = program
        self._costs = costs.whole(_FEMTO)
        routers = program.coordinates // np.array(program.chip.tile)
        self._barrier = costs.barrier_of(len(np.unique(routers, axis=0)))
        self._first_axon = np.append(0, np.cumsum(program.axon_counts)).astype(np.int64)
        self._tables, self._state = _tables(program, self._first_axon), _state(program)
        self._fired = np.zeros(math.prod(program.shape), np.uint8)
        self._tick = self._n_active = self._n_fired = self._n_arrivals = 0
        self._times: list[tuple[int, int, int]] = []

    def add(self, spikes: TickSpikes) -> None:
        """Time one tick."""
        from neuromap.simulation.cost.tick_kernel import clock_kernel  # Numba is slow to import

        if spikes.held is None:
            raise InputError("ticks: are timed of a run that hands out what neurons hold; run it with holding=True")
        numbers = spikes.cores * self._program.shape[1] + spikes.neurons
        host = self._first_axon[spikes.host_cores] + spikes.host_axons
        host = np.unique(host)  # two spikes on one axon in one tick are one
        room = len(self._tables.target) + len(host)
        if room > len(self._state.to):
            to, work, when, latest = (np.zeros(room, np.int64) for _ in range(4))
            self._state = self._state._replace(to=to, work=work, when=when, latest=latest)
        self._fired[numbers] = 1
        done, bound, least, active, sent = clock_kernel()(
            self._tables, self._state, spikes.held.ravel().view(np.uint8), self._fired, host, self._tick, self._costs
        )
        self._fired[numbers] = 0
        self._tick += 1
        self._times.append((done, bound, least))
        self._n_active += active
        self._n_fired += len(numbers)
        self._n_arrivals += sent + len(host)

    def follow(self, before: Sequence[TickSpikes]) -> None:
        """Begin another stretch of ticks, with what the ticks just before it have under way; they are not counted."""
        self._state = _state(self._program)
        kept = self._times, self._n_active, self._n_fired, self._n_arrivals
        self._times = []
        for spikes in before:
            self.add(spikes)
        self._state.sent[:] = self._state.received[:] = self._state.critical[:] = 0
        self._times, self._n_active, self._n_fired, self._n_arrivals = kept

    def result(self) -> TickTimes:
        """Give what was timed so far."""
        done, bound, least = np.array(self._times, np.int64).reshape(-1, 3).T * _FEMTO + self._barrier
        return TickTimes(
            done,
            bound,
            least,
            self._barrier,
            (self._state.sent * _FEMTO).astype(np.float64),
            (self._state.received * _FEMTO).astype(np.float64),
            self._state.critical.copy(),
            self._n_active,
            self._n_fired,
            self._n_arrivals,
        )


def _tables(program: ChipProgram, first_axon: Ints) -> ClockTables:
    from neuromap.simulation.cost.tick_kernel import ClockTables

    n_cores, n_neurons = program.shape
    used = program.neurons_in_use
    wires = program.wires
    of_axon = np.repeat(np.arange(n_cores), program.axon_counts)
    synapses = program.synapses_of(of_axon, rank_in_run(of_axon))
    x, y = (program.coordinates.astype(np.int64) // np.array(program.chip.tile)).T
    return ClockTables(
        first=np.append(0, np.cumsum(used.sum(axis=1))).astype(np.int64),
        neuron=np.flatnonzero(used),
        has_bias=program.has_bias.ravel().view(np.uint8),
        way=np.searchsorted(wires.core * n_neurons + wires.neuron, np.arange(n_cores * n_neurons + 1)),
        target=wires.target_core,
        axon=first_axon[wires.target_core] + wires.target_axon,
        ticks=wires.delay,
        axon_core=of_axon,
        synapse=np.searchsorted(synapses.row, np.arange(len(of_axon) + 1)),
        reached=(of_axon[synapses.row] * n_neurons + synapses.neuron).astype(np.int32),
        delay=synapses.delay.astype(np.uint8),
        x=np.ascontiguousarray(x),
        y=np.ascontiguousarray(y),
    )


def _state(program: ChipProgram) -> ClockState:
    from neuromap.simulation.cost.tick_kernel import ClockState

    touched = np.zeros((program.greatest_delay + 1, math.prod(program.shape)), np.uint8)
    room, cores = len(program.wires.core), program.n_cores
    return ClockState(
        touched, *(np.zeros(room, np.int64) for _ in range(4)), *(np.zeros(cores, np.int64) for _ in range(6))
    )
