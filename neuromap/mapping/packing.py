"""Pack tiles into cores: several nodes may share a core, and its axons where they carry the same signal.

Tiles are placed in falling size, each into the open core that it fills best; an axon that the core has already,
with the same signal, costs nothing. Types may be renamed freely: neurons have weights of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from neuromap.hardware.chip import ChipSpec
from neuromap.mapping.signals import Signals
from neuromap.mapping.tiling import Tile

__all__ = ["CoreLayout", "alone", "pack"]

Ints = NDArray[np.int64]


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
        for arrays in (self.axon_of, self.type_of):
            for array in arrays:
                array.flags.writeable = False


def alone(tiles: Sequence[Tile], chip: ChipSpec) -> tuple[CoreLayout, ...]:
    """Give every tile a core of its own."""
    types = np.arange(chip.axon_types)
    return tuple(
        CoreLayout((number,), (np.arange(tile.plan.n_axons),), (types.copy(),), tile.plan.n_axons)
        for number, tile in enumerate(tiles)
    )


@dataclass
class _OpenCore:
    """A core that is being filled; ``axons`` finds the axon of (signal, type, rank)."""

    axons: dict[tuple[int, int, int], int] = field(default_factory=dict)
    types_of_signal: dict[int, list[int]] = field(default_factory=dict)
    neurons: int = 0
    tiles: list[int] = field(default_factory=list)
    axon_of: list[Ints] = field(default_factory=list)
    type_of: list[Ints] = field(default_factory=list)

    def add(self, number: int, tile: Tile, signal: Ints, neurons: int, types: Ints) -> None:
        keys = _keys(signal, types[tile.plan.axon_type])
        axon_of = np.empty(len(keys), np.int64)
        for axon, key in enumerate(keys):
            if key not in self.axons:
                self.axons[key] = len(self.axons)
                self.types_of_signal.setdefault(key[0], []).append(key[1])
            axon_of[axon] = self.axons[key]
        self.tiles.append(number)
        self.axon_of.append(axon_of)
        self.type_of.append(types)
        self.neurons += neurons

    def fit(self, tile: Tile, signal: Ints) -> tuple[Ints, int]:
        """Choose the tile's types so that most axons are shared; return them and the axons shared."""
        n_types = tile.plan.weights.shape[1]
        agree = np.zeros((n_types, n_types), np.int64)
        for s, kind in zip(signal.tolist(), tile.plan.axon_type.tolist(), strict=True):
            for there in self.types_of_signal.get(s, ()):
                agree[kind, there] += 1
        if not agree.any():
            return np.arange(n_types), 0
        types = np.asarray(linear_sum_assignment(agree, maximize=True)[1], np.int64)
        keys = _keys(signal, types[tile.plan.axon_type])
        return types, sum(key in self.axons for key in keys)


def _keys(signal: Ints, types: Ints) -> list[tuple[int, int, int]]:
    """Name axons by signal, type, and rank among those that agree in both."""
    order = np.lexsort((types, signal))
    s, t = signal[order], types[order]
    new = np.ones(len(s), bool)
    new[1:] = (s[1:] != s[:-1]) | (t[1:] != t[:-1])
    start = np.flatnonzero(new)
    rank = np.empty(len(s), np.int64)
    rank[order] = np.arange(len(s)) - np.repeat(start, np.diff([*start, len(s)]))
    return list(zip(signal.tolist(), types.tolist(), rank.tolist(), strict=True))


def pack(tiles: Sequence[Tile], signals: Signals, chip: ChipSpec) -> tuple[CoreLayout, ...]:
    """Pack tiles into few cores.

    Parameters
    ----------
    tiles : sequence of Tile
        Each legal alone.
    signals : Signals
        Of these tiles.
    chip : ChipSpec
        Axons and neurons of a core.

    Returns
    -------
    tuple of CoreLayout
        Every tile is in one of them.
    """
    size = np.array([[t.plan.n_axons / chip.axons, t.copies.sum() / chip.neurons] for t in tiles]).reshape(-1, 2)
    order = np.lexsort((np.arange(len(tiles)), -size.sum(axis=1), -size.max(axis=1)))
    slack = 1 - size.min(axis=0, initial=1.0)  # a core fuller than this takes nothing more
    cores: list[_OpenCore] = []
    readers: dict[int, list[int]] = {}
    room = np.zeros((0, 2), np.int64)
    for number in order.tolist():
        tile, signal = tiles[number], signals.of_axon[number]
        axons, neurons = tile.plan.n_axons, int(tile.copies.sum())
        best: tuple[float, int, Ints] | None = None
        shared = np.zeros(len(cores), np.int64)
        if len(cores):
            for s in np.unique(signal).tolist():
                for c in readers.get(s, ()):
                    shared[c] += 1
            likely = (room[:, 1] >= neurons) & (room[:, 0] + np.minimum(4 * shared, axons) >= axons)
            for c in np.flatnonzero(likely).tolist():
                types, same = cores[c].fit(tile, signal) if shared[c] else (np.arange(chip.axon_types), 0)
                if room[c, 0] + same < axons:
                    continue
                left = (room[c, 0] + same - axons) / chip.axons + (room[c, 1] - neurons) / chip.neurons
                score = left - 2 * same / chip.axons
                if best is None or score < best[0]:
                    best = (score, c, types)
        if best is None:
            best = (0.0, len(cores), np.arange(chip.axon_types))
            cores.append(_OpenCore())
            room = np.append(room, [[chip.axons, chip.neurons]], axis=0)
        _, c, types = best
        core = cores[c]
        core.add(number, tile, signal, neurons, types)
        room[c] = chip.axons - len(core.axons), chip.neurons - core.neurons
        if (room[c] / (chip.axons, chip.neurons) < 1 - slack).any():
            room[c] = 0, -1  # closed
        else:
            for s in np.unique(signal).tolist():
                readers.setdefault(s, []).append(c)
    return tuple(
        CoreLayout(tuple(core.tiles), tuple(core.axon_of), tuple(core.type_of), len(core.axons)) for core in cores
    )
