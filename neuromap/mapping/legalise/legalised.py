"""``Legalised``: populations and links in ticks, with sources and parts of wide sums.

The inputs of a *wide* node are cut into runs that fit a core. For each of its neurons, each run and each sign of the
weights, *parts* count: slice k of T ticks starts from -kT, gets the run's sum S at once and so spikes
clamp(S - kT, 0, T) times in T ticks. *Mergers* join the spikes of several parts where a core cannot take them all, and
the wide neuron gathers what is left, each spike counting 1 or -1.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.errors import DoesNotFitError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import NodePort
from neuromap.mapping.options.infeasibility import Remedy, count_cores, refuse
from neuromap.network.edge import EdgeKey
from neuromap.network.spiking_neuron import IntegerNeuron, LeakNeuron
from neuromap.render.value import Card
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.rollout.schedule.rollout import Rollout


# Thresholds clipped to where they still matter.
def clip_thresholds(theta: Ints, matrices: Iterable[Matrix]) -> Ints:
    """Clip thresholds to [sum of negative weights, sum of positive weights + 1]; same spikes (docs/mapping.md)."""
    # shapes: theta (n,); matrices (n, any); returns (n,)
    low = np.zeros(len(theta), np.int64)
    high = np.ones(len(theta), np.int64)
    for matrix in matrices:
        low += np.asarray(matrix.minimum(0).sum(axis=1), np.int64)
        high += np.asarray(matrix.maximum(0).sum(axis=1), np.int64)
    return np.clip(theta, low, high)


# A legalised rollout: populations, and links whose delays one neuron can give.
#
# A *population* is a node of the network, a set of relays or splitters, or the parts of a sum that is wider than a
# core. Relays and splitters are frame neurons with weight 1 and threshold 1, so the stages after this one need no
# special case for them (Fischer et al. 2018, section 2: edges that bridge more than one frame are subsumed by
# copy-nodes).
Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
K = TypeVar("K")


def needed_for(wanted: Mapping[K, Bools], reads: Iterable[tuple[K, K, Matrix]]) -> dict[K, Bools]:
    """Mark the wanted neurons and all that they depend on over matrices, each given with its source and target."""
    # shapes: matrices (n_target, n_source)
    into: dict[K, list[tuple[K, Matrix]]] = {}
    for source, target, matrix in reads:
        into.setdefault(target, []).append((source, matrix))
    needed = {key: mine.copy() for key, mine in wanted.items()}
    front = {key: np.flatnonzero(mine) for key, mine in wanted.items() if mine.any()}
    while front:
        reader, rows = front.popitem()
        for source, matrix in into.get(reader, []):
            read = np.zeros(matrix.shape[1], bool)
            read[matrix[rows].indices] = True
            new = np.flatnonzero(read & ~needed[source])
            if len(new):
                needed[source][new] = True
                front[source] = np.append(front.get(source, new[:0]), new)
    return needed


@dataclass(frozen=True, eq=False)
class Population(ReadOnly, Card):
    """Neurons that are mapped together."""

    name: str  # name for messages
    node: int  # position of the node in ``Legalised.ports``; for relays that of the node whose spikes they carry
    neurons: Ints  # (n,): neuron within the node
    # rows, columns, features where the population is a whole node; ``None`` for relays and splitters
    shape: tuple[int, int, int] | None
    threshold: Ints  # (n,): theta, clipped to where it still matters
    # is_relay, is_output, is_splitter: its role; splitters are relays as well
    is_relay: bool
    is_output: bool
    sample_tick: Time  # tick of frame 0, exact
    is_splitter: bool = False
    # (n,): neurons that have a copy though unread, so that they can be recorded; None if there are none
    kept: Bools | None = None
    neuron: IntegerNeuron | None = (
        None  # what spiking and graded neurons compute, one value per neuron; None for frame neurons
    )
    is_part: bool = False  # whether they hold parts of the sums of the node's neurons; then they are relays as well

    def leak_neuron(self, neurons: Ints) -> LeakNeuron | None:
        """Return some neurons as leak neurons, which keep their potential on a crossbar; else ``None``."""
        return self.neuron.take(neurons) if isinstance(self.neuron, LeakNeuron) else None

    @property
    def own_copies(self) -> Ints:
        """Copies that feed no axon: one of every neuron that is read out or kept; shape (n,)."""
        kept = self.kept if self.kept is not None else np.zeros(len(self.neurons), bool)
        return (kept | self.is_output).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Link(ReadOnly, Card):
    """Spikes from one population to another with a delay that one neuron can give."""

    # source, target: positions in ``Legalised.populations``
    source: int
    target: int
    matrix: Matrix  # (n_target, n_source): weights
    delay: int  # ticks
    groups: int | None = None  # groups of the network's edge where its transform has them; remedies name them
    current: int = 0  # which of the target's currents is fed, for spiking neurons with several; else 0


@dataclass(frozen=True, eq=False)
class HostLink(ReadOnly, Card):
    """Spikes that the host delivers to a population."""

    node: int  # position of the input node in ``Legalised.ports``; or ``BIAS``, for spikes sent in every frame
    target: int  # position in ``Legalised.populations``
    matrix: Matrix  # (n_target, n_source): weights
    arrival: Time  # tick at which frame 0 arrives or would arrive, exact
    first_frame: int  # 0 where the edge is streaming, else 1
    groups: int | None = None  # groups of the network's edge where its transform has them; remedies name them
    current: int = 0  # which of the target's currents is fed, for spiking neurons with several; else 0


@dataclass(frozen=True, eq=False)
class Legalised(Card):
    """A rollout in ticks, with relays."""

    ports: tuple[NodePort, ...]  # one per node of the network, in its order
    shapes: tuple[tuple[int, int, int], ...]  # one per node of the network
    populations: tuple[Population, ...]  # nodes that are not inputs, in the network's order, then relays and splitters
    # links, host_links: every delay is one that a neuron, or the host, can give
    links: tuple[Link, ...]
    host_links: tuple[HostLink, ...]
    period: Time  # ticks between two frames, on average
    ticks_per_step: int  # ticks

    @property
    def all_links(self) -> tuple[Link | HostLink, ...]:
        """Links of the chip first, then the host's."""
        return (*self.links, *self.host_links)


# Neurons of a population among which the one with the greatest demand is sought.
LOOKED_AT = 64


@dataclass(frozen=True, eq=False)
class Sources(ReadOnly, Value):
    """The joined matrix of all links into a population."""

    links: tuple[Link | HostLink, ...]  # in the order of the columns
    matrix: Matrix  # (n, s): their matrices side by side
    # link_of, neuron_of: (s,): link of each column, and the neuron of the link's source
    link_of: Ints
    neuron_of: Ints

    @property
    def fed_by_chip(self) -> Bools:
        """Which columns are neurons of the chip; shape (s,)."""
        return np.array([isinstance(link, Link) for link in self.links], bool)[self.link_of]

    @property
    def busiest(self) -> list[int]:
        """Neurons with most synapses, at most ``LOOKED_AT`` of them."""
        order: list[int] = np.argsort(-np.diff(self.matrix.indptr), kind="stable")[:LOOKED_AT].tolist()
        return order

    def weights_of(self, neuron: int) -> Ints:
        """Nonzero weights of one neuron, shape (1, s)."""
        return self.matrix[[neuron]].data.astype(np.int64)[None, :]


def join_sources(network: Legalised) -> tuple[Sources, ...]:
    """Join the links into every population: those of the chip first, then the host's."""
    into: list[list[Link | HostLink]] = [[] for _ in network.populations]
    for link in network.all_links:
        into[link.target].append(link)
    return tuple(_join(links, len(p.neurons)) for links, p in zip(into, network.populations, strict=True))


def _join(links: list[Link | HostLink], n_neurons: int) -> Sources:
    widths = [link.matrix.shape[1] for link in links]
    empty: Matrix = sparse.csr_array((n_neurons, 0), dtype=np.int64)
    matrix: Matrix = sparse.hstack([empty, *(link.matrix for link in links)], format="csr")
    matrix.sort_indices()
    return Sources(
        tuple(links),
        matrix,
        np.repeat(np.arange(len(links)), widths),
        np.concatenate([np.arange(w) for w in widths]) if widths else np.zeros(0, np.int64),
    )


@dataclass(frozen=True, eq=False)
class Clock(ReadOnly, Card):
    """Host spikes in every frame, on one or more axons at once, to some neurons of a layer."""

    # weight, axons: weight of every spike, and how many axons carry one
    weight: int
    axons: int
    neurons: Ints  # neurons that get them; positions in the layer

    @property
    def total(self) -> int:
        """Total weight that a neuron gets."""
        return self.weight * self.axons


@dataclass(frozen=True, eq=False)
class Layer(ReadOnly, Card):
    """Neurons that hold parts of sums: slices, or mergers of the spikes of slices or mergers before them."""

    matrix: Matrix  # (rows, sources): weights, none negative
    of_neuron: Ints  # (rows,): neuron of the node to whose sum each belongs
    offset: Ints  # (rows,): kT: subtracted from the sum
    most: Ints  # (rows,): most spikes of each per frame, one per tick from the first on

    @property
    def window(self) -> int:
        """Ticks within which all have sent their spikes."""
        return int(self.most.max(initial=1))


@dataclass(frozen=True, eq=False)
class PartialSums(ReadOnly, Card):
    """How the sums of one node are computed in parts."""

    ticks: int  # T: most spikes of a slice per frame
    # runs, most_inputs: runs into which the inputs are cut, and most inputs of a run read by neurons that share cores
    runs: int
    most_inputs: int
    # slices first, whose sources are the neurons of all edges into the node, side by side in the network's order; then
    # mergers
    layers: tuple[Layer, ...]
    gather: Matrix  # (n, rows of the last layer): 1 or -1 for what the node's neurons gather
    threshold: Ints  # (n,): theta, clipped to where it still matters
    clear_parts: Clock | None  # what empties slices; ``None`` where they empty themselves
    # what lifts the gathering neurons off their floor, and, in the node's tick, asks for their spike; ``None`` where
    # everything arrives in one tick, so that they are frame neurons
    lift: Clock | None
    clear: Clock | None  # what empties them one tick later
    spike_delay: int  # ticks from one layer to the next

    @property
    def window(self) -> int:
        """Ticks in which the node's neurons gather."""
        return self.layers[-1].window

    @property
    def lead(self) -> int:
        """Ticks by which the node's inputs arrive before its own tick."""
        return len(self.layers) * self.spike_delay + self.window - 1

    @property
    def busy(self) -> int:
        """Ticks that a frame takes of its neurons: the gathering and, where it takes more than one, the clearing."""
        return self.window + (self.lift is not None)

    @property
    def alpha(self) -> Ints:
        """Thresholds of the gathering neurons, where they are asked; shape (n,)."""
        assert self.lift is not None, "frame neurons are not asked"
        return 2 * self.lift.total + self.threshold

    @property
    def n_parts(self) -> int:
        """Neurons that hold parts."""
        return sum(len(layer.of_neuron) for layer in self.layers)

    def _facts(self) -> dict[str, object]:
        return {"ticks": self.ticks, "runs": self.runs, "parts": self.n_parts, "window": f"{self.window} ticks"}


Matrices = Mapping[EdgeKey, Matrix]


def segments_of_edges(
    rollout: Rollout,
    chip: ChipSpec,
    ticks_per_step: int,
    split: frozenset[EdgeKey],
    matrices: Matrices,
    leads: Mapping[str, int],
) -> dict[EdgeKey, tuple[int, ...]]:
    """Split the delay of every edge on the chip that has weights into legs."""
    # split: edges whose spikes go over splitters. Their delay must have room for two legs
    least, greatest = chip.delay
    inputs = set(rollout.network.inputs)
    on_chip = {e: d for e, d in rollout.delays.items() if e[0] not in inputs and matrices[e].nnz}
    delays = {e: d * ticks_per_step - leads[e[1]] for e, d in on_chip.items()}
    for edge, delay in delays.items():
        if segments_of_delay(delay, least, greatest) is None:
            text = (
                f"edge {edge[0]} -> {edge[1]} has a delay of {counted(delay, 'tick')} at {ticks_per_step} per step, "
                f"a {chip.name} neuron delays its spikes by {least} to {greatest}"
            )
            enough = fewest_ticks_per_step(rollout, chip)
            remedy = Remedy("ticks_per_step", enough, f"ticks_per_step = {enough} would do")
            raise refuse("delay", edge[1], -(-delay // greatest) * least, delay, text, [remedy])
    long = {edge: delay for edge, delay in delays.items() if delay > greatest}
    refused = [refuse_chain(edge, delay, matrices[edge], chip, rollout) for edge, delay in long.items()]
    if too_long := [refusal for refusal in refused if refusal is not None]:  # that with least room
        raise min(too_long, key=lambda refusal: refusal.infeasibility.bound)
    of_source = segments_of_sources(((u, delay) for (u, _), delay in delays.items()), least, greatest)
    in_two = {edge: (least, delays[edge] - least) for edge in delays if edge in split and edge not in long}
    return {edge: of_source[edge[0], delay] for edge, delay in delays.items()} | in_two


def refuse_chain(edge: EdgeKey, delay: int, matrix: Matrix, chip: ChipSpec, rollout: Rollout) -> DoesNotFitError | None:
    """Refuse an edge whose relays alone are more than the chip holds, before any of them is made."""
    # delay: in ticks
    # returns the refusal for the caller to raise, with limit ``delay`` and as bound the longest delay whose relays all
    # cores could hold; ``None`` if they may fit
    greatest, room, sources = chip.delay[1], min(chip.neurons, chip.axons), len(np.unique(matrix.indices))
    longest = greatest * (chip.n_usable_cores * room // sources + 1)
    if delay <= longest:
        return None
    per_source = -(-delay // greatest) - 1
    cores = -(-per_source * sources // room)
    text = (
        f"edge {edge[0]} -> {edge[1]} has a delay of {delay} ticks, whose {per_source} relays for each of {sources} "
        f"neurons need {count_cores(cores)}; {chip.name} has {chip.n_usable_cores}, enough for {longest} ticks"
    )
    remedies = [Remedy("chip.cores", None, f"a chip or board of more than {count_cores(cores)} may do")]
    if chosen_period(rollout.execution) is not None:
        remedies.insert(0, Remedy("execution", None, "a shorter frame period takes fewer relays"))
    return refuse("delay", edge[1], delay, longest, text, remedies)


# Least ticks per update step.
def fewest_ticks_per_step(rollout: Rollout, chip: ChipSpec) -> int:
    """Find the fewest ticks per update step at which legs can give every edge's delay."""
    # Edges from inputs are free: the host delivers (docs/mapping.md). The chip's least delay always works. A step of a
    # spiking network is one tick whatever the chip gives: its delays are part of what it computes.
    # rollout: with delays in update steps or ticks
    if rollout.network.is_spiking:
        return 1
    least, greatest = chip.delay
    inputs = set(rollout.network.inputs)
    delays = {d for (u, _), d in rollout.delays.items() if u not in inputs}
    for ticks in range(1, least):
        if all(segments_of_delay(d * ticks, least, greatest) for d in delays):
            return ticks
    return least


# Long delays as legs over relays, each within the range of one neuron.


def segments_of_delay(delay: int, least: int, greatest: int) -> tuple[int, ...] | None:
    """Split a delay into as few legal legs as possible, full ones first."""
    # returns the ticks of each leg; ``None`` if no split is legal
    count = -(-delay // greatest)
    if count * least > delay:
        return None
    segments = [greatest] * (count - 1) + [delay - greatest * (count - 1)]
    lender = count - 2
    while segments[-1] < least:  # borrow from the full legs; each can lend greatest - least
        lent = min(least - segments[-1], greatest - least)
        segments[lender] -= lent
        segments[-1] += lent
        lender -= 1
    return tuple(segments)


def segments_of_sources(
    delays: Iterable[tuple[str, int]], least: int, greatest: int
) -> dict[tuple[str, int], tuple[int, ...]]:
    """Split every delay of every source, each of which has legal legs; long ones share as many relays as they can."""
    of_source: dict[str, set[int]] = {}
    for source, delay in delays:
        of_source.setdefault(source, set()).add(delay)
    segments: dict[tuple[str, int], tuple[int, ...]] = {}
    for source, some in of_source.items():
        long = shared_segments([delay for delay in some if delay > greatest], least, greatest)
        segments |= {(source, delay): long.get(delay, (delay,)) for delay in some}
    return segments


def shared_segments(delays: Collection[int], least: int, greatest: int) -> dict[int, tuple[int, ...]]:
    """Split the long delays of one source so that they share as few relays as possible."""
    # A delay D needs a relay at an offset from D - greatest to D - least behind the source. Offsets are chosen in
    # rising order, each as late as the next unserved delay and the leg before it allow: the greedy rule for piercing
    # intervals, which is optimal where no leg has to be lengthened (least = 1).
    # least, greatest: range of one neuron in ticks
    segments_of: dict[int, tuple[int, ...]] = {}
    chain: list[int] = []
    offset = 0
    for delay in sorted(delays):
        while offset < delay - greatest:
            step = min(greatest, delay - least - offset)
            chain.append(step)
            offset += step
        segments_of[delay] = (*chain, delay - offset)
    if all(least <= segment <= greatest for segments in segments_of.values() for segment in segments):
        return segments_of
    alone = {delay: segments_of_delay(delay, least, greatest) for delay in delays}
    return {delay: segments for delay, segments in alone.items() if segments is not None}
