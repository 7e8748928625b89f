"""Legalise a rollout: from update steps to ticks, from long delays to relays, from fan-out to splitters.

The result is a graph of *populations* whose links all have delays that the chip can hold. A population is
a node of the network or a set of relays or splitters. Those are the frame neuron with weight 1 and threshold 1, so the
stages after this one need no special case for them (Fischer et al. 2018, section 2: edges that bridge more
than one frame are subsumed by copy-nodes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.hardware.program.program import NodePort
from neuromap.mapping.legalise.hops import hops_of_delay, shared_hops
from neuromap.mapping.legalise.refuse_delay import refuse_chain, refuse_delay
from neuromap.network import require_weights
from neuromap.rollout.schedule.execution import chosen_period

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neuromap.errors import DoesNotFitError
    from neuromap.hardware.chip.chip_spec import ChipSpec
    from neuromap.network.network import EdgeKey, Node
    from neuromap.rollout.schedule.rollout import Rollout

__all__ = ["HostLink", "Legalised", "Link", "Population", "legalise", "ticks_per_step"]

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"


@dataclass(frozen=True, eq=False)
class Population:
    """Neurons that are mapped together.

    Attributes
    ----------
    name : str
        Name for messages.
    node : int
        Position of the node in ``Legalised.ports``; for relays that of the node whose spikes they carry.
    neurons : ndarray of int64, shape (n,)
        Neuron within the node.
    shape : tuple of three int, or None
        Rows, columns, features where the population is a whole node; ``None`` for relays and splitters.
    threshold : ndarray of int64, shape (n,)
        theta, clipped to where it still matters.
    is_relay, is_output, is_splitter : bool
        Its role; splitters are relays as well.
    sample_tick : int
        Tick of frame 0.
    """

    name: str
    node: int
    neurons: NDArray[np.int64]
    shape: tuple[int, int, int] | None
    threshold: NDArray[np.int64]
    is_relay: bool
    is_output: bool
    sample_tick: int
    is_splitter: bool = False

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class Link:
    """Spikes from one population to another with a delay that one neuron can give.

    Attributes
    ----------
    source, target : int
        Positions in ``Legalised.populations``.
    matrix : csr_array of int64, shape (n_target, n_source)
        Weights.
    delay : int
        Ticks.
    groups : int or None
        Groups of the network's edge where its transform has them; remedies name them.
    """

    source: int
    target: int
    matrix: Matrix
    delay: int
    groups: int | None = None


@dataclass(frozen=True, eq=False)
class HostLink:
    """Spikes that the host delivers to a population.

    Attributes
    ----------
    node : int
        Position of the input node in ``Legalised.ports``.
    target : int
        Position in ``Legalised.populations``.
    matrix : csr_array of int64, shape (n_target, n_source)
        Weights.
    arrival : int
        Tick at which frame 0 arrives or would arrive.
    first_frame : int
        0 where the edge is streaming, else 1.
    groups : int or None
        Groups of the network's edge where its transform has them; remedies name them.
    """

    node: int
    target: int
    matrix: Matrix
    arrival: int
    first_frame: int
    groups: int | None = None


@dataclass(frozen=True, eq=False)
class Legalised:
    """A rollout in ticks, with relays.

    Attributes
    ----------
    ports : tuple of NodePort
        One per node of the network, in its order.
    shapes : tuple of (rows, columns, features)
        One per node of the network.
    populations : tuple of Population
        Nodes that are not inputs, in the network's order, then relays and splitters.
    links, host_links : tuple
        Every delay is one that a neuron, or the host, can give.
    period, ticks_per_step : int
        Ticks.
    """

    ports: tuple[NodePort, ...]
    shapes: tuple[tuple[int, int, int], ...]
    populations: tuple[Population, ...]
    links: tuple[Link, ...]
    host_links: tuple[HostLink, ...]
    period: int
    ticks_per_step: int


def ticks_per_step(rollout: Rollout, chip: ChipSpec) -> int:
    """Find the smallest stretch of an update step for which every edge's delay can be given by hops.

    Edges from inputs are free: the host delivers (docs/mapping.md). The chip's least delay always works.

    Parameters
    ----------
    rollout : Rollout
        Its delays, in update steps or ticks.
    chip : ChipSpec
        Gives the range of delays.

    Returns
    -------
    int
        Ticks of a unit of delay, 1 to the chip's least delay.
    """
    least, greatest = chip.delay
    inputs = set(rollout.network.inputs)
    delays = {d for (u, _), d in rollout.delays.items() if u not in inputs}
    for stretch in range(1, least):
        if all(hops_of_delay(d * stretch, least, greatest) for d in delays):
            return stretch
    return least


@dataclass
class _Builder:
    """Collects populations and links; relays of one source are shared by all delays that they serve."""

    chip: ChipSpec
    populations: list[Population]
    links: list[Link] = field(default_factory=list)
    relays: dict[tuple[int, int], int] = field(default_factory=dict)  # by what they read, and its delay

    def connect(
        self,
        source: int,
        target: int,
        matrix: Matrix,
        hops: tuple[int, ...],
        needed: NDArray[np.int64],
        groups: int | None,
        is_splitter: bool,
    ) -> None:
        """Link two populations by one or more hops; all but the last end in a relay or splitter."""
        relay = source
        for last in range(1, len(hops)):
            relay = self._relay(source, relay, hops[last - 1], last, needed, is_splitter)
        if relay != source:
            matrix = sparse.csr_array(matrix[:, self.populations[relay].neurons])
        self.links.append(Link(relay, target, matrix, hops[-1], groups))

    def _relay(
        self, origin: int, before: int, hop: int, number: int, needed: NDArray[np.int64], is_splitter: bool
    ) -> int:
        key = (before, hop)
        if key not in self.relays:
            source, size = self.populations[origin], len(needed)
            self.relays[key] = len(self.populations)
            self.populations.append(
                Population(
                    name=f"{source.name} splitter" if is_splitter else f"{source.name} relay {number}",
                    node=source.node,
                    neurons=needed,
                    shape=None,
                    threshold=np.ones(size, np.int64),
                    is_relay=True,
                    is_output=False,
                    sample_tick=self.populations[before].sample_tick + hop,
                    is_splitter=is_splitter,
                )
            )
            wires = needed if before == origin else np.arange(size)
            matrix = sparse.csr_array(
                (np.ones(size, np.int64), (np.arange(size), wires)),
                shape=(size, len(self.populations[before].neurons)),
            )
            self.links.append(Link(before, self.relays[key], matrix, hop))
        return self.relays[key]


def _clip(theta: NDArray[np.int64], matrices: list[Matrix]) -> NDArray[np.int64]:
    """Clip thresholds to [sum of negative weights, sum of positive weights + 1]; same spikes (docs/mapping.md)."""
    low = np.zeros(len(theta), np.int64)
    high = np.ones(len(theta), np.int64)
    for matrix in matrices:
        low += np.asarray(matrix.minimum(0).sum(axis=1), np.int64)
        high += np.asarray(matrix.maximum(0).sum(axis=1), np.int64)
    return np.clip(theta, low, high)


def legalise(
    rollout: Rollout, chip: ChipSpec, *, stretch: int | None = None, split: frozenset[EdgeKey] = frozenset()
) -> Legalised:
    """Turn a rollout's schedule into ticks and legal delays.

    Parameters
    ----------
    rollout : Rollout
        Network, pattern and execution.
    chip : ChipSpec
        Gives the delay range.
    stretch : int, optional
        Ticks of an update step; by default as few as the delays need.
    split : frozenset of (str, str)
        Edges whose spikes go over splitters. Their delay must have room for two hops.

    Returns
    -------
    Legalised
        Populations in the order of the network's nodes, then relays and splitters.

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    DoesNotFitError
        If a delay cannot be given with the ticks per step that were asked for.
    """
    network = rollout.network
    require_weights(network)
    if stretch is None:
        stretch = ticks_per_step(rollout, chip)
    period = rollout.frame_period * stretch
    inner = [n for n in network.nodes if n not in network.inputs]
    origin = max(0, -min(rollout.phases[n] for n in inner)) * stretch
    roles = dict.fromkeys(network.inputs, "input") | dict.fromkeys(network.outputs, "output")
    ports = tuple(
        NodePort(n, node.size, roles.get(n, "hidden"), rollout.phases[n] * stretch + origin - period)
        for n, node in network.nodes.items()
    )
    position = {port.name: i for i, port in enumerate(ports)}
    number = {n: i for i, n in enumerate(inner)}
    matrices = {key: edge.matrix().astype(np.int64) for key, edge in network.edges.items()}
    into: dict[str, list[Matrix]] = {n: [] for n in inner}
    for (_, v), matrix in matrices.items():
        into[v].append(matrix)
    builder = _Builder(chip, [_whole_node(network.nodes[n], into[n], position[n], ports[position[n]]) for n in inner])

    hops = _hops(rollout, chip, stretch, split, matrices)
    needed: dict[str, list[NDArray[np.int64]]] = {}
    for e, way in hops.items():  # relays and splitters of a source carry every neuron that some edge reads over them
        if len(way) > 1:
            needed.setdefault(e[0], []).append(np.unique(matrices[e].indices).astype(np.int64))
    carried = {u: np.unique(np.concatenate(read)) for u, read in needed.items()}
    host_links = []
    for (u, v), matrix in matrices.items():
        groups = getattr(network.edges[u, v].transform, "groups", None)
        if u in network.inputs:
            streaming = rollout.pattern[u, v]
            arrival = rollout.phases[v] * stretch + origin + (streaming - 1) * period
            host_links.append(HostLink(position[u], number[v], matrix, arrival, 1 - streaming, groups))
        elif (u, v) in hops:
            needs = carried.get(u, np.arange(0))
            builder.connect(number[u], number[v], matrix, hops[u, v], needs, groups, (u, v) in split)
    shapes = tuple(node.shape for node in network.nodes.values() if node.shape is not None)
    return Legalised(
        ports, shapes, tuple(builder.populations), tuple(builder.links), tuple(host_links), period, stretch
    )


def _whole_node(node: Node, into: list[Matrix], position: int, port: NodePort) -> Population:
    assert node.threshold is not None, "require_weights saw to it"
    theta = _clip(node.threshold.astype(np.int64), into)
    is_output = port.kind == "output"
    return Population(port.name, position, np.arange(node.size), node.shape, theta, False, is_output, port.sample_tick)


def _hops(
    rollout: Rollout, chip: ChipSpec, stretch: int, split: frozenset[EdgeKey], matrices: Mapping[EdgeKey, Matrix]
) -> dict[EdgeKey, tuple[int, ...]]:
    """Say how every edge on the chip that has weights is given its delay, in ticks."""
    least, greatest = chip.delay
    inputs = set(rollout.network.inputs)
    ticks = {e: d * stretch for e, d in rollout.delays.items() if e[0] not in inputs and matrices[e].nnz}
    long: dict[str, set[int]] = {}
    refused: list[DoesNotFitError | None] = []
    is_chosen = chosen_period(rollout.execution) is not None
    for e, delay in ticks.items():
        if hops_of_delay(delay, least, greatest) is None:
            raise refuse_delay(e, delay, stretch, ticks_per_step(rollout, chip), chip)
        if delay > greatest:
            sources = len(np.unique(matrices[e].indices))
            refused.append(refuse_chain(e, delay, sources, chip, is_chosen=is_chosen))
            long.setdefault(e[0], set()).add(delay)
    if worst := [refusal for refusal in refused if refusal is not None]:
        raise min(worst, key=lambda refusal: refusal.infeasibility.bound)
    shared = {u: shared_hops(delays, least, greatest) for u, delays in long.items()}
    hops = {}
    for e, delay in ticks.items():
        if delay > greatest:
            hops[e] = shared[e[0]][delay]
        elif e in split:
            hops[e] = (least, delay - least)
        else:
            hops[e] = (delay,)
    return hops
