"""ChipProgram, the base of all programs, and an independent check of their traffic.

The check walks every route hop by hop; it shares no code with :mod:`neuromap.simulation.noc`, which counts starts,
turns and ends only.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
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
    """Traffic counted by walking all routes."""

    spikes: int  # spikes sent: one per target each time a neuron fires
    hops: int  # links between routers that these spikes cross
    crossings: int  # hops from one chip to another
    # (6, rows, columns): spikes over every link of the board, as ``[direction, y, x]`` of the router at (x, y) that it
    # leaves: 0 to x + 1, 1 to x - 1, 2 to y + 1, 3 to y - 1, 4 from the core into the router, 5 from the router into
    # the core
    loads: NDArray[np.int64]


def walk_routes(program: ChipProgram, fired: ArrayLike | None = None) -> RouteWalk:
    """Walk the route from every neuron to each of its targets, hop by hop.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    fired : array_like of int, shape (C, N), optional
        Number of times each neuron fires; 1 by default. Neurons without a target send nothing.

    Returns
    -------
    RouteWalk

    Raises
    ------
    InputError
        If ``fired`` has the wrong dtype or shape, or a negative entry.
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
    """Compare counted traffic with a walk over all routes, and report the first link or spike that differs.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    loads : ndarray of int, shape (6, rows, columns)
        Spikes over every link, as in :class:`RouteWalk`.
    fired : array_like of int, shape (C, N), optional
        Number of times each neuron fires; 1 by default.
    hops : int or ndarray of int, shape (C, N), optional
        Hops of all spikes together, or of the spikes that each neuron sends when it fires once; entries of neurons
        that send nothing are ignored.

    Returns
    -------
    str or None
        One line, or ``None`` if nothing differs.

    Raises
    ------
    InputError
        If an array has the wrong shape, or ``fired`` the wrong dtype or a negative entry.
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
    """List source core, neuron, target core and spike count of every connection that carries spikes."""
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
    """Return the router of a core; cores of one tile share it."""
    x, y = program.coordinates[core].tolist()
    return x // program.chip.tile[0], y // program.chip.tile[1]


# The route of one spike, hop by hop: along x first, then along y.
def xy_route(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Yield the places from one router to another, ends included."""
    x, y = start
    yield x, y
    while x != end[0]:
        x += 1 if end[0] > x else -1
        yield x, y
    while y != end[1]:
        y += 1 if end[1] > y else -1
        yield x, y


# Spikes that the host delivers for input frames, read from its table row by row: for files of other simulators.
#
# Engines have their own feed, laid out for speed; this one shares no code with it.


@dataclass(frozen=True, eq=False)
class HostSpikes(ReadOnly, Card):
    """The n spikes from the host, ordered by tick, then row."""

    tick: NDArray[np.int64]  # (n,): tick in which each is integrated
    row: NDArray[np.int64]  # (n,): row of the program's host table
    n_ticks: int  # number of ticks covered
    value: NDArray[np.int64] | None = None  # (n,): value that each carries, never 0; None for spikes


def host_spikes(program: ChipProgram, frames: Mapping[str, NDArray[Any]], n_ticks: int) -> HostSpikes:
    """List what the host delivers in ticks 0 to ``n_ticks - 1``."""
    # Bias rows end with the frames, as in a run; where there are parts of sums, which must be emptied, with the ticks.
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


# ChipProgram: what programs for all kinds of cores have in common.
# Dtype and axes of arrays by name, one letter per axis.
Tensors: TypeAlias = Mapping[str, tuple[str, str]]


def table_tensors(name: str, table: type, axes: str = "CN", **others: str) -> Tensors:
    """Read the arrays of a table off its fields, most of them with the same axes."""
    dtypes = {field.name: re.findall(r"np\.(\w+?)_?\]", str(field.type))[0] for field in fields(table)}
    return {f"{name}.{field}": (dtype, others.get(field, axes)) for field, dtype in dtypes.items()}


class Wires(NamedTuple):
    """Connections from neurons to axons, ordered by core, then neuron; all of shape (n,), int64."""

    # core, neuron: source of a spike
    core: Ints
    neuron: Ints
    # target_core, target_axon: its target
    target_core: Ints
    target_axon: Ints
    delay: Ints  # ticks from the spike to its axon


class Sent(NamedTuple):
    """Targets of some spikes; all of shape (n,), int64. A spike may have none, or several."""

    spike: Ints  # position of the spike in the query, ascending
    # core, axon: its target
    core: Ints
    axon: Ints
    delay: Ints  # ticks to the axon


class Synapses(NamedTuple):
    """Synapses of some axons; all of shape (s,), int64."""

    row: Ints  # position of the axon in the query, ascending
    neuron: Ints  # of the axon's core
    weight: Ints
    delay: Ints  # ticks from the axon to the neuron


def rows_of(table: Any, rows: Ints) -> Any:
    """Select rows of all arrays of a table."""
    some = {name: array[rows] for name, array in vars(table).items() if isinstance(array, np.ndarray)}
    return replace(table, **some)


@dataclass(frozen=True, eq=False, kw_only=True)
class ChipProgram(ReadOnly, Card, ABC):
    """A chip's memory image with labels; subclasses hold the contents of its cores."""

    _forms = ("neuromap.hardware.program.program_bytes",)
    # arrays specific to this kind of program: its own, and those of ``TABLES`` under the table's name and a dot.
    # C cores, A axons, N neurons, K and M rows of host and outputs; further letters are those of ``extents``
    TENSORS: ClassVar[Tensors]
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()  # arrays that may be None, besides tables' fields
    TABLES: ClassVar[Mapping[str, type]] = {}

    name: str  # name of the network
    chip: ChipSpec  # the chip it is for
    coordinates: NDArray[np.int32]  # (C, 2): x and y of every used core on the board
    # (C, N): label: position of the node in ``nodes``; -1 for unused neurons. A relay carries its source's label
    neuron_node: NDArray[np.int32]
    neuron_index: NDArray[np.int32]  # (C, N): label: the neuron within the node; 0 where unused
    # (C, N): label: whether the neuron only serves the one whose label it carries: it passes on its spikes (to lengthen
    # a delay, or as a splitter), or holds a part of its sum
    is_relay: NDArray[np.bool_]
    nodes: tuple[NodePort, ...]  # labels and clocks
    # frame period in ticks; a fraction p/q is a mean: q frames in every p ticks, at intervals that differ by a tick
    period: Time
    ticks_per_step: int  # ticks of one update step
    host: HostTable  # input and bias spikes
    outputs: OutputTable  # neurons that are read out
    # pattern, execution: labels of the rollout: the pattern's name and "windowed", "pipelined", "pipelined:P" or
    # "pipelined:best"; empty for handwritten programs
    pattern: str = ""
    execution: str = ""
    # (C, N): label: whether the neuron is a splitter; splitters are relays too. None without splitters
    is_splitter: NDArray[np.bool_] | None = None
    # (C, N): label: whether the neuron holds a part of a sum that is wider than a core (docs/wide-neurons.md); parts
    # are relays too. None without parts
    is_part: NDArray[np.bool_] | None = None

    @property
    def n_cores(self) -> int:
        """Number of cores in use."""
        return len(self.coordinates)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of cores in use, and of neurons per core."""
        return (len(self.coordinates), self.chip.neurons)

    @property
    def value_ranges(self) -> Mapping[str, tuple[int, int]] | None:
        """Least and greatest value that each node sends; ``None`` if nodes send spikes."""
        return None

    def require_sums(self, least: int, greatest: int) -> None:
        """Refuse raw events from ``least`` to ``greatest`` if sums could exceed what engines add exactly."""

    @property
    @abstractmethod
    def wires(self) -> Wires:
        """Connections from neurons to axons."""

    @abstractmethod
    def sent_by(self, cores: NDArray[np.integer], neurons: NDArray[np.integer]) -> Sent:
        """Return the targets of spikes of the given neurons."""
        # shapes: cores, neurons (m,)

    @property
    @abstractmethod
    def axon_counts(self) -> Ints:
        """Number of axons of each core, shape (C,)."""

    @property
    @abstractmethod
    def greatest_delay(self) -> int:
        """Greatest delay from a spike to a neuron that it reaches, in ticks."""

    @abstractmethod
    def extents(self) -> dict[str, int]:
        """Return the lengths of the axes specific to this kind of program, by letter."""

    def misfit(self) -> str:
        """Describe what is malformed beyond dtypes and shapes; empty if nothing is."""
        return ""

    @abstractmethod
    def synapses_of(self, cores: NDArray[np.integer], axons: NDArray[np.integer]) -> Synapses:
        """List the synapses of the given axons, including stored ones of weight 0."""
        # shapes: cores, axons (m,)

    @abstractmethod
    def of_cores(self, cores: Ints, local: Ints) -> dict[str, Any]:
        """Return the fields specific to this kind for some cores, renumbered; targets outside are dropped."""
        # local: (C + 1,): new number of every core, -1 outside; the last entry stands for no core

    @property
    @abstractmethod
    def n_synapses(self) -> int:
        """Number of synapses in all cores."""

    @property
    def neurons_in_use(self) -> Bools:
        """Mask of neurons that carry a node's label, have a synapse or send spikes, shape (C, N)."""
        used: Bools = self.neuron_node >= 0
        core = np.repeat(np.arange(self.n_cores), self.axon_counts)
        found = self.synapses_of(core, rank_in_run(core))
        used[core[found.row], found.neuron] = True
        used[self.wires.core, self.wires.neuron] = True
        return used

    @property
    def has_bias(self) -> Bools:
        """Mask of neurons whose potential changes without input, shape (C, N)."""
        return np.zeros(self.shape, np.bool_)

    @property
    def joined(self) -> NDArray[np.int32] | None:
        """Neuron of the core that each further compartment belongs to, -1 for none, shape (C, N)."""
        return None

    @property
    def further_compartments(self) -> Bools:
        """Mask of further compartments, which hold a current of another neuron, shape (C, N)."""
        joined = self.joined
        return np.zeros(self.shape, np.bool_) if joined is None else joined >= 0

    @property
    def soma(self) -> Ints:
        """Neuron whose voltage takes each current, both numbered ``core * N + neuron``, shape (C * N,)."""
        neuron, joined = np.arange(self.neuron_node.size), self.joined
        if joined is None:
            return neuron
        return np.where(joined.ravel() >= 0, neuron - neuron % self.shape[1] + joined.ravel(), neuron)

    @property
    def scales(self) -> dict[str, int]:
        """Powers k of the factors 2^k that scale nodes to the chip, by node; empty for most programs."""
        return {}

    def memory_figures(self) -> dict[str, Any]:
        """Return figures specific to this kind of core: fields of :class:`neuromap.hardware.program.usage.Usage`."""
        return {}

    @property
    def left_out(self) -> dict[str, int]:
        """Number of neurons left out of each hidden node; complete nodes are absent."""
        # The mapper leaves out neurons that lead to no output, unless told to keep them (``MappingOptions.keep``).
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
        """Write the program to a file atomically; :func:`neuromap.load_program` reads it."""
        write_whole(path, form(self, "file"))
