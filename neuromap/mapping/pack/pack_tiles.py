"""Pack tiles into cores: several nodes may share a core, and its axons where they carry the same signal.

Tiles are placed in falling size, each into the open core that it fills best; an axon that the core has already,
with the same signal, costs nothing. Types may be renamed freely: neurons have weights of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.ragged import ragged_ranges, rank_in_run
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.pack.signals import BIAS_SIGNAL, Signals
from neuromap.mapping.tile.tile import Tile

__all__ = ["CoreLayout", "alone", "pack", "ranks"]

Ints = NDArray[np.int64]
TRIED = 16
"""Cores that are looked at closely for a tile, the likeliest first."""


@dataclass(frozen=True, eq=False)
class CoreLayout:
    """Tiles that share a core.

    Attributes
    ----------
    tiles : tuple of int
        Positions in ``Partition.tiles``.
    axon_of : tuple of ndarray of int64, each of shape (axons of the tile,)
        Axon of the core for every axon of each tile; tiles meet on an axon only if it carries one signal.
    type_of : tuple of ndarray of int64, each of shape (axon_types,)
        Axon type of the core for every type of each tile, a permutation.
    n_axons : int
        Axons in use.
    """

    tiles: tuple[int, ...]
    axon_of: tuple[Ints, ...]
    type_of: tuple[Ints, ...]
    n_axons: int

    def __post_init__(self) -> None:
        freeze_arrays(self)


def alone(tiles: Sequence[Tile], model: CoreModel) -> tuple[CoreLayout, ...]:
    """Give every tile a core of its own.

    Parameters
    ----------
    tiles : sequence of Tile
        Each legal alone.
    model : CoreModel
        Axon types of a core.

    Returns
    -------
    tuple of CoreLayout
        One per tile, in their order.
    """
    return tuple(_alone(number, tile, model) for number, tile in enumerate(tiles))


def _alone(number: int, tile: Tile, model: CoreModel) -> CoreLayout:
    n_axons = tile.plan.n_axons
    return CoreLayout((number,), (np.arange(n_axons),), (np.arange(model.axon_types),), n_axons)


class _OpenCore:
    """A core that is being filled. An axon's *code* holds its signal, type and rank, in this order."""

    def __init__(self, n_types: int, n_ranks: int) -> None:
        self.n_types, self.n_ranks = n_types, n_ranks
        self.codes = np.zeros(0, np.int64)  # ascending
        self.axons = np.zeros(0, np.int64)  # axon of the core for each
        self.neurons = 0
        self.tiles: list[int] = []
        self.axon_of: list[Ints] = []
        self.type_of: list[Ints] = []

    def code(self, signal: Ints, types: Ints, rank: Ints) -> Ints:
        """Code of axons."""
        return (signal * self.n_types + types) * self.n_ranks + rank

    def add(self, number: int, tile: Tile, signal: Ints, rank: Ints, types: Ints) -> None:
        """Add a tile whose types are renamed."""
        codes = self.code(signal, types[tile.plan.axon_type], rank)
        new = codes[~np.isin(codes, self.codes)]
        order = np.argsort(np.concatenate([self.codes, new]), kind="stable")
        self.axons = np.concatenate([self.axons, len(self.axons) + np.arange(len(new))])[order]
        self.codes = np.concatenate([self.codes, new])[order]
        self.tiles.append(number)
        self.axon_of.append(self.axons[np.searchsorted(self.codes, codes)])
        self.type_of.append(types)
        self.neurons += int(tile.copies.sum())

    def fit(self, tile: Tile, signal: Ints, rank: Ints) -> tuple[Ints, int]:
        """Choose the tile's types so that most axons are shared; return them and the axons shared."""
        per_signal = self.n_types * self.n_ranks
        start = np.searchsorted(self.codes, signal * per_signal)
        lengths = np.searchsorted(self.codes, (signal + 1) * per_signal) - start
        there = self.codes[ragged_ranges(start, lengths)] // self.n_ranks % self.n_types
        pair = np.repeat(tile.plan.axon_type, lengths) * self.n_types + there
        agree = np.bincount(pair, minlength=self.n_types**2).reshape(self.n_types, self.n_types)
        if not agree.any():
            return np.arange(self.n_types), 0
        types = np.asarray(linear_sum_assignment(agree, maximize=True)[1], np.int64)
        codes = self.code(signal, types[tile.plan.axon_type], rank)
        return types, int(np.isin(codes, self.codes).sum())


def ranks(signal: Ints, types: Ints) -> Ints:
    """Rank of every axon of a tile among those with its signal and type.

    Parameters
    ----------
    signal, types : ndarray of int64, shape (axons,)
        Signal and axon type of every axon.

    Returns
    -------
    ndarray of int64, shape (axons,)
        0 for the first of its kind.
    """
    order = np.lexsort((types, signal))
    rank = np.empty(len(order), np.int64)
    rank[order] = rank_in_run(signal[order], types[order])
    return rank


def pack(
    tiles: Sequence[Tile], signals: Signals, model: CoreModel, pinned: Collection[int] = ()
) -> tuple[CoreLayout, ...]:
    """Pack tiles into few cores.

    Parameters
    ----------
    tiles : sequence of Tile
        Each legal alone.
    signals : Signals
        Of these tiles.
    model : CoreModel
        Axons and neurons of a core.
    pinned : collection of int
        Populations whose tiles share their cores with nothing.

    Returns
    -------
    tuple of CoreLayout
        Every tile is in one of them.
    """
    size = np.array([[t.plan.n_axons, t.copies.sum()] for t in tiles], np.int64).reshape(-1, 2)
    share = size / (model.axons, model.neurons)
    order = np.lexsort((np.arange(len(tiles)), -share.sum(axis=1), -share.max(axis=1, initial=0)))
    least = size.min(axis=0, initial=max(model.axons, model.neurons))  # a core with less room takes nothing more
    cores: list[_OpenCore] = []
    readers: dict[int, list[int]] = {}
    free_axons, free_neurons = (np.full(len(tiles), -1) for _ in range(2))  # -1 in cores that take nothing more
    bias = signals.kind == BIAS_SIGNAL
    lonely = size[:, 1] + least[1] > model.neurons  # no other tile can join
    lonely |= np.array([tile.population in pinned for tile in tiles], bool)
    for number in order[~lonely[order]].tolist():
        tile, signal = tiles[number], signals.of_axon[number]
        axons, neurons = size[number].tolist()
        rank = ranks(signal, tile.plan.axon_type)
        distinct, times = np.unique(signal, return_counts=True)
        best: tuple[float, int, Ints] | None = None
        here = np.flatnonzero(free_neurons[: len(cores)] >= neurons)
        if len(here):
            seen = [c for s in distinct[~bias[distinct]].tolist() for c in readers.get(s, ())]
            most = int(times.max(initial=1))
            bias_axons = int(times[bias[distinct]].sum())
            shared = np.bincount(np.array(seen, np.int64), minlength=len(cores))[here] * most + bias_axons
            free = free_axons[here]
            likely = free + np.minimum(shared, axons) >= axons
            here, shared, free = here[likely], shared[likely], free[likely]
            waste = (
                free / model.axons + free_neurons[here] / model.neurons - 3 * np.minimum(shared, axons) / model.axons
            )
            for c in here[np.argsort(waste, kind="stable")[:TRIED]].tolist():
                types, same = cores[c].fit(tile, signal, rank)
                if free_axons[c] + same < axons:
                    continue
                left = (free_axons[c] + same - axons) / model.axons + (free_neurons[c] - neurons) / model.neurons
                score = left - 2 * same / model.axons
                if best is None or score < best[0]:
                    best = (score, c, types)
        if best is None:
            best = (0.0, len(cores), np.arange(model.axon_types))
            cores.append(_OpenCore(model.axon_types, model.axons))
        _, c, types = best
        core = cores[c]
        core.add(number, tile, signal, rank, types)
        room = model.axons - len(core.codes), model.neurons - core.neurons
        if (room < least).any():
            free_axons[c] = free_neurons[c] = -1
        else:
            free_axons[c], free_neurons[c] = room
            for s in distinct.tolist():
                readers.setdefault(s, []).append(c)
    shared_cores = [
        CoreLayout(tuple(core.tiles), tuple(core.axon_of), tuple(core.type_of), len(core.codes)) for core in cores
    ]
    return (*shared_cores, *(_alone(number, tiles[number], model) for number in np.flatnonzero(lonely).tolist()))
