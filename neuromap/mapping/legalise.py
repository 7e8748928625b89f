"""Legalise a rollout: from update steps to ticks, and from long delays to relays.

The result is a graph of *populations* whose links all have delays that the chip can hold. A population is
a node of the network or a set of relays. A relay is the frame neuron with weight 1 and threshold 1, so the stages after
this one need no special case for it (Fischer et al. 2018, section 2: edges that bridge more
than one frame are subsumed by copy-nodes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.frozen import freeze_arrays
from neuromap.hardware.program import NodePort
from neuromap.network import require_weights

if TYPE_CHECKING:
    from neuromap.hardware.chip import ChipSpec
    from neuromap.rollout.schedule import Rollout

__all__ = ["HostLink", "Legalised", "Link", "Population", "hops_of_delay", "legalise", "ticks_per_step"]

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
        Rows, columns, features where the population is a whole node; ``None`` for relays.
    threshold : ndarray of int64, shape (n,)
        theta, clipped to where it still matters.
    is_relay, is_output : bool
        Its role.
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
        Nodes that are not inputs, in the network's order, then relays.
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


def hops_of_delay(delay: int, least: int, greatest: int) -> tuple[int, ...] | None:
    """Split a delay into as few legal hops as possible, full ones first.

    Parameters
    ----------
    delay, least, greatest : int
        Ticks: the delay, and the range that one neuron can give.

    Returns
    -------
    tuple of int or None
        Delays of the hops; ``None`` where no split is legal.
    """
    hops = -(-delay // greatest)
    if hops * least > delay:
        return None
    split = [greatest] * (hops - 1) + [delay - greatest * (hops - 1)]
    place = hops - 2
    while split[-1] < least:  # borrow from the full hops; each can lend greatest - least
        lent = min(least - split[-1], greatest - least)
        split[place] -= lent
        split[-1] += lent
        place -= 1
    return tuple(split)


def ticks_per_step(rollout: Rollout, chip: ChipSpec) -> int:
    """Find the smallest stretch of an update step for which every edge's delay can be given by hops.

    Edges from inputs are free: the host delivers (docs/mapping.md). The chip's least delay always works.
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
    """Collects populations and links; relays of one source are shared where their delays agree."""

    chip: ChipSpec
    populations: list[Population]
    links: list[Link] = field(default_factory=list)
    relays: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    def connect(
        self, source: int, target: int, matrix: Matrix, delay: int, needed: NDArray[np.int64], groups: int | None
    ) -> None:
        """Link two populations, over relays where the delay is too long for one neuron."""
        hops = hops_of_delay(delay, *self.chip.delay)
        assert hops is not None, "ticks_per_step admits feasible delays only"
        if len(hops) == 1:
            self.links.append(Link(source, target, matrix, delay, groups))
            return
        relay = source
        for last in range(1, len(hops)):
            relay = self._relay(source, relay, hops[:last], needed)
        columns = self.populations[relay].neurons
        self.links.append(Link(relay, target, sparse.csr_array(matrix[:, columns]), hops[-1], groups))

    def _relay(self, origin: int, before: int, hops: tuple[int, ...], needed: NDArray[np.int64]) -> int:
        key = (origin, hops)
        if key not in self.relays:
            source, size = self.populations[origin], len(needed)
            self.relays[key] = len(self.populations)
            tick = self.populations[before].sample_tick + hops[-1]
            self.populations.append(
                Population(
                    name=f"{source.name} relay {len(hops)}",
                    node=source.node,
                    neurons=needed,
                    shape=None,
                    threshold=np.ones(size, np.int64),
                    is_relay=True,
                    is_output=False,
                    sample_tick=tick,
                )
            )
            wires = needed if before == origin else np.arange(size)
            matrix = sparse.csr_array(
                (np.ones(size, np.int64), (np.arange(size), wires)),
                shape=(size, len(self.populations[before].neurons)),
            )
            self.links.append(Link(before, self.relays[key], matrix, hops[-1]))
        return self.relays[key]


def _clip(theta: NDArray[np.int64], matrices: list[Matrix]) -> NDArray[np.int64]:
    """Clip thresholds to [sum of negative weights, sum of positive weights + 1]; same spikes (docs/mapping.md)."""
    low = np.zeros(len(theta), np.int64)
    high = np.ones(len(theta), np.int64)
    for matrix in matrices:
        low += np.asarray(matrix.minimum(0).sum(axis=1), np.int64)
        high += np.asarray(matrix.maximum(0).sum(axis=1), np.int64)
    return np.clip(theta, low, high)


def legalise(rollout: Rollout, chip: ChipSpec) -> Legalised:
    """Turn a rollout's schedule into ticks and legal delays.

    Parameters
    ----------
    rollout : Rollout
        Network, pattern and execution.
    chip : ChipSpec
        Gives the delay range.

    Returns
    -------
    Legalised
        Populations in the order of the network's nodes, then relays.

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    """
    network, pattern = rollout.network, rollout.pattern
    require_weights(network)
    stretch = ticks_per_step(rollout, chip)
    period = rollout.frame_period * stretch
    inner = [n for n in network.nodes if n not in network.inputs]
    origin = max(0, -min(rollout.phases[n] for n in inner)) * stretch

    def tick(step: int) -> int:
        return step * stretch + origin

    roles = dict.fromkeys(network.inputs, "input") | dict.fromkeys(network.outputs, "output")
    ports = tuple(
        NodePort(n, network.nodes[n].size, roles.get(n, "hidden"), tick(rollout.phases[n]) - period)
        for n in network.nodes
    )
    position = {port.name: i for i, port in enumerate(ports)}
    number = {n: i for i, n in enumerate(inner)}
    matrices = {key: edge.matrix().astype(np.int64) for key, edge in network.edges.items()}
    populations = []
    for n in inner:
        node = network.nodes[n]
        assert node.threshold is not None, "require_weights saw to it"
        theta = _clip(node.threshold.astype(np.int64), [m for (_, v), m in matrices.items() if v == n])
        port = ports[position[n]]
        populations.append(
            Population(
                n,
                position[n],
                np.arange(node.size),
                node.shape,
                theta,
                False,
                port.kind == "output",
                port.sample_tick,
            )
        )

    builder = _Builder(chip, populations)
    host_links = []
    long_delay = chip.delay[1]
    needed: dict[str, NDArray[np.int64]] = {}
    for u in inner:  # relays of a source carry every neuron that some long edge reads
        read = [
            np.unique(matrices[e].indices) for e in matrices if e[0] == u and rollout.delays[e] * stretch > long_delay
        ]
        if read:
            needed[u] = np.unique(np.concatenate(read)).astype(np.int64)
    for (u, v), matrix in matrices.items():
        streaming = pattern[u, v]
        groups = getattr(network.edges[u, v].transform, "groups", None)
        if u in network.inputs:
            arrival = tick(rollout.phases[v]) + (streaming - 1) * period
            host_links.append(HostLink(position[u], number[v], matrix, arrival, 1 - streaming, groups))
        elif matrix.nnz:
            delay = rollout.delays[u, v] * stretch
            builder.connect(number[u], number[v], matrix, delay, needed.get(u, np.arange(0)), groups)
    shapes = tuple(node.shape for node in network.nodes.values() if node.shape is not None)
    return Legalised(
        ports, shapes, tuple(builder.populations), tuple(builder.links), tuple(host_links), period, stretch
    )
