"""Spikes of a run over ticks, node by node, for pictures: bounded, whatever the program is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card

__all__ = ["SpikeRaster"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SpikeRaster(Card):
    """S spikes of some neurons of every node, from tick 0 on; spikes of all C cores as sums."""

    names: tuple[str, ...]  # nodes, in the order of the program
    sizes: tuple[int, ...]  # neurons of each node
    every: tuple[int, ...]  # of each node every so-manieth neuron is kept: the 1st, the 1 + ``every``-th,
    n_ticks: int  # ticks of the run that are kept
    # tick, node, neuron: (S,): when a neuron fires, or an input node samples a spike; position in ``names``; neuron
    # within the node. Copies of a neuron are one, relays and splitters none
    tick: Ints
    node: Ints
    neuron: Ints
    samples: tuple[Ints, ...]  # for every node the ticks in which it samples or computes a frame
    core_spikes: Ints  # (C,): spikes of all neurons of every core in these ticks, copies and relays included

    def __post_init__(self) -> None:
        freeze_arrays(self)
