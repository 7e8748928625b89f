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
    sample_tick : int or Fraction
        Tick of frame 0, exact.
    kept : ndarray of bool, shape (n,), or None
        Neurons that have a copy though nobody reads them, so that they can be recorded; None where there are none.
    neuron : SpikingNeuron or None
        What spiking neurons compute, one value per neuron; None for frame neurons.
    is_part : bool
        Whether they hold parts of the sums of the node's neurons; then they are relays as well.
    """

    name: str
    node: int
    neurons: NDArray[np.int64]
    shape: tuple[int, int, int] | None
    threshold: NDArray[np.int64]
    is_relay: bool
    is_output: bool
    sample_tick: Time
    is_splitter: bool = False
    kept: NDArray[np.bool_] | None = None
    neuron: SpikingNeuron | None = None
    is_part: bool = False

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
    current : int
        Which of the target's currents is fed, for spiking neurons with several; else 0.
    """

    source: int
    target: int
    matrix: Matrix
    delay: int
    groups: int | None = None
    current: int = 0

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class HostLink(Card):
    """Spikes that the host delivers to a population.

    Attributes
    ----------
    node : int
        Position of the input node in ``Legalised.ports``; or ``BIAS``, of spikes that come in every frame.
    target : int
        Position in ``Legalised.populations``.
    matrix : csr_array of int64, shape (n_target, n_source)
        Weights.
    arrival : int or Fraction
        Tick at which frame 0 arrives or would arrive, exact.
    first_frame : int
        0 where the edge is streaming, else 1.
    groups : int or None
        Groups of the network's edge where its transform has them; remedies name them.
    current : int
        Which of the target's currents is fed, for spiking neurons with several; else 0.
    """

    node: int
    target: int
    matrix: Matrix
    arrival: Time
    first_frame: int
    groups: int | None = None
    current: int = 0

    def __post_init__(self) -> None:
        freeze_arrays(self)


@dataclass(frozen=True, eq=False)
class Legalised(Card):
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
    period : int or Fraction
        Ticks between two frames, on average.
    ticks_per_step : int
        Ticks.
    """

    ports: tuple[NodePort, ...]
    shapes: tuple[tuple[int, int, int], ...]
    populations: tuple[Population, ...]
    links: tuple[Link, ...]
    host_links: tuple[HostLink, ...]
    period: Time
    ticks_per_step: int
