"""The engine of one rank among several: it runs its own cores, and together they are one chip.

Ranks that share memory hand spikes to each other in compiled code (``shared_engines.py``), others in messages
(``parcel_engine.py``). What comes from outside is cut into the parts of ranks here, and what they give is put together.
"""

from __future__ import annotations

from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Engine, HostEvents, Spikes, Totals, check_run
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engine_state import EngineState, check_state, state_of_cores
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.ranks.cut import cut_cores
from neuromap.simulation.ranks.exchange import Exchange
from neuromap.simulation.ranks.gathered import gathered_rows, gathered_state, gathered_table
from neuromap.simulation.ranks.parcel_engine import ParcelEngine
from neuromap.simulation.ranks.rank_program import FarWires, far_wires, program_of_cores

__all__ = ["RankEngine"]

Ints = NDArray[np.int64]


class RankEngine:
    """One rank's part of a chip that runs a program; an :class:`neuromap.simulation.engine.engine.Engine`."""

    # Every method and property is called by all ranks, in the same order and with the same ticks. What they give is
    # whole on rank 0; other ranks give what is theirs.
    # program: as given
    # cores: (n,): cores of this rank, as rows of the program

    def __init__(self, program: ChipProgram, exchange: Exchange, choice: EngineChoice) -> None:
        cut = cut_cores(program, exchange.size) if exchange.rank == 0 else np.zeros(0, np.int64)
        rank_of = exchange.share(cut)[0]
        self.program, self._exchange = program, exchange
        self.cores = np.flatnonzero(rank_of == exchange.rank)
        self._local = np.full(program.n_cores, -1, np.int32)
        self._local[self.cores] = np.arange(len(self.cores))
        wires = far_wires(program, rank_of, exchange.rank)
        self._inside: Engine | ParcelEngine = _engine_of(program_of_cores(program, self.cores), wires, exchange, choice)

    @property
    def tick(self) -> int:
        """The tick that runs next; the first is 0."""
        return self._inside.tick

    def reset(self, noise_seed: int | None = None) -> None:
        """Go back to the state before tick 0; ``noise_seed``, if given, is the seed from now on."""
        self._inside.reset(noise_seed)

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares what is only read with this one, and the exchange."""
        other = copy(self)
        other._inside = self._inside.fork()
        return other

    def step(self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()) -> tuple[Ints, Ints]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""
        spikes = self.run(HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def run(self, events: HostEvents, watched: NDArray[np.bool_] | None = None) -> Spikes:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`."""
        # Each rank takes the events of its own cores; it need not be given those of others.
        check_run(self.program, events, watched)
        spikes = self._inside.run(self._own(events), None if watched is None else watched[self.cores])
        rows = np.stack([spikes.ticks, self.cores[spikes.cores], spikes.neurons], axis=1)
        every = gathered_rows(self._exchange, rows)
        return Spikes(*(np.ascontiguousarray(column) for column in every.T))

    def _own(self, events: HostEvents) -> HostEvents:
        """Keep the events of this rank's cores, with their numbers here."""
        core = self._local[events.cores]
        kept = core >= 0
        return HostEvents(np.append(0, np.cumsum(kept))[events.start], core[kept], events.axons[kept])

    @property
    def potentials(self) -> Ints:
        """Potentials of all neurons after the last tick, a copy, shape (C, N)."""
        return gathered_table(self._exchange, self._inside.potentials, self.cores, self.program.shape)

    def potentials_of(self, cores: Ints) -> Ints:
        """Potentials of some cores, in this order, a copy, shape (n, N)."""
        local = self._local[cores]
        mine = np.flatnonzero(local >= 0)
        table = self._inside.potentials_of(local[mine].astype(np.int64))
        return gathered_table(self._exchange, table, mine, (len(cores), self.program.chip.neurons))

    @property
    def totals(self) -> Totals:
        """Activity since tick 0."""
        parts = self._exchange.gather(np.array(self._inside.totals)) or [np.array(self._inside.totals)]
        return Totals(*np.sum(parts, axis=0).tolist())

    @property
    def pending(self) -> Ints:
        """What is under way, see :attr:`neuromap.simulation.engine.engine.Engine.pending`; on other ranks nothing."""
        state = self.state
        if self._exchange.rank > 0:
            return np.zeros((0, 3), np.int64)
        if state.currents is None:
            return state.spikes
        whole = make_engine(self.program, EngineChoice("numpy"))
        whole.restore(state)
        return whole.pending

    @property
    def state(self) -> EngineState:
        """All that the ticks to come depend on, but for the seed of the noise."""
        return gathered_state(self._exchange, self._inside.state, self.cores, self.program.shape)

    def restore(self, state: EngineState) -> None:
        """Go on from a state of this program, whatever engine, and however many ranks, it comes from."""
        check_state(self.program, state)
        part = state_of_cores(state, self.cores, state.totals if self._exchange.rank == 0 else (0, 0, 0))
        self._inside.restore(part)


def _engine_of(
    program: ChipProgram, wires: FarWires, exchange: Exchange, choice: EngineChoice
) -> Engine | ParcelEngine:
    """Load the program of a rank's cores; with memory that all ranks share if there is any."""
    if exchange.size == 1:
        return make_engine(program, choice)
    if choice.engine == "fast":
        from neuromap.simulation.ranks.shared_engines import make_shared_engine  # Numba takes a while to import

        shared = make_shared_engine(program, wires, exchange, choice)
        if shared is not None:
            return shared
    return ParcelEngine(program, wires, exchange, choice)
