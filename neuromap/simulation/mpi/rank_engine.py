"""The engine of one rank that sends spikes to other ranks in messages, for any engine and any machine.

Spikes with wires to other ranks are sent there and enter the engine as if the host fed their axons. Results stay the
same: two spikes on one axon in one tick count as one, and noise is a function of the core's place.

Ranks exchange spikes in blocks of ticks. If the shortest delay between two ranks is d ticks, spikes of the
ticks t to t + d - 1 are due at t + d or later. With d = 1, all ranks run a tick, then wait for the parcels. From d = 2
on, d // 2 ticks are run at once without waiting: their parcels travel while the next d // 2 are computed.
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
    """One rank's connection to all ranks; all of them call every method, in the same order."""

    @property
    def rank(self) -> int:
        """Number of this rank, from 0."""

    @property
    def size(self) -> int:
        """Number of ranks."""

    def open(self, most_out: Ints, most_in: Ints, dtype: Any) -> None:
        """Announce the most records in a parcel to and from every rank, shape (R,), and their dtype."""
        # 0 between ranks that never exchange anything. One rank's ``most_out`` is the other's ``most_in``.

    def start(self, messages: Sequence[NDArray[Any]]) -> None:
        """Start sending one parcel to every rank, in order; the parcel to itself is empty."""

    def finish(self) -> list[NDArray[Any]]:
        """Wait for the parcels of the last :meth:`start`, one from every rank."""

    def memory(self, n_bytes: int) -> NDArray[np.uint8] | None:
        """Make uninitialised memory visible to all ranks, aligned to a cache line; None if they share no memory."""

    def share(self, array: Ints) -> list[Ints]:
        """Give the 1-D arrays of all ranks to every rank."""

    def agree(self, value: float) -> float:
        """Give all ranks the value of rank 0."""

    def gather(self, array: Ints) -> list[Ints]:
        """Give the 1-D arrays of all ranks to rank 0; other ranks get no array."""


# Ticks run at once if no wire connects ranks.
_NO_END = 1 << 30
# Cores, axons, and values if nodes send values.
_Axons = tuple[NDArray[np.int32], ...]


class MessageEngine:
    """Engine of a rank's cores, numbered on the rank."""

    def __init__(self, program: ChipProgram, wires: RemoteWires, exchange: Exchange, choice: EngineChoice) -> None:
        self.program, self._exchange = program, exchange
        self._inside = engine.make_engine(program, choice)
        self._inbox: dict[int, list[_Axons]] = defaultdict(list)
        self._graded = program.value_ranges is not None  # then the values follow the records in a parcel
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
        """Reset to the state before tick 0; ``noise_seed``, if given, replaces the seed."""
        self._inside.reset(noise_seed)
        self._inbox.clear()

    def fork(self) -> Self:
        """Make another engine at tick 0 that shares read-only data and the exchange with this one."""
        other = copy(self)
        other._inside = self._inside.fork()
        other._inbox = defaultdict(list)
        return other

    def run(self, events: engine.HostEvents, watched: Bools | None = None) -> engine.Sent:
        """Run ``events.n_ticks`` ticks from now on; return spikes of the rank's own cores."""
        listened = None
        if watched is not None:  # other ranks read more; cached, so that engines recognise the mask
            if self._heard is None or not np.array_equal(self._heard[0], watched):
                self._heard = (watched, adopted(watched | self._sends))
            listened = self._heard[1]
        found: list[engine.Sent] = []
        ahead: int | None = None  # first of the ticks whose spikes are in transit
        for first in range(0, events.n_ticks, self._block):
            n = min(self._block, events.n_ticks - first)
            block = self.tick
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

    def _fed(self, host: engine.HostEvents, first: int, n_ticks: int) -> engine.HostEvents:
        """Merge the events of the host in some ticks of the run with the spikes that other ranks sent for them."""
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

    def _pass_on(self, spikes: engine.Sent, block: int, ahead: int | None) -> int | None:
        """Send the spikes of ticks from ``block`` on; take those of the block before, or of this one without slack."""
        if self._alone:
            return None
        if ahead is not None:
            self._take(ahead)
        self._exchange.start(self._messages(spikes, block))
        if self._waits:
            self._take(block)
            return None
        return block

    def _messages(self, spikes: engine.Sent, first: int) -> list[NDArray[Any]]:
        """Pack the spikes that leave for every rank, with their target and tick within the block."""
        key = spikes.cores * self.program.chip.neurons + spikes.neurons
        ticks, values = spikes.ticks - first, engine.values_of(spikes)
        if values is None:
            packed, begin = post_kernel().pack(key, ticks, *self._post, self._bits[0], self._exchange.size)
            records = packed.astype(self._dtype)
            return [records[a:b] for a, b in pairwise(begin.tolist())]
        # the kernel moves message numbers instead of ticks, to look up ticks and values
        bits = len(key).bit_length()
        packed, begin = post_kernel().pack(key, np.arange(len(key)), *self._post, bits, self._exchange.size)
        which = packed & ((1 << bits) - 1)
        columns = np.stack([packed >> bits << self._bits[0] | ticks[which], values[which]]).astype(self._dtype)
        return [columns[:, a:b].reshape(-1) for a, b in pairwise(begin.tolist())]

    def _take(self, block: int) -> None:
        """Wait for the parcels of a block and sort the spikes into the inbox by due tick."""
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
            self._inbox[block + ahead].append(tuple(column[some] for column in axons))

    def potentials_of(self, cores: Ints) -> Ints:
        """Copy of the potentials of some cores, in this order, shape (n, N)."""
        return self._inside.potentials_of(cores)

    @property
    def potentials(self) -> Ints:
        """Copy of the potentials of all neurons of the rank, shape (C, N)."""
        return self._inside.potentials

    @property
    def totals(self) -> engine.Totals:
        """Activity since tick 0."""
        return self._inside.totals

    @property
    def state(self) -> engine.EngineState:
        """Everything that future ticks depend on, except the noise seed."""
        inside = self._inside.state
        kept = [(tick, axons) for tick, parts in self._inbox.items() for axons in parts]
        remote = [np.stack([np.full(len(axons[0]), tick), *axons], axis=1) for tick, axons in kept]
        # two spikes on one axon in one tick count as one
        rows = np.concatenate([inside.under_way, *remote]).astype(np.int64)
        return inside.with_under_way(np.unique(rows, axis=0))

    def restore(self, state: engine.EngineState) -> None:
        """Continue from a state of these cores."""
        self._inbox.clear()
        rows = state.under_way
        self._inside.restore(state.with_under_way(rows[:0]))  # spikes of other ranks may have longer delays
        for tick in np.unique(rows[:, 0]).tolist():
            some = rows[rows[:, 0] == tick, 1:]
            self._inbox[tick].append(tuple(column.astype(np.int32) for column in some.T))


def _sizes(program: ChipProgram, wires: RemoteWires) -> Ints:
    """Shortest delay to other ranks (0 without wires), and bits of cores, axons and delays in records."""
    shortest = int(wires.delay.min()) if len(wires.delay) else 0
    largest = (program.n_cores - 1, int(wires.axon.max(initial=0)), int(wires.delay.max(initial=0)))
    return np.array([shortest, *(number.bit_length() for number in largest)])


def _post(neuron: Ints, wires: Ints, n_neurons: int) -> tuple[Ints, Ints]:
    """Lay out wires for the packing kernel: the first wire of every neuron, and the wires."""
    each = np.bincount(neuron, minlength=n_neurons)
    if each.max(initial=0) > 1:
        return np.append(0, np.cumsum(each)), wires
    of_neuron = np.full(n_neurons, -1, np.int64)
    of_neuron[neuron] = wires
    return np.zeros(0, np.int64), of_neuron


# Compiled loops over spikes to and from other ranks.
#
# All of the compiled code is in this file, because Numba's disk cache checks only the file of an entry point. It is
# imported only when ranks run: Numba is slow to import.
_PLACE = (1 << 40) - 1


class PostKernel(NamedTuple):
    """Entry points."""

    # Arguments: neurons that spike as ``core * N + neuron``, their ticks in the block, the first wire of every neuron
    # (empty if none has two), the wires (``peer << 40 | place``; -1 for a neuron without), the bits of a tick and the
    # number of ranks. Returns records ordered by rank, and where those of each rank begin, shape (R + 1,). A place has
    # the core on its rank, the axon and the delay, from the highest bits on; a record has the place, and the tick in
    # its lowest bits
    pack: Any
    # Arguments: records, the bits of a tick, an axon and a delay, and a number of ticks. Returns cores and axons sorted
    # by due tick, and how many are due in each tick from the block's first on
    unpack: Any


def _pack(neurons, ticks, start, wires, tick_bits, n_ranks):  # type: ignore[no-untyped-def]
    # one independent load per spike: the tables are larger than caches
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
    """Entry points for this machine, compiled on first call."""
    return PostKernel(cached(_pack), cached(_unpack))


# Part of one rank: the program of its cores, and its wires to other ranks.


# Cores whose wires are processed together: bounds the memory.
AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class RemoteWires(ReadOnly, Value):
    """The W wires from the cores of one rank to those of others, by neuron."""

    neuron: Ints  # (W,): sender, ``core * N + neuron`` with the core's number on this rank; ascending
    peer: Ints  # (W,): rank of the target
    core: Ints  # (W,): number of the target core on that rank
    axon: Ints  # (W,)
    delay: Ints  # (W,): ticks from the spike to the axon


def remote_wires(program: ChipProgram, rank_of: Ints, me: int) -> RemoteWires:
    """Find the wires from a rank to others; reads only the targets of its own cores."""
    # shapes: rank_of (C,)
    cores, order = np.flatnonzero(rank_of == me), np.argsort(rank_of, kind="stable")
    local = np.empty(len(rank_of), np.int64)  # number of every core on its rank
    local[order] = rank_in_run(rank_of[order])
    parts = [_remote_wires(program, rank_of, local, cores[k : k + AT_ONCE]) for k in range(0, len(cores), AT_ONCE)]
    return RemoteWires(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _remote_wires(program: ChipProgram, rank_of: Ints, local: Ints, cores: Ints) -> tuple[Ints, ...]:
    """Find the wires of some cores of a rank to other ranks."""
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


def program_of_cores(program: ChipProgram, cores: Ints) -> ChipProgram:
    """Extract some cores of a program, renumbered from 0; spikes to other cores are dropped."""
    # shapes: cores (n,)
    local = np.full(program.n_cores + 1, -1, np.int64)  # the last entry is for neurons without a target
    local[cores] = np.arange(len(cores))
    tables: dict[str, Any] = {
        name: None if (table := getattr(program, name)) is None else table[cores]
        for name in ("coordinates", "neuron_node", "neuron_index", "is_relay", "is_splitter", "is_part")
    }
    tables["host"] = rows_of_cores(program.host, local)
    tables["outputs"] = rows_of_cores(program.outputs, local)
    return replace(program, **tables, **program.of_cores(cores, local))


def rows_of_cores(table: Any, local: Ints) -> Any:
    """Select the rows of a table of ports on some cores, and renumber these; other cores have -1 in ``local``."""
    kept = local[table.core] >= 0
    columns = {name: column[kept] for name, column in vars(table).items() if isinstance(column, np.ndarray)}
    return replace(table, **columns | {"core": local[table.core[kept]].astype(np.int32)})
