"""Partition a legalised network into cores: tile all populations, then pack the tiles.

Tiles that share a core share axons, so that they ask for fewer copies, which leaves room for more tiles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import overload

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.packed_rows import ragged_ranges
from neuromap.mapping.core.core_of import Cores, CrossbarCore
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Link, Sources, join_sources
from neuromap.mapping.options.budget import Budget
from neuromap.mapping.options.options import Pins
from neuromap.mapping.partition.share_cores import share_cores
from neuromap.mapping.partition.unpack_tiles import (
    BIAS_SIGNAL,
    FROM_CHIP,
    AxonKeys,
    CoreLayout,
    Signals,
    alone,
    layout_alone,
    ranks,
    signals_of,
)
from neuromap.mapping.tile.pinned_tiles import pinned_populations
from neuromap.mapping.tile.tile import Tile
from neuromap.mapping.tile.tile_all import take_copies, tile_all
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.render.value import Card

PACKINGS = 3
"""Times that tiles are packed: shared axons ask for fewer copies, which leaves room for more tiles."""


@dataclass(frozen=True, eq=False)
class Partition(Card):
    """Tiles of all populations, and the cores that hold them."""

    network: Legalised  # what was partitioned
    sources: tuple[Sources, ...]  # one per population
    tiles: tuple[Tile, ...]  # populations in order
    signals: Signals  # what the axons of the tiles carry
    cores: tuple[CoreLayout, ...]  # every tile is in one of them
    # the tiles as they were before packing, with the copies that they need in cores of their own
    apart: tuple[Tile, ...]

    def held(self, population: int) -> tuple[int, int]:
        """Count the copies of the neuron that has most, and cores that hold some of a population."""
        copies = np.zeros(len(self.network.populations[population].neurons), np.int64)
        for tile in self.tiles:
            if tile.population == population:
                np.add.at(copies, tile.neurons, tile.copies)
        cores = sum(any(self.tiles[t].population == population for t in core.tiles) for core in self.cores)
        return int(copies.max(initial=0)), cores

    def regions(self, pins: Pins) -> list[tuple[int, int, int, int] | None]:
        """Rectangle of the board within which every core must lie, by the pins of the nodes that it holds."""
        regions = []
        for core in self.cores:
            population = self.network.populations[self.tiles[core.tiles[0]].population]
            name = None if population.is_relay else self.network.ports[population.node].name
            regions.append(None if name is None else pins.regions.get(name))
        return regions


def partition(
    network: Legalised,
    cores: Cores,
    context: MappingContext,
) -> Partition:
    """Tile every population so that all tiles are legal, then pack whole tiles into cores."""
    # Cores may be more than the chip has; ``share_cores`` may still save some.
    sources = join_sources(network)
    options, known = context.options, context.tilings.packed
    name = None if context.budget.is_limited else digest_of(network)
    if name is not None and name in known:
        held, layouts, whole = known[name]
        return Partition(network, sources, held, signals_of(network, sources, held), layouts, whole)
    by_population = tile_all(network, sources, cores, context)
    tiles = [tile for i in range(len(sources)) for tile in by_population[i]]
    signals = signals_of(network, sources, tiles)
    layouts = alone(tiles, cores.model)
    apart = _with_copies(tiles, _copies_in_cores(network, signals, layouts))
    assert apart is not None, "tiles were made for these copies"
    tiles = apart
    if options.packing:
        tiles, layouts = _pack(network, tiles, signals, cores.model, options.pins, context.budget)
    if name is not None:
        known[name] = (tuple(tiles), layouts, tuple(apart))
    return Partition(network, sources, tuple(tiles), signals, layouts, tuple(apart))


def _pack(
    network: Legalised, tiles: list[Tile], signals: Signals, core: CrossbarCore, pins: Pins, budget: Budget
) -> tuple[list[Tile], tuple[CoreLayout, ...]]:
    """Pack tiles whole, again and again as long as that asks for fewer copies; pinned nodes share no core."""
    cores = alone(tiles, core)
    pinned = pinned_populations(network, pins)
    for _ in range(PACKINGS):
        packed = pack(tiles, signals, core, pinned)
        fewer = _with_copies(tiles, _copies_in_cores(network, signals, packed))
        if fewer is None or len(packed) > len(cores):
            break  # it shares fewer axons than the packing before, whose copies these tiles hold
        before = sum(int(tile.copies.sum()) for tile in tiles)
        tiles, cores = fewer, packed
        if sum(int(tile.copies.sum()) for tile in tiles) == before:
            break  # no axon more was shared, so there is no more room than before
        if budget.is_over("packing"):
            break
    return tiles, cores


def with_shared_cores(parts: Partition, core: CrossbarCore, context: MappingContext) -> Partition:
    """Take tiles apart and fill cores neuron by neuron, where that takes fewer cores."""
    options, budget, shares = context.options, context.budget, context.tilings.shared
    if not options.packing:
        return parts
    name = None if budget.is_limited else digest_of(parts.network)
    known = None if name is None else shares.get(name)
    if known is not None and known[0] is parts.tiles:
        tiles, cores = known[1:]
        return replace(parts, tiles=tiles, signals=signals_of(parts.network, parts.sources, tiles), cores=cores)
    pinned = pinned_populations(parts.network, options.pins)
    shared = share_cores(parts.network, parts.apart, parts.signals, core, pinned, len(parts.cores), budget)
    tiles, cores = (parts.tiles, parts.cores) if shared is None else (tuple(shared[0]), shared[1])
    if name is not None:
        shares[name] = (parts.tiles, tiles, cores)
    if shared is None:
        return parts
    return replace(parts, tiles=tiles, signals=signals_of(parts.network, parts.sources, tiles), cores=cores)


def _copies_in_cores(network: Legalised, signals: Signals, cores: tuple[CoreLayout, ...]) -> list[Ints]:
    """Count the copies that every neuron needs once tiles share axons."""
    copies = [p.own_copies for p in network.populations]
    for core in cores:
        axons = np.concatenate(core.axon_of)
        carried = np.concatenate([signals.of_axon[tile] for tile in core.tiles])
        carried = carried[np.unique(axons, return_index=True)[1]]
        carried = carried[signals.kind[carried] == FROM_CHIP]
        for source in np.unique(signals.source[carried]).tolist():
            np.add.at(copies[source], signals.neuron[carried[signals.source[carried] == source]], 1)
    return copies


def _with_copies(tiles: list[Tile], copies: list[Ints]) -> list[Tile] | None:
    """Lower the copies in tiles to those that are needed; ``None`` where the tiles hold fewer than that."""
    missing = [needed.copy() for needed in copies]
    lowered = [take_copies(tile, missing[tile.population], tile.copies) for tile in tiles]
    reached = [np.zeros(len(needed), bool) for needed in copies]
    for tile in tiles:
        reached[tile.population][tile.neurons] = True
    held = all(not left[here].any() for left, here in zip(missing, reached, strict=True))
    return lowered if held else None


# Pack whole tiles into cores: several nodes may share a core, and its axons where they carry the same signal.
#
# Tiles are packed in falling size, each into the open core that it fills best; an axon that the core has already,
# with the same signal, costs nothing. Types may be renamed freely: neurons have weights of their own.
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
    tiles: Sequence[Tile], signals: Signals, model: CrossbarCore, pinned: Collection[int] = ()
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


def _largest_first(share: Floats) -> Ints:
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

    def __init__(self, model: CrossbarCore) -> None:
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

    def __init__(self, is_bias: Bools, model: CrossbarCore, least: Ints, most_cores: int) -> None:
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
    def _waste(self, axons_left: Ints, neurons_left: Ints, saved: Ints) -> Floats: ...

    def _waste(self, axons_left: int | Ints, neurons_left: int | Ints, saved: int | Ints) -> float | Floats:
        """Add up the room left over, as shares of a core, less the axons that sharing saves; of one core or of many."""
        return axons_left / self._model.axons + neurons_left / self._model.neurons - saved / self._model.axons

    def layouts(self) -> list[CoreLayout]:
        """List all cores."""
        return [core.layout() for core in self._cores]


# Name a rollout in ticks by what cores see of it, so that what was made of it is found again.


def digest_of(network: Legalised) -> bytes | None:
    """Name a rollout in ticks by what decides which neurons share a core, and where cores lie."""
    # That is all but the tick at which it begins, the frame period (where it is a whole number), and, where all edges
    # of an input begin with the same frame, which one that is.
    # gives equal for two networks iff that is equal, as far as SHA-256 tells; ``None`` where neurons are spiking: such
    # networks have one schedule
    if not network.populations or any(p.neuron is not None for p in network.populations):
        return None
    is_even = Fraction(network.period).denominator == 1  # else a shift changes how ticks are rounded
    begin = network.populations[0].sample_tick if is_even else 0
    first_frames: dict[int, set[int]] = {}
    for host in network.host_links:
        first_frames.setdefault(host.node, set()).add(host.first_frame)
    found = hashlib.sha256()

    def add(facts: tuple[object, ...], arrays: Iterable[NDArray[np.generic] | None] = ()) -> None:
        found.update(repr(facts).encode())
        for array in arrays:
            found.update(b"none" if array is None else repr((array.dtype.str, array.shape)).encode())
            found.update(b"" if array is None else np.ascontiguousarray(array).tobytes())

    period = None if is_even else network.period  # it matters only to how ticks are rounded
    add((period, network.shapes, len(network.populations), len(network.links)))
    for port in network.ports:
        add((port.name, port.size, port.kind))
    for p in network.populations:
        roles = (p.is_relay, p.is_output, p.is_splitter, p.is_part)
        add((p.name, p.node, p.shape, roles, p.sample_tick - begin), (p.neurons, p.threshold, p.kept))
    for link in network.links:
        add((link.source, link.target, link.delay, link.groups, link.current), _parts(link))
    for host in network.host_links:
        begins = (host.arrival - begin, host.first_frame if len(first_frames[host.node]) > 1 else None)
        add((host.node, host.target, begins, host.groups, host.current), _parts(host))
    return found.digest()


def _parts(link: Link | HostLink) -> tuple[NDArray[np.generic], ...]:
    matrix = link.matrix
    return np.array(matrix.shape), matrix.indptr, matrix.indices, matrix.data
