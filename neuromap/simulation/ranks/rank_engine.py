"""The engine of one rank among several: it runs its own cores, and together they are one chip.

The cores of a rank run in an engine of one machine, the fast one or the readable one in NumPy. Spikes with wires to
other ranks are sent there and enter the engine as if the host fed their axons. That changes nothing: two spikes on one
axon in one tick are one, and noise is a function of the core's place.

Ranks exchange spikes every so many ticks. With d ticks on the shortest way between two ranks, what is fired in the
ticks t to t + d - 1 is due at t + d or later. With d = 1 a tick is run, then all wait for the parcels. From d = 2 on
d // 2 ticks are run at once, and nobody waits: their parcels are under way while the next d // 2 are computed.
"""

from __future__ import annotations

from collections import defaultdict
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import adopted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import HostEvents, Spikes, Totals, check_run
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.simulation.engine.engine_state import EngineState, check_state, state_of_cores
from neuromap.simulation.engine.engines import make_engine
from neuromap.simulation.ranks.cut import cut_cores
from neuromap.simulation.ranks.exchange import Exchange
from neuromap.simulation.ranks.gathered import gathered_rows, gathered_state, gathered_table
from neuromap.simulation.ranks.post_kernel import post_kernel
from neuromap.simulation.ranks.rank_program import far_wires, program_of_cores

__all__ = ["RankEngine"]

Ints = NDArray[np.int64]
_NO_END = 1 << 30
"""Ticks that are run at once where no wire leads from rank to rank."""
_Axons = tuple[NDArray[np.int32], NDArray[np.int32]]


class _Block(NamedTuple):
    """Ticks whose spikes are under way: the first, and how many."""

    first: int
    n_ticks: int


class RankEngine:
    """One rank's part of a chip that runs a program; an :class:`neuromap.simulation.engine.engine.Engine`.

    Every method and property is called by all ranks, in the same order and with the same ticks. What they give is whole
    on rank 0; other ranks give what is theirs.

    Parameters
    ----------
    program : ChipProgram
        The whole one.
    exchange : Exchange
        To the other ranks.
    choice : EngineChoice
        What runs the cores of each rank, and the seed of the noise.

    Attributes
    ----------
    program : ChipProgram
        As given.
    cores : ndarray of int64, shape (n,)
        Cores of this rank, as rows of the program.

    Raises
    ------
    InputError
        If there are more ranks than cores.
    ProgramError
        If the program is not well formed, or its tables point outside it.
    """

    def __init__(self, program: ChipProgram, exchange: Exchange, choice: EngineChoice) -> None:
        rank_of = cut_cores(program, exchange.size)
        self.program, self._exchange = program, exchange
        self.cores = np.flatnonzero(rank_of == exchange.rank)
        self._local = np.full(program.n_cores, -1, np.int32)
        self._local[self.cores] = np.arange(len(self.cores))
        self._wires = far_wires(program, rank_of, exchange.rank)
        slack = self._wires.least_delay
        self._block, self._waits = max(1, slack // 2) if slack else _NO_END, slack == 1
        most = np.array([self._wires.leaving, self._wires.arriving]) * self._block
        self._dtype = np.int32 if most.max(initial=0) < 2**31 else np.int64
        exchange.open(most[0], most[1], self._dtype)
        self._sends: NDArray[np.bool_] = np.diff(self._wires.start).reshape(-1, program.chip.neurons) > 0
        self._post, self._arrivals = self._wires.post, self._wires.arrivals
        self._span = int(self._wires.delay.max(initial=0)) + self._block
        self._heard: tuple[NDArray[np.bool_], NDArray[np.bool_]] | None = None
        self._inside = make_engine(program_of_cores(program, self.cores), choice)
        self._inbox: dict[int, list[_Axons]] = defaultdict(list)

    @property
    def tick(self) -> int:
        """The tick that runs next; the first is 0."""
        return self._inside.tick

    def reset(self, noise_seed: int | None = None) -> None:
        """Go back to the state before tick 0; ``noise_seed``, if given, is the seed from now on."""
        self._inside.reset(noise_seed)
        self._inbox.clear()

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares what is only read with this one, and the exchange."""
        other = copy(self)
        other._inside = self._inside.fork()
        other._inbox = defaultdict(list)
        return other

    def step(self, host_cores: ArrayLike = (), host_axons: ArrayLike = ()) -> tuple[Ints, Ints]:
        """Run one tick on axons fed by the host; return cores and neurons that fired, in order."""
        spikes = self.run(HostEvents.of_tick(host_cores, host_axons))
        return spikes.cores, spikes.neurons

    def run(self, events: HostEvents, watched: NDArray[np.bool_] | None = None) -> Spikes:
        """Run ``events.n_ticks`` ticks from now on; see :meth:`neuromap.simulation.engine.engine.Engine.run`.

        Each rank takes the events of its own cores; it need not be given those of others.
        """
        check_run(self.program, events, watched)
        mine, asked = self._own(events), None if watched is None else watched[self.cores]
        listened = None if asked is None else self._listened(asked)
        found: list[Spikes] = []
        ahead: _Block | None = None
        for first in range(0, events.n_ticks, self._block):
            n = min(self._block, events.n_ticks - first)
            block = _Block(self.tick, n)
            spikes = self._inside.run(self._fed(mine, first, n), listened)
            ahead = self._pass_on(spikes, block, ahead)
            if asked is not None:
                kept = asked.reshape(-1)[spikes.cores * asked.shape[1] + spikes.neurons]
                spikes = Spikes(*(column[kept] for column in spikes))
            found.append(spikes)
        if ahead is not None:
            self._take(ahead)
        return self._gathered(found)

    def _listened(self, asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Add the neurons that other ranks wait for to those that are asked for; engines know the mask again."""
        if self._heard is None or not np.array_equal(self._heard[0], asked):
            self._heard = (asked, adopted(asked | self._sends))
        return self._heard[1]

    def _own(self, events: HostEvents) -> HostEvents:
        """Keep the events of this rank's cores, with their numbers here."""
        core = self._local[events.cores]
        kept = core >= 0
        return HostEvents(np.append(0, np.cumsum(kept))[events.start], core[kept], events.axons[kept])

    def _fed(self, host: HostEvents, first: int, n_ticks: int) -> HostEvents:
        """Put together what the host feeds in some ticks of the run and what other ranks have sent for them."""
        ticks = range(self.tick, self.tick + n_ticks)
        if not any(tick in ticks for tick in self._inbox):
            return HostEvents(host.start[first : first + n_ticks + 1], host.cores, host.axons)
        parts, counts = list[_Axons](), [0]
        for tick, (a, b) in zip(ticks, pairwise(host.start[first : first + n_ticks + 1].tolist()), strict=True):
            now = [(host.cores[a:b], host.axons[a:b]), *self._inbox.pop(tick, ())]
            counts.append(sum(len(cores) for cores, _ in now))
            parts += now
        cores, axons = (np.concatenate(column) for column in zip(*parts, strict=True))
        return HostEvents(np.cumsum(counts), cores, axons)

    def _pass_on(self, spikes: Spikes, block: _Block, ahead: _Block | None) -> _Block | None:
        """Send the spikes of a block; take those of the block before, or wait where there is no slack."""
        if self._wires.least_delay == 0:
            return None
        if ahead is not None:
            self._take(ahead)
        self._exchange.start(self._parcels(spikes, block))
        if self._waits:
            self._take(block)
            return None
        return block

    def _parcels(self, spikes: Spikes, block: _Block) -> list[NDArray[np.signedinteger]]:
        """Name the spikes that leave, for every rank: number of the wire times ticks of the block, plus the tick."""
        key = spikes.cores * self.program.chip.neurons + spikes.neurons
        packed, begin = post_kernel().pack(
            key, spikes.ticks - block.first, *self._post, block.n_ticks, self._exchange.size
        )
        records = packed.astype(self._dtype)
        return [records[a:b] for a, b in pairwise(begin.tolist())]

    def _take(self, block: _Block) -> None:
        """Wait for the parcels of a block and lay the spikes out by the ticks in which they are due."""
        parcels = self._exchange.finish()
        begin = np.cumsum([0, *(len(parcel) for parcel in parcels)])
        cores, axons, counts = post_kernel().unpack(
            np.concatenate(parcels), begin, self._wires.arrival_start, block.n_ticks, self._arrivals, self._span
        )
        ends = np.cumsum(counts).tolist()
        for ahead in np.flatnonzero(counts).tolist():
            some = slice(ends[ahead] - int(counts[ahead]), ends[ahead])
            self._inbox[block.first + ahead].append((cores[some], axons[some]))

    def _keep(self, due: Ints, cores: NDArray[np.int32], axons: NDArray[np.int32]) -> None:
        """Put spikes that are under way into the inbox."""
        for tick in np.unique(due).tolist():
            self._inbox[tick].append((cores[due == tick], axons[due == tick]))

    def _gathered(self, found: list[Spikes]) -> Spikes:
        """Put the spikes of all ranks in order, on rank 0."""
        rows = [np.stack([ticks, self.cores[cores], neurons], axis=1) for ticks, cores, neurons in found]
        every = gathered_rows(self._exchange, np.concatenate([np.zeros((0, 3), np.int64), *rows]))
        return Spikes(*(np.ascontiguousarray(column) for column in every.T))

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
        inside = self._inside.state
        kept = [(tick, *axons) for tick, parts in self._inbox.items() for axons in parts]
        far = [np.stack([np.full(len(cores), tick), cores, axons], axis=1) for tick, cores, axons in kept]
        # two spikes on one axon in one tick are one
        spikes = np.unique(np.concatenate([inside.spikes, *far]).astype(np.int64), axis=0)
        return gathered_state(self._exchange, replace(inside, spikes=spikes), self.cores, self.program.shape)

    def restore(self, state: EngineState) -> None:
        """Go on from a state of this program, whatever engine, and however many ranks, it comes from.

        Raises
        ------
        InputError
            If it does not fit the program.
        """
        check_state(self.program, state)
        self._inbox.clear()
        self._inside.restore(state_of_cores(state, self.cores, state.totals if self._exchange.rank == 0 else (0, 0, 0)))
        core = self._local[state.spikes[:, 1]]
        due, _, axon = state.spikes[core >= 0].T
        self._keep(due, core[core >= 0], axon.astype(np.int32))
