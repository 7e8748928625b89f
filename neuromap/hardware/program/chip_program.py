"""The independent checker of traffic: walks every route of a program hop by hop and counts again.

It shares no code with :mod:`neuromap.simulation.noc`, which counts starts, turns and ends only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import rank_in_run
from neuromap.arrays.parts_of_ticks import frames_until, ticks_of_frames
from neuromap.arrays.times import Time
from neuromap.errors import InputError, StimulusError
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS, HostTable, NodePort, OutputTable
from neuromap.render.value import Card, form

_DIRECTION = {(1, 0): 0, (-1, 0): 1, (0, 1): 2, (0, -1): 3}
_NAMES = ("east", "west", "north", "south", "in", "out")


@dataclass(frozen=True, eq=False)
class RouteWalk(ReadOnly, Card):
    """What a walk over all routes counts."""

    spikes: int  # spikes that are sent: one for every target of a neuron that fires
    hops: int  # links between routers that they cross
    crossings: int  # those of them that join two chips
    # (6, rows, columns): spikes over every link of the board, by the router at (x, y) that it leaves: ``[direction, y,
    # x]`` with 0 to x + 1, 1 to x - 1, 2 to y + 1, 3 to y - 1, 4 from the core into the router, 5 from the router into
    # the core
    loads: NDArray[np.int64]


def walk_routes(program: ChipProgram, fired: ArrayLike | None = None) -> RouteWalk:
    """Walk the route from every neuron to each of its targets, hop by hop.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    fired : array_like of int, shape (C, N), optional
        How often each neuron fires; once by default. Neurons without a target send nothing.

    Returns
    -------
    RouteWalk

    Raises
    ------
    InputError
        If ``fired`` has another shape, or a negative number.
    """
    chip = program.chip
    columns, rows = chip.routers
    loads = np.zeros((6, rows, columns), np.int64)
    of_chip = columns // chip.chips[0], rows // chip.chips[1]
    hops = crossings = 0
    times: Counter[tuple[int, int]] = Counter()
    for core, _, target, count in _sent(program, fired):
        times[core, target] += count
    for (core, target), count in times.items():
        places = [*xy_route(_place(program, core), _place(program, target))]
        loads[4, places[0][1], places[0][0]] += count
        loads[5, places[-1][1], places[-1][0]] += count
        for (x, y), (to_x, to_y) in pairwise(places):
            loads[_DIRECTION[to_x - x, to_y - y], y, x] += count
            hops += count
            if (x // of_chip[0], y // of_chip[1]) != (to_x // of_chip[0], to_y // of_chip[1]):
                crossings += count
    return RouteWalk(times.total(), hops, crossings, loads)


def route_difference(
    program: ChipProgram,
    loads: NDArray[np.integer],
    fired: ArrayLike | None = None,
    *,
    hops: int | NDArray[np.integer] | None = None,
) -> str | None:
    """Compare counted traffic with a walk over all routes, and name the first link or spike that differs.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    loads : ndarray of int, shape (6, rows, columns)
        Spikes over every link, as in :class:`RouteWalk`.
    fired : array_like of int, shape (C, N), optional
        How often each neuron fires; once by default.
    hops : int or ndarray of int, shape (C, N), optional
        Hops of all spikes together, or of the spikes that every neuron sends when it fires once; entries of neurons
        that send nothing are not looked at.

    Returns
    -------
    str or None
        One line, or ``None`` where all is equal.

    Raises
    ------
    InputError
        If an array has another shape than it must have, or a neuron fires a negative number of times.
    """
    walk = walk_routes(program, fired)
    if loads.shape != walk.loads.shape:
        raise InputError(f"loads: found shape {loads.shape}; needs {walk.loads.shape}")
    if hops is not None and not isinstance(hops, int):
        if hops.shape != program.shape:
            raise InputError(f"hops: found shape {hops.shape}; needs {program.shape}")
        walked: Counter[tuple[int, int]] = Counter()
        for core, neuron, target, _ in _sent(program, fired):
            walked[core, neuron] += sum(1 for _ in xy_route(_place(program, core), _place(program, target))) - 1
        for (core, neuron), right in walked.items():
            if right != hops[core, neuron]:
                return f"spike of core {core}, neuron {neuron}: {hops[core, neuron]} hops; its route has {right}"
    for direction, y, x in np.argwhere(loads != walk.loads):
        found, right = loads[direction, y, x], walk.loads[direction, y, x]
        return f"link {_NAMES[direction]} of router ({x}, {y}): {found} spikes; its routes carry {right}"
    if isinstance(hops, int) and hops != walk.hops:
        return f"hops: {hops} in all; the routes have {walk.hops}"
    return None


def _sent(program: ChipProgram, fired: ArrayLike | None) -> list[tuple[int, int, int, int]]:
    """Core and neuron, core of the target, and number of spikes of every way that carries any."""
    shape = program.shape
    counts = np.ones(shape, np.int64) if fired is None else np.asarray(fired)
    if counts.shape != shape or counts.dtype.kind not in "iub":
        raise InputError(f"fired: found {counts.dtype} of shape {counts.shape}; needs integers of shape {shape}")
    if (counts < 0).any():
        raise InputError(f"fired: found {counts.min()}; a neuron fires 0 times or more")
    wires = program.wires
    times = counts[wires.core, wires.neuron].astype(np.int64)
    carries = times > 0
    columns = (wires.core, wires.neuron, wires.target_core, times)
    return list(zip(*(column[carries].tolist() for column in columns), strict=True))


def _place(program: ChipProgram, core: int) -> tuple[int, int]:
    """Find the router of a core: cores of one tile share it."""
    x, y = program.coordinates[core].tolist()
    return x // program.chip.tile[0], y // program.chip.tile[1]


# The route of one spike, hop by hop: along x first, then along y.
def xy_route(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Walk from one core to another."""
    x, y = start
    yield x, y
    while x != end[0]:
        x += 1 if end[0] > x else -1
        yield x, y
    while y != end[1]:
        y += 1 if end[1] > y else -1
        yield x, y


# What the host delivers on input frames, read off the host table row by row: for files of other simulators.
#
# Engines have a feed of their own, laid out for speed; this one shares no code with it.


@dataclass(frozen=True, eq=False)
class HostSpikes(ReadOnly, Card):
    """Spikes from the host, ordered by tick, then row; n of them."""

    tick: NDArray[np.int64]  # (n,): when each is integrated
    row: NDArray[np.int64]  # (n,): row of the program's host table that it is for
    n_ticks: int  # ticks that they were asked for
    value: NDArray[np.int64] | None = None  # (n,): what each carries, never 0; None of spikes


def host_spikes(program: ChipProgram, frames: Mapping[str, NDArray[Any]], n_ticks: int) -> HostSpikes:
    """List what the host delivers in ticks 0 to ``n_ticks - 1``."""
    # gives bias rows end with the frames, as in a run; where there are parts of sums, which must be emptied, with the
    # ticks
    # shapes: frames (n_frames, size)
    host, period = program.host, program.period
    n_frames = max((len(rows) for rows in frames.values()), default=0)
    start = host.exact_arrival(period)
    found, graded = [np.zeros((3, 0), np.int64)], program.value_ranges is not None
    for node in np.unique(host.node).tolist():
        rows = np.flatnonzero(host.node == node)
        if node == BIAS:
            last = n_frames - 1
            if program.is_part is not None and n_ticks:
                last = int(frames_until(start[rows], period, n_ticks - 1).max())
            fed = np.ones((max(last + 1, 0), len(rows)), np.int64)
            if graded:
                fed *= host.constants[rows]
        else:
            fed = _frames_of(program, node, frames, n_frames)[:, host.index[rows]]
        frame, column = np.nonzero(fed)
        row = rows[column]
        tick = ticks_of_frames(start[row], period, frame)
        kept = (frame >= host.first_frame[row]) & (tick >= 0) & (tick < n_ticks)
        found.append(np.stack([tick, row, fed[frame, column]])[:, kept])
    tick, row, value = np.concatenate(found, axis=1)
    order = np.lexsort((row, tick))
    return HostSpikes(tick[order], row[order], n_ticks, value[order] if graded else None)


def _frames_of(program: ChipProgram, node: int, frames: Mapping[str, NDArray[Any]], n_frames: int) -> NDArray[Any]:
    port = program.nodes[node]
    given = frames.get(port.name)
    if given is None or given.shape != (n_frames, port.size):
        shape = "none" if given is None else f"shape {list(given.shape)}"
        raise StimulusError(f"frames of node {port.name}: found {shape}; needs shape [{n_frames}, {port.size}]")
    return np.asarray(given, np.bool_ if program.value_ranges is None else np.int64)


# ChipProgram: what programs have in common, whatever their cores are like.
# Name, dtype and axes of arrays, each axis a letter.
Tensors: TypeAlias = Mapping[str, tuple[str, str]]


class Wires(NamedTuple):
    """Ways from neurons to axons, ordered by core, then neuron; all of shape (n,), int64."""

    # core, neuron: where a spike comes from
    core: Ints
    neuron: Ints
    # target_core, target_axon: where it goes to
    target_core: Ints
    target_axon: Ints
    delay: Ints  # ticks from the spike to its axon


class Sent(NamedTuple):
    """Where some spikes go; all of shape (n,), int64. A spike may go nowhere, or to several axons."""

    spike: Ints  # position of the spike among those that were asked for, ascending
    # core, axon: its target
    core: Ints
    axon: Ints
    delay: Ints  # ticks to the axon


class Synapses(NamedTuple):
    """Synapses of some axons; all of shape (s,), int64."""

    row: Ints  # position of the axon among those that were asked for, ascending
    neuron: Ints  # of the axon's core
    weight: Ints
    delay: Ints  # ticks from the axon to the neuron


def rows_of(table: Any, rows: Ints) -> Any:
    """Take some rows of all arrays of a table."""
    some = {name: array[rows] for name, array in vars(table).items() if isinstance(array, np.ndarray)}
    return replace(table, **some)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChipProgram(ReadOnly, Card, ABC):
    """A chip's memory image with labels; what is in its cores is in the classes that derive from it."""

    _forms = ("neuromap.hardware.program.program_bytes",)
    # arrays that only this kind of program has: of its own, and in ``TABLES``, whose names stand before a dot.
    # C cores, A axons, N neurons, K and M rows of host and outputs; further letters are those of ``extents``
    TENSORS: ClassVar[Tensors]
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()  # those that may be None
    TABLES: ClassVar[Mapping[str, type]] = {}

    name: str  # name of the network
    chip: ChipSpec  # the chip it is for
    coordinates: NDArray[np.int32]  # (C, 2): x and y of every used core on the board
    # (C, N): label: the node as position in ``nodes``; -1 for unused neurons. A relay bears its source's label
    neuron_node: NDArray[np.int32]
    neuron_index: NDArray[np.int32]  # (C, N): label: the neuron within the node; 0 where unused
    # (C, N): label: whether the neuron only serves the one whose label it bears: it hands on its spikes (it lengthens a
    # delay, or is a splitter), or holds a part of its sum
    is_relay: NDArray[np.bool_]
    nodes: tuple[NodePort, ...]  # labels and clocks
    # frame period in ticks; a fraction p/q is a mean: q frames in every p ticks, at intervals that differ by a tick
    period: Time
    ticks_per_step: int  # ticks of one update step
    host: HostTable  # input and bias spikes
    outputs: OutputTable  # neurons that are read out
    # pattern, execution: labels of the rollout: the pattern's name and "windowed", "pipelined", "pipelined:P" or
    # "pipelined:best"; empty for programs by hand
    pattern: str = ""
    execution: str = ""
    # (C, N): label: whether the relay is there to fan out; splitters are relays too. None where there are none
    is_splitter: NDArray[np.bool_] | None = None
    # (C, N): label: whether the neuron holds a part of a sum that is wider than a core (docs/wide-neurons.md); parts
    # are relays too. None where there are none
    is_part: NDArray[np.bool_] | None = None

    @property
    def n_cores(self) -> int:
        """Cores in use."""
        return len(self.coordinates)

    @property
    def shape(self) -> tuple[int, int]:
        """Cores in use, and neurons of each."""
        return (len(self.coordinates), self.chip.neurons)

    @property
    def value_ranges(self) -> Mapping[str, tuple[int, int]] | None:
        """Least and greatest value that every node sends; ``None`` where nodes send spikes."""
        return None

    def require_sums(self, least: int, greatest: int) -> None:
        """Refuse raw events of such values if they can lead sums beyond what engines add up exactly."""

    @property
    @abstractmethod
    def wires(self) -> Wires:
        """Where every neuron's spikes go."""

    @abstractmethod
    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        """Say where spikes of some neurons go."""
        # shapes: cores, neurons (m,)

    @property
    @abstractmethod
    def axon_counts(self) -> Ints:
        """Axons that every core has, shape (C,)."""

    @property
    @abstractmethod
    def greatest_delay(self) -> int:
        """Ticks after which nothing that a spike sets off on its way is left."""

    @abstractmethod
    def extents(self) -> dict[str, int]:
        """Lengths of the axes that only this kind of program has, by their letters."""

    def misfit(self) -> str:
        """Say what is not well formed beyond dtypes and shapes; nothing where all is."""
        return ""

    @abstractmethod
    def synapses_of(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> Synapses:
        """List the synapses of some axons, those of weight 0 too where they take room."""
        # shapes: cores, axons (m,)

    @abstractmethod
    def of_cores(self, cores: Ints, local: Ints) -> dict[str, Any]:
        """Take some cores out, renumbered: the fields that only this kind has; targets outside are left out."""
        # local: (C + 1,): new number of every core, -1 outside; the last is that of no core

    @property
    @abstractmethod
    def n_synapses(self) -> int:
        """Synapses of all cores."""

    @property
    def neurons_in_use(self) -> Bools:
        """Neurons that bear a node's label, have a synapse, or send spikes: shape (C, N)."""
        used: Bools = self.neuron_node >= 0
        core = np.repeat(np.arange(self.n_cores), self.axon_counts)
        found = self.synapses_of(core, rank_in_run(core))
        used[core[found.row], found.neuron] = True
        used[self.wires.core, self.wires.neuron] = True
        return used

    @property
    def has_bias(self) -> Bools:
        """Neurons whose potential changes by itself, whatever comes in: shape (C, N)."""
        return np.zeros(self.shape, np.bool_)

    @property
    def joined(self) -> NDArray[np.int32] | None:
        """The neuron of the core of which each is a further compartment, -1 for none: shape (C, N)."""
        return None

    @property
    def further_compartments(self) -> Bools:
        """Which hold a further current of a neuron, and are no neurons of their own: shape (C, N)."""
        joined = self.joined
        return np.zeros(self.shape, np.bool_) if joined is None else joined >= 0

    @property
    def soma(self) -> Ints:
        """Whose voltage the current of every neuron changes, by ``core * N + neuron``: shape (C * N,)."""
        neuron, joined = np.arange(self.neuron_node.size), self.joined
        if joined is None:
            return neuron
        return np.where(joined.ravel() >= 0, neuron - neuron % self.shape[1] + joined.ravel(), neuron)

    @property
    def scales(self) -> dict[str, int]:
        """Powers k of the factors 2^k by which nodes were multiplied for the chip, by node; none for most programs."""
        return {}

    def memory_figures(self) -> dict[str, Any]:
        """Count what only cores of its kind have: fields of :class:`neuromap.hardware.program.usage.Usage`."""
        return {}

    @property
    def left_out(self) -> dict[str, int]:
        """Neurons of hidden nodes that the program does not hold, by node; nodes that it holds whole are absent."""
        # The mapper leaves out what leads to no output, unless it is asked to keep it (``MappingOptions.keep``).
        mine = (
            ~self.is_relay & (self.neuron_node >= 0) & (self.neuron_node < len(self.nodes)) & (self.neuron_index >= 0)
        )
        labels = np.unique(self.neuron_node[mine].astype(np.int64) << 32 | self.neuron_index[mine])
        held = np.bincount(labels >> 32, minlength=len(self.nodes)).tolist()
        ports = zip(self.nodes, held, strict=True)
        return {port.name: port.size - n for port, n in ports if port.kind == "hidden" and n < port.size}

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.name,
            "chip": self.chip.name,
            "pattern": self.pattern,
            "execution": self.execution,
            "cores": f"{self.n_cores} of {self.chip.n_usable_cores}",
            "nodes": ", ".join(f"{port.name} ({port.kind}, {counted(port.size, 'neuron')})" for port in self.nodes),
            "frame period": counted(self.period, "tick"),
        }

    def save(self, path: str | Path) -> None:
        """Write the program to a file, whole or not at all; :func:`neuromap.load_program` reads it."""
        write_whole(path, form(self, "file"))
