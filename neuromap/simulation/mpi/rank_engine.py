"""The engine of one rank whose spikes go to other ranks in messages, for any engine and any machine.

Spikes with wires to other ranks are sent there and enter the engine as if the host fed their axons. That changes
nothing: two spikes on one axon in one tick are one, and noise is a function of the core's place.

Ranks exchange spikes every so many ticks. With d ticks on the shortest way between two ranks, what is fired in the
ticks t to t + d - 1 is due at t + d or later. With d = 1 a tick is run, then all wait for the parcels. From d = 2 on
d // 2 ticks are run at once, and nobody waits: their parcels are under way while the next d // 2 are computed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.arrays.packed_rows import rank_in_run
from neuromap.arrays.value import Value
from neuromap.compiling import cached
from neuromap.errors import ProgramError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine import engine
from neuromap.simulation.engine.engine_choice import EngineChoice


class Exchange(Protocol):
    """One rank's end of what connects all ranks; every method is called by all of them, in the same order."""

    @property
    def rank(self) -> int:
        """Which rank this is, from 0."""

    @property
    def size(self) -> int:
        """Ranks in all."""

    def open(self, most_out: Ints, most_in: Ints, dtype: Any) -> None:
        """Say how many records parcels to and from every rank hold at most, shape (R,), and their dtype."""
        # Ranks between which nothing ever goes have 0. What is one rank's ``most_out`` is the other's ``most_in``.

    def start(self, messages: Sequence[NDArray[Any]]) -> None:
        """Begin to hand a parcel to every rank, one after the other; that to itself is empty."""

    def finish(self) -> list[NDArray[Any]]:
        """Wait for the parcels of the last :meth:`start`, one from every rank."""

    def memory(self, n_bytes: int) -> NDArray[np.uint8] | None:
        """Make memory that all ranks see, whatever is in it, from a cache line on; None where they share none."""

    def share(self, array: Ints) -> list[Ints]:
        """Give all ranks the array of every rank, each with one axis."""

    def agree(self, value: float) -> float:
        """Give all ranks the value of rank 0."""

    def gather(self, array: Ints) -> list[Ints]:
        """Give rank 0 the array of every rank, each with one axis; other ranks get no array."""


# Ticks that are run at once where no wire leads from rank to rank.
_NO_END = 1 << 30
# Cores, axons, and what each carries where nodes send values.
_Axons = tuple[NDArray[np.int32], ...]


class _Block(NamedTuple):
    """Ticks whose spikes are under way: the first, and how many."""

    first: int
    n_ticks: int


class MessageEngine:
    """What a rank's cores do, with cores counted on the rank."""

    def __init__(self, program: ChipProgram, wires: RemoteWires, exchange: Exchange, choice: EngineChoice) -> None:
        self.program, self._exchange = program, exchange
        self._inside = engine.make_engine(program, choice)
        self._inbox: dict[int, list[_Axons]] = defaultdict(list)
        self._graded = program.value_ranges is not None  # then a parcel has the records, and behind them the values
        leaving = np.bincount(wires.peer, minlength=exchange.size)
        told = exchange.share(np.append(_sizes(program, wires), leaving))
        _, core_bits, axon_bits, delay_bits = np.max(told, axis=0)[:4].tolist()
        shortest = min((int(numbers[0]) for numbers in told if numbers[0]), default=0)
        self._alone, self._waits = shortest == 0, shortest == 1
        self._block = max(1, shortest // 2) if shortest else _NO_END
        self._bits = ((self._block - 1).bit_length(), axon_bits, delay_bits)
        self._span = (1 << delay_bits) + self._block
        self._dtype = np.int32 if core_bits + sum(self._bits) <= 31 else np.int64
        arriving = np.array([numbers[4 + exchange.rank] for numbers in told])
        longest = self._block * (1 + self._graded)
        exchange.open(leaving * longest, arriving * longest, self._dtype)
        place = (wires.core << axon_bits | wires.axon) << delay_bits | wires.delay
        self._post = _post(wires.neuron, wires.peer << 40 | place, program.neuron_node.size)
        self._sends = np.zeros(program.shape, np.bool_)
        self._sends.reshape(-1)[wires.neuron] = True
        self._heard: tuple[Bools, Bools] | None = None

    @property
    def tick(self) -> int:
        """The tick that runs next."""
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

    def run(self, events: engine.HostEvents, watched: Bools | None = None) -> engine.Sent:
        """Run ``events.n_ticks`` ticks from now on; spikes of the rank's own cores."""
        listened = None if watched is None else self._listened(watched)
        found: list[engine.Sent] = []
        ahead: _Block | None = None
        for first in range(0, events.n_ticks, self._block):
            n = min(self._block, events.n_ticks - first)
            block = _Block(self.tick, n)
            spikes = self._inside.run(self._fed(events, first, n), listened)
            ahead = self._pass_on(spikes, block, ahead)
            if watched is not None:
                kept = watched.reshape(-1)[spikes.cores * watched.shape[1] + spikes.neurons]
                spikes = engine.sent_of(*(column[kept] for column in spikes))
            found.append(spikes)
        if ahead is not None:
            self._take(ahead)
        if not found:
            return engine.sent_of(*np.zeros((3 + self._graded, 0), np.int64))
        return engine.joined(found)

    def _listened(self, asked: Bools) -> Bools:
        """Add the neurons that other ranks wait for to those that are asked for; engines know the mask again."""
        if self._heard is None or not np.array_equal(self._heard[0], asked):
            self._heard = (asked, adopted(asked | self._sends))
        return self._heard[1]

    def _fed(self, host: engine.HostEvents, first: int, n_ticks: int) -> engine.HostEvents:
        """Put together what the host feeds in some ticks of the run and what other ranks have sent for them."""
        ticks = range(self.tick, self.tick + n_ticks)
        if not any(tick in ticks for tick in self._inbox):
            return replace(host, start=host.start[first : first + n_ticks + 1])
        columns = [host.cores, host.axons]
        if self._graded:
            columns.append(np.ones_like(host.cores) if host.values is None else host.values)
        parts, counts = list[_Axons](), [0]
        for tick, (a, b) in zip(ticks, pairwise(host.start[first : first + n_ticks + 1].tolist()), strict=True):
            now = [tuple(column[a:b] for column in columns), *self._inbox.pop(tick, ())]
            counts.append(sum(len(axons[0]) for axons in now))
            parts += now
        return engine.HostEvents(np.cumsum(counts), *(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _pass_on(self, spikes: engine.Sent, block: _Block, ahead: _Block | None) -> _Block | None:
        """Send the spikes of a block; take those of the block before, or wait where there is no slack."""
        if self._alone:
            return None
        if ahead is not None:
            self._take(ahead)
        self._exchange.start(self._messages(spikes, block))
        if self._waits:
            self._take(block)
            return None
        return block

    def _messages(self, spikes: engine.Sent, block: _Block) -> list[NDArray[Any]]:
        """Name the spikes that leave, for every rank: the place where they go and the tick of the block."""
        key = spikes.cores * self.program.chip.neurons + spikes.neurons
        ticks, values = spikes.ticks - block.first, engine.values_of(spikes)
        if values is None:
            packed, begin = post_kernel().pack(key, ticks, *self._post, self._bits[0], self._exchange.size)
            records = packed.astype(self._dtype)
            return [records[a:b] for a, b in pairwise(begin.tolist())]
        # the kernel moves numbers of messages in place of ticks, so that ticks and values are found by them
        bits = len(key).bit_length()
        packed, begin = post_kernel().pack(key, np.arange(len(key)), *self._post, bits, self._exchange.size)
        which = packed & ((1 << bits) - 1)
        columns = np.stack([packed >> bits << self._bits[0] | ticks[which], values[which]]).astype(self._dtype)
        return [columns[:, a:b].reshape(-1) for a, b in pairwise(begin.tolist())]

    def _take(self, block: _Block) -> None:
        """Wait for the parcels of a block and lay the spikes out by the ticks in which they are due."""
        parcels = self._exchange.finish()
        if self._graded:
            halves = [parcel.reshape(2, -1) for parcel in parcels]
            parcels, carried = [half[0] for half in halves], np.concatenate([half[1] for half in halves])
        messages = np.concatenate(parcels)
        *axons, counts = post_kernel().unpack(messages, *self._bits, self._span)
        if self._graded:
            tick_bits, _, delay_bits = self._bits
            due = (messages & ((1 << tick_bits) - 1)) + (messages >> tick_bits & ((1 << delay_bits) - 1))
            axons.append(carried[np.argsort(due, kind="stable")].astype(np.int32))  # in the order of the kernel
        ends = np.cumsum(counts).tolist()
        for ahead in np.flatnonzero(counts).tolist():
            some = slice(ends[ahead] - int(counts[ahead]), ends[ahead])
            self._inbox[block.first + ahead].append(tuple(column[some] for column in axons))

    def potentials_of(self, cores: Ints) -> Ints:
        """Potentials of some cores, in this order, a copy, shape (n, N)."""
        return self._inside.potentials_of(cores)

    @property
    def potentials(self) -> Ints:
        """Potentials of all neurons of the rank, a copy, shape (C, N)."""
        return self._inside.potentials

    @property
    def totals(self) -> engine.Totals:
        """Activity since tick 0."""
        return self._inside.totals

    @property
    def state(self) -> engine.EngineState:
        """All that the ticks to come depend on, but for the seed of the noise."""
        inside = self._inside.state
        kept = [(tick, axons) for tick, parts in self._inbox.items() for axons in parts]
        remote = [np.stack([np.full(len(axons[0]), tick), *axons], axis=1) for tick, axons in kept]
        # two spikes on one axon in one tick are one
        rows = np.concatenate([inside.under_way, *remote]).astype(np.int64)
        return inside.with_under_way(np.unique(rows, axis=0))

    def restore(self, state: engine.EngineState) -> None:
        """Go on from a state of these cores."""
        self._inbox.clear()
        rows = state.under_way
        self._inside.restore(state.with_under_way(rows[:0]))  # those of other ranks may be longer under way
        for tick in np.unique(rows[:, 0]).tolist():
            some = rows[rows[:, 0] == tick, 1:]
            self._inbox[tick].append(tuple(column.astype(np.int32) for column in some.T))


def _sizes(program: ChipProgram, wires: RemoteWires) -> Ints:
    """Tell the shortest delay to others (0 without wires), and the bits of cores, axons and delays in records."""
    shortest = int(wires.delay.min()) if len(wires.delay) else 0
    largest = (program.n_cores - 1, int(wires.axon.max(initial=0)), int(wires.delay.max(initial=0)))
    return np.array([shortest, *(number.bit_length() for number in largest)])


def _post(neuron: Ints, wires: Ints, n_neurons: int) -> tuple[Ints, Ints]:
    """Lay wires out as the kernel that packs spikes takes them: the first wire of every neuron, and the wires."""
    each = np.bincount(neuron, minlength=n_neurons)
    if each.max(initial=0) > 1:
        return np.append(0, np.cumsum(each)), wires
    of_neuron = np.full(n_neurons, -1, np.int64)
    of_neuron[neuron] = wires
    return np.zeros(0, np.int64), of_neuron


# Compiled loops over spikes that leave for other ranks or come from there.
#
# All of the compiled code is in this file, because Numba's cache on disk looks at the file of an entry point only. It
# is imported when ranks run, and never before: Numba is slow to import.
_PLACE = (1 << 40) - 1


class PostKernel(NamedTuple):
    """Entry points."""

    # of spikes (neurons as ``core * N + neuron``, and ticks of the block), the first wire of every neuron (empty where
    # none has two), the wires (``peer << 40 | place``; -1 for a neuron without), the ticks of the block and the number
    # of ranks: records ordered by rank, and where those of each rank begin, shape (R + 1,). In place of the ticks of
    # the block their bits are given. A place has the core on its rank, the axon and the delay, from the highest bits
    # on; a record has the place, and the tick in its lowest bits
    pack: Any
    # of records, the bits of a tick, an axon and a delay, and the ticks that are asked for: cores and axons in the
    # order in which they are due, and how many are due in each tick from the block's first on
    unpack: Any


def _pack(neurons, ticks, start, wires, tick_bits, n_ranks):  # type: ignore[no-untyped-def]
    # a load per spike that waits for no other one: the tables are larger than caches
    fans_out = len(start) > 0
    n = 0
    if fans_out:
        for neuron in neurons:
            n += start[neuron + 1] - start[neuron]
    else:
        n = len(neurons)
    found, tick = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for spike in range(len(neurons)):
        neuron = neurons[spike]
        first, last = (start[neuron], start[neuron + 1]) if fans_out else (neuron, neuron + 1)
        for wire in range(first, last):
            found[n], tick[n] = wires[wire], ticks[spike]
            n += 1
    begin = np.zeros(n_ranks + 2, np.int64)  # neurons without a wire first
    for k in range(n):
        begin[(found[k] >> 40) + 2] += 1
    begin = np.cumsum(begin)
    none = begin[1]
    place = begin[1:].copy() - none
    records = np.empty(n - none, np.int64)
    for k in range(n):
        peer = found[k] >> 40
        if peer >= 0:
            records[place[peer]] = (found[k] & _PLACE) << tick_bits | tick[k]
            place[peer] += 1
    return records, begin[1:] - none


def _unpack(records, tick_bits, axon_bits, delay_bits, span):  # type: ignore[no-untyped-def]
    counts = np.zeros(span + 1, np.int64)
    found, due = np.empty(len(records), np.int64), np.empty(len(records), np.int64)
    for k in range(len(records)):
        record = np.int64(records[k])
        place = record >> tick_bits
        found[k] = place >> delay_bits
        due[k] = (record & ((1 << tick_bits) - 1)) + (place & ((1 << delay_bits) - 1))
        counts[due[k] + 1] += 1
    first = np.cumsum(counts)
    cores, axons = np.empty(len(records), np.int32), np.empty(len(records), np.int32)
    for k in range(len(records)):
        at = first[due[k]]
        cores[at], axons[at] = found[k] >> axon_bits, found[k] & ((1 << axon_bits) - 1)
        first[due[k]] = at + 1
    return cores, axons, counts[1:]


@cache
def post_kernel() -> PostKernel:
    """Entry points for this machine; they compile when they are first called."""
    return PostKernel(cached(_pack), cached(_unpack))


# What one rank runs: the program of its cores, and the wires that leave them for other ranks or come from there.


# Cores whose wires are looked at together: bounds the memory.
_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class RemoteWires(ReadOnly, Value):
    """The W wires that lead from the cores of one rank to those of others, by neuron."""

    neuron: Ints  # (W,): who sends: ``core * N + neuron``, with the core's number on this rank; ascending
    peer: Ints  # (W,): rank that the wire leads to
    core: Ints  # (W,): the core's number on that rank
    axon: Ints  # (W,)
    delay: Ints  # (W,): ticks from the spike to the axon


def remote_wires(program: ChipProgram, rank_of: Ints, me: int) -> RemoteWires:
    """Find the wires from a rank to others; nothing but the targets of its own cores is looked at."""
    # shapes: rank_of (C,)
    cores, local = np.flatnonzero(rank_of == me), numbers_on_ranks(rank_of)
    parts = [_remote_wires(program, rank_of, local, cores[k : k + _AT_ONCE]) for k in range(0, len(cores), _AT_ONCE)]
    return RemoteWires(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _remote_wires(program: ChipProgram, rank_of: Ints, local: Ints, cores: Ints) -> tuple[Ints, ...]:
    """Find those of some cores of a rank."""
    neurons, origin = program.chip.neurons, f"program {program.name}"
    sent = program.sent_by(np.repeat(cores, neurons), np.tile(np.arange(neurons), len(cores)))
    if sent.core.min(initial=0) < 0 or sent.core.max(initial=0) >= len(rank_of):
        raise ProgramError(f"{origin}: a target lies on a core that it does not have; load it with load_program")
    remote = np.flatnonzero(rank_of[sent.core] != rank_of[cores[sent.spike // neurons]])
    core, axon, delay = sent.core[remote], sent.axon[remote], sent.delay[remote]
    if (axon < 0).any() or (axon >= program.axon_counts[core]).any() or (delay < 1).any():
        raise ProgramError(f"{origin}: a target has an axon or a delay that there is not; load it with load_program")
    neuron = local[cores[sent.spike[remote] // neurons]] * neurons + sent.spike[remote] % neurons
    return neuron, rank_of[core], local[core], axon, delay


def numbers_on_ranks(rank_of: Ints) -> Ints:
    """Give every core its number among those of its rank, shape (C,)."""
    local = np.empty(len(rank_of), np.int64)
    order = np.argsort(rank_of, kind="stable")
    local[order] = rank_in_run(rank_of[order])
    return local


def program_of_cores(program: ChipProgram, cores: Ints) -> ChipProgram:
    """Take some cores out of a program, renumbered from 0; spikes to others go nowhere."""
    # shapes: cores (n,)
    local = np.full(program.n_cores + 1, -1, np.int64)  # the last one is that of neurons without a target
    local[cores] = np.arange(len(cores))
    tables: dict[str, Any] = {
        name: None if (table := getattr(program, name)) is None else table[cores]
        for name in ("coordinates", "neuron_node", "neuron_index", "is_relay", "is_splitter", "is_part")
    }
    tables["host"] = rows_of_cores(program.host, local)
    tables["outputs"] = rows_of_cores(program.outputs, local)
    return replace(program, **tables, **program.of_cores(cores, local))


def rows_of_cores(table: Any, local: Ints) -> Any:
    """Take the rows of a table of ports that lie in some cores, and renumber these; others have -1 in ``local``."""
    kept = local[table.core] >= 0
    columns = {name: column[kept] for name, column in vars(table).items() if isinstance(column, np.ndarray)}
    return replace(table, **columns | {"core": local[table.core[kept]].astype(np.int32)})
