"""What legalising makes of a rollout: populations, and links whose delays one neuron can give.

A *population* is a node of the network, a set of relays or splitters, or the parts of a sum that is wider than a core.
Relays and splitters are the frame neuron with weight 1 and threshold 1, so the stages after this one need no special
case for them (Fischer et al. 2018, section 2: edges that bridge more than one frame are subsumed by copy-nodes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.times import Time
from neuromap.forms.card import Card
from neuromap.hardware.program.ports import NodePort
from neuromap.network.neurons.leak_neuron import LeakNeuron
from neuromap.network.neurons.spiking_neuron import SpikingNeuron

__all__ = ["HostLink", "Legalised", "Link", "Matrix", "Population"]

Matrix: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"


@dataclass(frozen=True, eq=False)
class Population(Card):
    """Neurons that are mapped together."""

    name: str  # name for messages
    node: int  # position of the node in ``Legalised.ports``; for relays that of the node whose spikes they carry
    neurons: NDArray[np.int64]  # (n,): neuron within the node
    # rows, columns, features where the population is a whole node; ``None`` for relays and splitters
    shape: tuple[int, int, int] | None
    threshold: NDArray[np.int64]  # (n,): theta, clipped to where it still matters
    # is_relay, is_output, is_splitter: its role; splitters are relays as well
    is_relay: bool
    is_output: bool
    sample_tick: Time  # tick of frame 0, exact
    is_splitter: bool = False
    # (n,): neurons that have a copy though nobody reads them, so that they can be recorded; None where there are none
    kept: NDArray[np.bool_] | None = None
    neuron: SpikingNeuron | None = None  # what spiking neurons compute, one value per neuron; None for frame neurons
    is_part: bool = False  # whether they hold parts of the sums of the node's neurons; then they are relays as well

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def leak_neuron(self, neurons: NDArray[np.int64]) -> LeakNeuron | None:
        """Return some neurons as what keeps its potential on a crossbar; ``None`` where they are frame neurons."""
        return self.neuron.take(neurons) if isinstance(self.neuron, LeakNeuron) else None

    @property
    def own_copies(self) -> NDArray[np.int64]:
        """Copies that feed no axon: one of every neuron that is read out or kept; shape (n,)."""
        kept = self.kept if self.kept is not None else np.zeros(len(self.neurons), bool)
        return (kept | self.is_output).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Link(Card):
    """Spikes from one population to another with a delay that one neuron can give."""

    # source, target: positions in ``Legalised.populations``
    source: int
    target: int
    matrix: Matrix  # (n_target, n_source): weights
    delay: int  # ticks
    groups: int | None = None  # groups of the network's edge where its transform has them; remedies name them
    current: int = 0  # which of the target's currents is fed, for spiking neurons with several; else 0

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class HostLink(Card):
    """Spikes that the host delivers to a population."""

    node: int  # position of the input node in ``Legalised.ports``; or ``BIAS``, of spikes that come in every frame
    target: int  # position in ``Legalised.populations``
    matrix: Matrix  # (n_target, n_source): weights
    arrival: Time  # tick at which frame 0 arrives or would arrive, exact
    first_frame: int  # 0 where the edge is streaming, else 1
    groups: int | None = None  # groups of the network's edge where its transform has them; remedies name them
    current: int = 0  # which of the target's currents is fed, for spiking neurons with several; else 0

    def __post_init__(self) -> None:
        freeze_arrays(self)


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
