"""Pack whole tiles into cores: several nodes may share a core, and its axons where they carry the same signal.

Tiles are packed in falling size, each into the open core that it fills best; an axon that the core has already,
with the same signal, costs nothing. Types may be renamed freely: neurons have weights of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import permutations
from typing import overload

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.partition.axon_keys import AxonKeys, ranks
from neuromap.mapping.partition.core_layout import CoreLayout, layout_alone
from neuromap.mapping.partition.signals import BIAS_SIGNAL, Signals
from neuromap.mapping.tile.tile import Tile

__all__ = ["pack"]

Ints = NDArray[np.int64]
TRIED = 16
"""Cores that are looked at closely for a tile, the likeliest first."""
MOST_NAMINGS = 4
"""Types up to which all ways to name them are tried."""
SHARED_WORTH = 2
"""Worth of a shared axon, where an axon left over costs 1: it leaves one over, which is no waste, and saves one."""
HOPED_WORTH = 3
"""The same before it is known how many can be shared: more, so that cores that share most are among those looked at."""
CLOSED = -1
"""Free axons and neurons of a core that takes nothing more."""


def pack(
    tiles: Sequence[Tile], signals: Signals, model: CoreModel, pinned: Collection[int] = ()
) -> tuple[CoreLayout, ...]:
    """Pack tiles into few cores."""
    size = np.array([[t.plan.n_axons, t.copies.sum()] for t in tiles], np.int64).reshape(-1, 2)
    least = size.min(axis=0, initial=max(model.axons, model.neurons))
    lonely = size[:, 1] + least[1] > model.neurons  # no other tile can join
    lonely |= np.array([tile.population in pinned for tile in tiles], bool)
    order = _largest_first(size / (model.axons, model.neurons))
    cores = _OpenCores(signals.kind == BIAS_SIGNAL, model, least, len(tiles))
    for number in order[~lonely[order]].tolist():
        cores.add(_Item(number, tiles[number], signals.of_axon[number]))
    return (*cores.layouts(), *(layout_alone(n, tiles[n], model) for n in np.flatnonzero(lonely).tolist()))


def _largest_first(share: NDArray[np.float64]) -> Ints:
    """Order tiles by the greater of their shares of a core, falling, then by the sum of both; shape (tiles, 2)."""
    order: Ints = np.lexsort((np.arange(len(share)), -share.sum(axis=1), -share.max(axis=1, initial=0)))
    return order


class _Item:
    """A tile that is being packed."""

    def __init__(self, number: int, tile: Tile, signal: Ints) -> None:
        self.number, self.signal = number, signal
        self.axon_type = tile.plan.axon_type
        self.rank = ranks(signal, self.axon_type)
        self.axons, self.neurons = tile.plan.n_axons, int(tile.copies.sum())


class _OpenCore:
    """A core that is being filled."""

    def __init__(self, model: CoreModel) -> None:
        self._n_types = model.axon_types
        self._key = AxonKeys(model.axon_types, model.axons)
        self._keys = np.zeros(0, np.int64)  # ascending
        self._axons = np.zeros(0, np.int64)  # axon of the core for each
        self._tiles: list[int] = []
        self._axon_of: list[Ints] = []
        self._type_of: list[Ints] = []
        self.neurons = 0

    @property
    def axons(self) -> int:
        """Axons in use."""
        return len(self._keys)

    def add(self, item: _Item, types: Ints) -> None:
        """Add a tile whose types are renamed."""
        keys = self._key.encode(item.signal, types[item.axon_type], item.rank)
        new = keys[~np.isin(keys, self._keys)]
        order = np.argsort(np.concatenate([self._keys, new]), kind="stable")
        self._axons = np.concatenate([self._axons, self.axons + np.arange(len(new))])[order]
        self._keys = np.concatenate([self._keys, new])[order]
        self._tiles.append(item.number)
        self._axon_of.append(self._axons[np.searchsorted(self._keys, keys)])
        self._type_of.append(types)
        self.neurons += item.neurons

    def fit(self, item: _Item) -> tuple[Ints, int]:
        """Choose the tile's types so that most axons are shared; return them and the axons shared."""
        start = np.searchsorted(self._keys, self._key.first_of(item.signal))
        lengths = np.searchsorted(self._keys, self._key.first_of(item.signal + 1)) - start
        there = self._key.axon_type(self._keys[ragged_ranges(start, lengths)])
        pair = np.repeat(item.axon_type, lengths) * self._n_types + there
        agree = np.bincount(pair, minlength=self._n_types**2).reshape(self._n_types, self._n_types)
        if not agree.any():
            return np.arange(self._n_types), 0
        types = _best_naming(agree)
        keys = self._key.encode(item.signal, types[item.axon_type], item.rank)
        return types, int(np.isin(keys, self._keys).sum())

    def layout(self) -> CoreLayout:
        """Say where every axon and type went."""
        return CoreLayout(tuple(self._tiles), tuple(self._axon_of), tuple(self._type_of), self.axons)


def _best_naming(agree: Ints) -> Ints:
    """Name types after others, one to one, so that most axons agree; shape (types, types) in, (types,) out."""
    n_types = len(agree)
    if n_types > MOST_NAMINGS:
        from scipy.optimize import linear_sum_assignment  # takes longer to import than most mappings take

        return np.asarray(linear_sum_assignment(agree, maximize=True)[1], np.int64)
    namings = _namings(n_types)
    best = int(np.argmax(agree[np.arange(n_types), namings].sum(axis=1)))
    return np.asarray(namings[best])


@cache
def _namings(n_types: int) -> Ints:
    """All ways to name types, the one that changes nothing first."""
    return np.array(list(permutations(range(n_types))), np.int64)


class _OpenCores:
    """The cores that are being filled, their room, and which of them have an axon for a signal."""

    def __init__(self, is_bias: NDArray[np.bool_], model: CoreModel, least: Ints, most_cores: int) -> None:
        self._is_bias, self._model = is_bias, model
        self._least = least  # a core with less room takes nothing more
        self._cores: list[_OpenCore] = []
        self._free_axons, self._free_neurons = (np.full(most_cores, CLOSED) for _ in range(2))
        self._having: dict[int, list[int]] = {}

    def add(self, item: _Item) -> None:
        """Put a tile into the core that it fills best, or into a new one."""
        signals, times = np.unique(item.signal, return_counts=True)
        number, types = self._best_or_new(item, self._likely(item, signals, times))
        core = self._cores[number]
        core.add(item, types)
        room = self._model.axons - core.axons, self._model.neurons - core.neurons
        if (room < self._least).any():
            self._free_axons[number] = self._free_neurons[number] = CLOSED
            return
        self._free_axons[number], self._free_neurons[number] = room
        for signal in signals.tolist():
            self._having.setdefault(signal, []).append(number)

    def _likely(self, item: _Item, signals: Ints, times: Ints) -> list[int]:
        """List the cores that may take a tile, if all of its axons are shared that could be; the likeliest first."""
        here = np.flatnonzero(self._free_neurons[: len(self._cores)] >= item.neurons)
        if not len(here):
            return []
        bias = self._is_bias[signals]
        having = [core for signal in signals[~bias].tolist() for core in self._having.get(signal, ())]
        most = int(times.max(initial=1))  # axons of the tile for one signal
        shared = np.bincount(np.array(having, np.int64), minlength=len(self._cores))[here] * most
        shared = np.minimum(shared + int(times[bias].sum()), item.axons)
        able = self._free_axons[here] + shared >= item.axons
        here, shared = here[able], shared[able]
        waste = self._waste(self._free_axons[here], self._free_neurons[here], HOPED_WORTH * shared)
        likely: list[int] = here[np.argsort(waste, kind="stable")[:TRIED]].tolist()
        return likely

    def _best_or_new(self, item: _Item, likely: Iterable[int]) -> tuple[int, Ints]:
        """Choose the core with the least room left over, and the types of the tile there; open one if none takes it."""
        least, best = np.inf, None
        for number in likely:
            types, shared = self._cores[number].fit(item)
            axons_left = int(self._free_axons[number]) + shared - item.axons
            if axons_left < 0:
                continue
            neurons_left = int(self._free_neurons[number]) - item.neurons
            waste = self._waste(axons_left, neurons_left, SHARED_WORTH * shared)
            if waste < least:
                least, best = waste, (number, types)
        if best is None:
            best = len(self._cores), np.arange(self._model.axon_types)
            self._cores.append(_OpenCore(self._model))
        return best

    @overload
    def _waste(self, axons_left: int, neurons_left: int, saved: int) -> float: ...

    @overload
    def _waste(self, axons_left: Ints, neurons_left: Ints, saved: Ints) -> NDArray[np.float64]: ...

    def _waste(
        self, axons_left: int | Ints, neurons_left: int | Ints, saved: int | Ints
    ) -> float | NDArray[np.float64]:
        """Add up the room left over, as shares of a core, less the axons that sharing saves; of one core or of many."""
        return axons_left / self._model.axons + neurons_left / self._model.neurons - saved / self._model.axons

    def layouts(self) -> list[CoreLayout]:
        """List all cores."""
        return [core.layout() for core in self._cores]
