"""Ticks of a run: host events, and spikes by core and by node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import run_heads
from neuromap.arrays.parts_of_ticks import ticks_of_frames
from neuromap.arrays.value import Value
from neuromap.errors import InputError, ProgramError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import BIAS, NodePort
from neuromap.simulation.engine.engine import Engine, FeedPlan, HoldingEngine, HostEvents, Sent, make_engine, values_of
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice
from neuromap.simulation.stimulus import check_frames, frame_count
from neuromap.simulation.trace.recording import node_labels


def spikes_by_core(program: ChipProgram, ticks: Sequence[TickSpikes]) -> Ints:
    """Count the spikes of every core in some ticks, shape (C,)."""
    counts = np.zeros(program.n_cores, np.int64)
    for sent in ticks:
        counts += np.bincount(sent.cores, minlength=program.n_cores)
    return counts


@dataclass(frozen=True, eq=False)
class NodeSpikes(ReadOnly, Value):
    """Spikes of nodes, copies of a neuron counted once; all of shape (n,), int64, ordered by tick, node, index."""

    tick: Ints  # tick of the spike
    node: Ints  # position in the program's nodes
    index: Ints  # neuron within the node

    @classmethod
    def none(cls) -> Self:
        """No spikes."""
        return cls(*(np.zeros(0, np.int64) for _ in range(3)))


class SpikeLabels:
    """Maps places on the chip to neurons of nodes, for rasters and counts by node.

    Relays, splitters and parts of sums belong to no node; for outputs, only the neurons that are read out count.

    Parameters
    ----------
    program : ChipProgram
        The program that runs; edited programs have the same labels.
    """

    def __init__(self, program: ChipProgram) -> None:
        self._node, self._index = node_labels(program)
        self.n_nodes = len(program.nodes)

    def of(self, ticks: Sequence[TickSpikes]) -> NodeSpikes:
        """Spikes of some ticks by node and index."""
        if not ticks:
            return NodeSpikes.none()
        parts = []
        for sent in ticks:
            node = self._node[sent.cores, sent.neurons]
            index = self._index[sent.cores, sent.neurons][node >= 0]
            # packed into one number: unique rows of a table take ten times as long
            parts.append(np.unique(node[node >= 0].astype(np.int64) << 32 | index))
        named = np.concatenate(parts)
        tick = np.repeat([sent.tick for sent in ticks], [len(part) for part in parts]).astype(np.int64)
        return NodeSpikes(tick, named >> 32, named & 0xFFFFFFFF)

    def by_node(self, ticks: Sequence[TickSpikes]) -> Ints:
        """Count the spikes of every node in some ticks, shape (number of nodes,)."""
        return np.bincount(self.of(ticks).node, minlength=self.n_nodes).astype(np.int64)


# A run tick by tick, with every spike sent, for measuring a program's activity.


# Most neurons, or host rows, times ticks run before spikes are yielded.
_CHUNK_VALUES = 2**24


class TickSpikes(NamedTuple):
    """Spikes sent in one tick, by neurons and by the host."""

    tick: int  # the tick, from 0
    # cores, neurons: (n,): neurons that fire, in order, including those that are read out and send no spike on the
    # chip
    cores: NDArray[np.int64]
    neurons: NDArray[np.int64]
    # host_cores, host_axons: (m,): axons that the host feeds, due in this same tick; an axon may occur twice
    host_cores: NDArray[np.int32]
    host_axons: NDArray[np.int32]
    held: NDArray[np.bool_] | None = None  # (C, N): neurons that hold a potential as the tick begins; None unless asked
    # (n,), (m,): values of neurons and host events; None for spikes
    values: NDArray[np.int64] | None = None
    host_values: NDArray[np.int32] | None = None


def together(ticks: Sequence[TickSpikes]) -> TickSpikes:
    """Concatenate the spikes of one or more ticks, for sums over ticks."""
    numbers, *columns = zip(*(spikes[:5] for spikes in ticks), strict=True)
    return TickSpikes(numbers[0], *(np.concatenate(column) for column in columns))


def run_ticks(
    program: ChipProgram,
    frames: Mapping[str, ArrayLike] | None = None,
    *,
    n_ticks: int | None = None,
    choice: EngineChoice = DEFAULT_ENGINE,
    progress: Callable[[int, int], object] | None = None,
    holding: bool = False,
) -> Iterator[TickSpikes]:
    """Run a program and yield its spikes tick by tick; memory does not grow with the number of ticks."""
    # holding: also yield which neurons hold a potential, for which some engines run every tick separately
    # shapes: frames (n_frames, size)
    if frames is None and n_ticks is None:
        raise InputError("run: neither frames nor n_ticks is given; give one of them")
    if n_ticks is not None and n_ticks < 0:
        raise InputError(f"run: n_ticks = {n_ticks}; must be 0 or more")
    checked = {} if frames is None else check_frames(frames, program)
    chip = make_engine(program, choice)
    fed = FedFrames(program, checked)
    total = ticks_to_run(program, fed.n_frames) if n_ticks is None else n_ticks
    holder = chip if holding and isinstance(chip, HoldingEngine) else None
    most = 256 if not holding else 1 if holder is None else 32  # 32 KiB and more a tick should stay in cache
    length = max(1, min(most, _CHUNK_VALUES // max(1, int(np.prod(program.shape)), fed.n_rows)))
    while chip.tick < total:
        first = chip.tick
        count = min(length, total - first)
        events = HostEvents.none(count) if frames is None else fed.events(first, count)
        held: Iterable[NDArray[np.bool_] | None] = [_held(chip) if holding and holder is None else None] * count
        if holder is None:
            sent = chip.run(events)
        else:
            sent, held = holder.run_holding(events)
        yield from (s._replace(held=now) for s, now in zip(by_tick(sent, events, first), held, strict=True))
        if progress is not None:
            progress(chip.tick, total)


def run_again(program: ChipProgram, ticks: Iterable[TickSpikes]) -> Iterator[TickSpikes]:
    """Rerun the host's events from tick 0 on, and also yield which neurons hold a potential."""
    chip = make_engine(program, DEFAULT_ENGINE)
    for spikes in ticks:
        held = _held(chip)
        chip.run(HostEvents.of_tick(spikes.host_cores, spikes.host_axons, spikes.host_values))
        yield spikes._replace(held=held)


def _held(chip: Engine) -> NDArray[np.bool_]:
    """Mark the neurons that hold a potential; graded neurons keep none between ticks."""
    return np.zeros(chip.program.shape, np.bool_) if chip.program.value_ranges is not None else chip.potentials != 0


def by_tick(spikes: Sent, events: HostEvents, first: int) -> Iterator[TickSpikes]:
    """Split a run from tick ``first`` on into single ticks."""
    values, host_values = values_of(spikes), events.values
    start = np.searchsorted(spikes.ticks, np.arange(first, first + events.n_ticks + 1))
    for k in range(events.n_ticks):
        mine, fed = slice(start[k], start[k + 1]), slice(events.start[k], events.start[k + 1])
        yield TickSpikes(
            first + k,
            spikes.cores[mine],
            spikes.neurons[mine],
            events.cores[fed],
            events.axons[fed],
            values=None if values is None else values[mine],
            host_values=None if host_values is None else host_values[fed],
        )


# The host: axons it feeds in each tick, from the host table and the input frames.
@dataclass(frozen=True, eq=False)
class _Rows:
    """Columns ``start`` to ``stop - 1``: rows of the host table that share node, arrival and first frame."""

    # Of the q frames of a turn they deliver one, the same in every turn: frames ``phase``, ``phase + q`` and so on.

    start: int
    stop: int
    # Tick of the turn in which they deliver.
    tick: int
    # Input node; None for bias rows, which spike in every frame.
    node: str | None
    index: NDArray[np.int64] | slice
    # Frame phase + q i arrives in turn i + lag of the clock.
    lag: int
    first_frame: int
    phase: int


# Reads frames of an input node, shape (S, frames, size).
FrameReader: TypeAlias = Callable[[str, slice], NDArray[Any]]


class HostFeed:
    """Host spikes for a range of ticks and many stimuli at once."""

    # Time is divided into turns of one period; if the period is a fraction p/q, into turns of p ticks with q frames
    # each, and every row of the host table occurs q times, once for each of these frames. In a turn, every row then
    # delivers at most once, always at the same tick of the turn. With rows sorted by that tick, a table (turns x rows)
    # of deliveries, read row by row, is in the order of ticks: nothing has to be sorted when frames come.

    def __init__(self, program: ChipProgram) -> None:
        host, self._turn, self._per_turn = program.host, program.period.numerator, program.period.denominator
        self._clocks_run_on = program.is_part is not None  # leftovers in partial sums could spike at any tick
        self._n_rows = len(host)
        phase = np.repeat(np.arange(self._per_turn), len(host))
        start = np.tile(host.exact_arrival(program.period), self._per_turn)
        turn, tick = np.divmod(ticks_of_frames(start, program.period, phase), self._turn)
        row = np.tile(np.arange(len(host)), self._per_turn)
        order = np.lexsort((phase, host.first_frame[row], turn, host.node[row], tick))
        row = row[order]
        clock = np.stack([tick[order], host.node[row], turn[order], host.first_frame[row], phase[order]], axis=1)
        self._tick = np.ascontiguousarray(clock[:, 0])
        self._core, self._axon, index = host.core[row], host.axon[row], host.index[row]
        # values of bias rows in graded programs
        self._constant = host.constants[row] if program.value_ranges is not None else None
        self._of_tick = [(int(self._tick[a]), a, b) for a, b in _stretches(clock[:, :1])]
        self._rows = []
        for begin, end in _stretches(clock):
            at, node, lag, first_frame, of_turn = (int(k) for k in clock[begin])
            name = None if node == BIAS else program.nodes[node].name
            self._rows.append(_Rows(begin, end, at, name, _as_slice(index[begin:end]), lag, first_frame, of_turn))

    def __len__(self) -> int:
        """Rows of the host table."""
        return self._n_rows

    def _turns(self, rows: _Rows, n_frames: int, first_tick: int, n_ticks: int) -> range:
        """Return the turns in which rows deliver within some ticks."""
        first = rows.lag - (rows.phase - rows.first_frame) // self._per_turn
        end = -((rows.tick - first_tick - n_ticks) // self._turn)
        if rows.node is not None or not self._clocks_run_on:
            end = min(end, rows.lag - (rows.phase - n_frames) // self._per_turn)
        return range(max(first, -((rows.tick - first_tick) // self._turn)), end)

    def plan(self, nodes: Sequence[NodePort], n_frames: int, n_ticks: int) -> FeedPlan:
        """Plan of what any stimulus feeds in its first ``n_ticks`` ticks."""
        # the plan's columns index the values of the input nodes in the order of ``nodes``, each frame by frame
        sizes = [port.size for port in nodes if port.kind == "input"]
        names = [port.name for port in nodes if port.kind == "input"]
        first_column = dict(zip(names, np.cumsum([0, *sizes]) * n_frames, strict=False))
        size_of = dict(zip(names, sizes, strict=True))
        parts = [np.zeros((4, 0), np.int64)]
        for rows in self._rows:
            here = slice(rows.start, rows.stop)
            core, axon = self._core[here], self._axon[here]
            for turn in self._turns(rows, n_frames, 0, n_ticks):
                frame = (turn - rows.lag) * self._per_turn + rows.phase
                column = np.full(len(core), -1)
                if rows.node is not None:
                    index = np.arange(size_of[rows.node])[rows.index]
                    column = first_column[rows.node] + frame * size_of[rows.node] + index
                parts.append(np.stack([np.full(len(core), turn * self._turn + rows.tick), core, axon, column]))
        table = np.concatenate(parts, axis=1)
        table = table[:, np.argsort(table[0], kind="stable")]
        start = np.searchsorted(table[0], np.arange(n_ticks + 1))
        return FeedPlan(start, *table[1:].astype(np.int32))

    def events(self, frames: Mapping[str, NDArray[Any]], n_frames: int, first_tick: int, n_ticks: int) -> HostEvents:
        """Events fed in a range of ticks, for every stimulus."""
        # shapes: frames (S, n_frames, size)
        n_stimuli = len(next(iter(frames.values()))) if frames else 1
        return self.events_of(lambda name, some: frames[name][:, some], n_stimuli, n_frames, first_tick, n_ticks)

    def events_of(self, read: FrameReader, n_stimuli: int, n_frames: int, first_tick: int, n_ticks: int) -> HostEvents:
        """Events fed in a range of ticks; reads only frames that arrive in it."""
        # takes one byte (four for values) per stimulus, turn of the clock and row of the host table
        length, step = self._turn, self._per_turn
        begin, end = first_tick // length, (first_tick + n_ticks - 1) // length + 1
        constant = self._constant
        shape = (n_stimuli, end - begin, len(self._tick))
        fed: NDArray[Any] = np.zeros(shape, np.bool_ if constant is None else np.int32)
        for rows in self._rows:
            arriving = self._turns(rows, n_frames, first_tick, n_ticks)
            if not arriving:
                continue
            part = fed[:, arriving.start - begin : arriving.stop - begin, rows.start : rows.stop]
            if rows.node is None:
                part[:] = True if constant is None else constant[rows.start : rows.stop]
            else:
                i = (arriving.start - rows.lag) * step + rows.phase
                arrive = read(rows.node, slice(i, i + len(arriving) * step, step))
                # take needs half the time of an index array among slices
                part[:] = arrive[..., rows.index] if isinstance(rows.index, slice) else arrive.take(rows.index, axis=2)

        counts = np.zeros((n_stimuli, n_ticks), dtype=np.int64)
        for tick, start, stop in self._of_tick:
            low, high = -((tick - first_tick) // length), -((tick - first_tick - n_ticks) // length)
            if low < high:
                here = fed[:, low - begin : high - begin, start:stop]
                counts[:, low * length + tick - first_tick :: length] = np.count_nonzero(here, axis=2)
        place = np.flatnonzero(fed)  # several times as fast as nonzero of a table
        column = place % len(self._tick)
        values = None if constant is None else fed.reshape(-1)[place]
        return HostEvents(np.concatenate([[0], np.cumsum(counts)]), self._core[column], self._axon[column], values)


class FedFrames:
    """Frames of one stimulus, fed by the host tick by tick."""

    # n_frames: frames of the stimulus; 0 for a program without input nodes
    # n_rows: rows of the host table
    # shapes: frames (n_frames, size)

    def __init__(self, program: ChipProgram, frames: Mapping[str, NDArray[Any]]) -> None:
        self.n_frames = frame_count(frames)
        self._feed = HostFeed(program)
        self._stimuli = {name: rows[None] for name, rows in frames.items()}
        self.n_rows = len(self._feed)

    def events(self, first_tick: int, n_ticks: int) -> HostEvents:
        """Events fed in a range of ticks."""
        return self._feed.events(self._stimuli, self.n_frames, first_tick, n_ticks)


def _stretches(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Bounds of the stretches of equal rows in a sorted table."""
    starts = np.flatnonzero(run_heads(rows)).tolist()
    return list(pairwise([*starts, len(rows)]))


def _as_slice(index: NDArray[np.int32]) -> NDArray[np.int64] | slice:
    """Convert consecutive neurons to a slice, which is far faster to take."""
    first = int(index[0])
    if (index == np.arange(first, first + len(index))).all():
        return slice(first, first + len(index))
    return index.astype(np.int64)


# Duration of a run on a number of frames.
def ticks_to_run(program: ChipProgram, n_frames: int, recorded: Iterable[NodePort] = ()) -> int:
    """Count the ticks through the last frame of the slowest node that is read out or recorded."""
    read_out = [port for port in program.nodes if port.kind == "output"]
    if not read_out:
        raise ProgramError(f"program {program.name}: has no output node to read out; run it with run_events")
    slowest = max((*read_out, *recorded), key=lambda port: port.sample_tick)
    return max(0, slowest.tick(program.period, n_frames - 1) + 1)
