"""Signals: what an axon carries, so that tiles in one core can share the axons that carry the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.arrays.ragged import run_heads
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.legalise.legalised import HostLink, Legalised
from neuromap.mapping.legalise.sources import Sources
from neuromap.mapping.tile.tile import Tile

__all__ = ["BIAS_SIGNAL", "FROM_CHIP", "FROM_HOST", "Signals", "signals_of"]

Ints = NDArray[np.int64]
FROM_CHIP, FROM_HOST, BIAS_SIGNAL = 0, 1, 2
FIELDS = ("kind", "source", "neuron", "tick", "first_frame")
"""What a signal is, in the order of the columns of tables here, by which signals are numbered."""


@dataclass(frozen=True, eq=False)
class Signals(Value):
    """The distinct signals of a partition (S of them), and which one every axon of every tile carries."""

    # Two axons with one signal get the same spikes at the same ticks.

    kind: Ints  # (S,): ``FROM_CHIP``, ``FROM_HOST`` or ``BIAS_SIGNAL``
    source: Ints  # (S,): population, input node (position in ``Legalised.ports``), or -1
    neuron: Ints  # (S,): neuron within the source; 0 for bias
    # (S,): delay of a neuron's spike in ticks, or when the host's frame 0 arrives, in parts of a tick
    # (``arrays/times.py``)
    tick: Ints
    first_frame: Ints  # (S,): first frame that the host delivers; 0 for signals from the chip
    of_axon: tuple[Ints, ...]  # (axons of the tile,): signal of every axon, tile by tile

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        return len(self.kind)


def signals_of(network: Legalised, sources: Sequence[Sources], tiles: Sequence[Tile]) -> Signals:
    """Find what every axon carries and number the distinct signals."""
    by_column = [_signals_of_columns(network.period, joined) for joined in sources]
    tables = [np.zeros((0, len(FIELDS)), np.int64), *(_signals_of_axons(network, by_column, tile) for tile in tiles)]
    wanted = np.concatenate(tables)
    order = np.lexsort(wanted.T[::-1])
    ranked = wanted[order]
    new = run_heads(ranked)
    number = np.empty(len(ranked), np.int64)
    number[order] = np.cumsum(new) - 1
    ends = np.cumsum([len(table) for table in tables])
    of_axon = tuple(piece.copy() for piece in np.split(number, ends[:-1])[1:])
    columns = {name: column.copy() for name, column in zip(FIELDS, ranked[new].T, strict=True)}
    return Signals(**columns, of_axon=of_axon)


def _signals_of_axons(network: Legalised, by_column: Sequence[Ints], tile: Tile) -> Ints:
    """Say what every axon of a tile carries; shape (axons, fields)."""
    table = np.empty((tile.plan.n_axons, len(FIELDS)), np.int64)
    bias = tile.plan.source == BIAS
    table[~bias] = by_column[tile.population][tile.columns[tile.plan.source[~bias]]]
    (computed,) = in_parts([network.populations[tile.population].sample_tick], network.period)
    table[bias] = (BIAS_SIGNAL, -1, 0, computed, 1)
    return table


def _signals_of_columns(period: Time, joined: Sources) -> Ints:
    """Say what every column of a population's joined matrix carries; shape (columns, fields)."""
    table = np.zeros((len(joined.link_of), len(FIELDS)), np.int64)
    for number, link in enumerate(joined.links):
        here = joined.link_of == number
        neuron = joined.neuron_of[here]
        row: tuple[int | Ints, ...]
        if isinstance(link, HostLink) and link.node == BIAS:
            row = (BIAS_SIGNAL, -1, 0, in_parts([link.arrival], period), link.first_frame)
        elif isinstance(link, HostLink):
            row = (FROM_HOST, link.node, neuron, in_parts([link.arrival], period), link.first_frame)
        else:
            row = (FROM_CHIP, link.source, neuron, link.delay, 0)
        table[here] = np.stack(np.broadcast_arrays(*row, neuron)[: len(FIELDS)], axis=1)
    return table
