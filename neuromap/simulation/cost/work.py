"""What the cores of a program did in a run: synaptic events, by core and by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.card import Card

__all__ = ["NodeShares", "Work"]


@dataclass(frozen=True, eq=False)
class NodeShares(Card):
    """Which neurons of a core belong together: those of one node, relays apart (S shares)."""

    # A core that holds neurons of several nodes has several shares; neurons without a label make one too.

    core: NDArray[np.int64]  # (S,): the core; ascending
    node: NDArray[np.int64]  # (S,): position in ``Program.nodes``; -1 for neurons without a label
    is_relay: NDArray[np.bool_]  # (S,): whether these are relays or splitters, which bear the label of their source
    neurons: NDArray[np.int64]  # (S,): neurons of the share
    peak_events: NDArray[np.int64]  # (S,): most synaptic events of these neurons in one tick

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.core)


@dataclass(frozen=True, eq=False)
class Work(Card):
    """What the cores of a program did in a run of ticks; C cores.

    Attributes
    ----------
    n_ticks : int
        Ticks that were counted.
    spikes : int
        Neurons that fired, counted once per tick; those that are read out too.
    axon_events : int
        Axons that were due, counted once per tick.
    synaptic_events : int
        Synapses on those axons.
    neuron_updates : int
        Neurons times ticks. A crossbar core goes through all of its neurons in every tick, idle ones too; a core with
        synapse lists through those that are in use.
    core_events : ndarray of int64, shape (C,)
        Synaptic events of every core, summed over the ticks.
    peak_core_events : ndarray of int64, shape (C,)
        Most synaptic events of every core in one tick.
    nodes : tuple of str
        Names of all nodes of the program, which the shares count through.
    shares : NodeShares
        The same per node on every core.
    node_peak : mapping of str to int
        Most synaptic events that one core does for one node in one tick, for all nodes but the inputs; relays are
        left out. 0 for a node that never has any.
    """

    n_ticks: int
    spikes: int
    axon_events: int
    synaptic_events: int
    neuron_updates: int
    core_events: NDArray[np.int64]
    peak_core_events: NDArray[np.int64]
    nodes: tuple[str, ...]
    shares: NodeShares
    node_peak: Mapping[str, int]

    def __post_init__(self) -> None:
        freeze_arrays(self)
        object.__setattr__(self, "node_peak", ReadOnlyMapping(self.node_peak))
