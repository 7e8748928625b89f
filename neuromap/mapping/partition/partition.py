"""Partition a legalised network into cores: tile all populations, then pack the tiles.

Tiles that share a core share axons, so they need fewer copies, which leaves room for more tiles.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.packed_rows import ragged_ranges, rank_in_run
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_model import CrossbarCore
from neuromap.mapping.core.core_of import core_of
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Sources, join_sources
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.options.options import Pins
from neuromap.mapping.partition.occupancy import MARGINS, NOWHERE, RECIPES, Books, LooseNeurons, Recipe, fill
from neuromap.mapping.partition.unpack_tiles import (
    BIAS_SIGNAL,
    FROM_CHIP,
    AxonKeys,
    CoreLayout,
    Signals,
    layout_alone,
    put_together,
    ranks,
    signals_of,
    unpack_tiles,
)
from neuromap.mapping.tile.tile import Tile, key_of, pinned_populations
from neuromap.mapping.tile.tile_all import take_copies, tile_all
from neuromap.mapping.tile.tilings import MappingContext
from neuromap.render.value import Card

# Tiles filled into cores together, from every population in proportion to its share of all.
WINDOW = 160
# Synapses, including those that pairs of neurons count as, above which only one recipe is tried.
LARGE = 500_000
# Pairs of neurons filled into cores together that count as one synapse: every neuron is compared with those that wait.
#
# Long chains of relays have few synapses and far more pairs than other networks.
PAIRS = 100
# Synapses above which tiles are not taken apart.
HUGE = 30_000_000
# Signals times populations above which tiles are not taken apart: many relays in a row, which pack well whole.
LARGEST_TABLE = 50_000_000
# More than one overfull core in this many takes too long to relieve, neuron by neuron.
CROWDED = 8
# Fill of the cores, in their fuller resource, below which sharing them is tried.
WORTHWHILE = 0.97
# A recipe is given up if its cores outnumber the tiles by more than one in this many.
FAR_MORE = 20
# At most one neuron in this many may be moved to relieve cores.
MOVED = 4


def share_cores(
    parts: Partition, model: CrossbarCore, pinned: Collection[int], budget: Budget
) -> tuple[list[Tile], tuple[CoreLayout, ...]] | None:
    """Unpack tiles and fill cores with neurons of several populations."""
    # returns new tiles and cores; ``None`` if there would not be fewer cores
    network, tiles, signals, fewer_than = parts.network, parts.apart, parts.signals, len(parts.cores)
    if len(network.populations) * len(signals) > LARGEST_TABLE:
        return None
    synapses = sum(int(np.count_nonzero(tile.plan.synapses)) for tile in tiles)
    if synapses > HUGE or len(tiles) < 2 or not _may_pay(tiles, signals, model) or budget.is_over("packing"):
        return None
    loose = unpack_tiles(network, tiles, signals, model, pinned)
    least = loose.least_cores(model.axons, model.neurons)
    if loose.fixed.all() or least >= fewer_than:
        return None
    together = np.bincount(_windows(loose, len(tiles))[loose.tile[~loose.fixed]])  # neurons filled into cores together
    large = synapses + int((together**2).sum()) // PAIRS > LARGE
    best = _best_books(loose, len(tiles), model, least, large, budget)
    if best is None or best.cores >= fewer_than:
        return None
    _, core_of = np.unique(best.core_of, return_inverse=True)
    return put_together(loose, core_of.astype(np.int64), model)


def _best_books(
    loose: LooseNeurons, n_tiles: int, model: CrossbarCore, least: int, large: bool, budget: Budget
) -> Books | None:
    """Try recipes and margins until cores are as few as possible, or all for few tiles; ``None`` if none succeeds."""
    # For a large network, the first that succeeds is taken.
    n_free = int(np.count_nonzero(~loose.fixed))
    few = n_tiles < FAR_MORE  # then trying all is quick, and fewest copies decide between those with fewest cores
    best: Books | None = None
    least_rank = 0, 0  # of the best
    seen: set[bytes] = set()
    for recipe in RECIPES[:1] if large else RECIPES:
        copies = loose.copies(loose.tile)
        for margin in MARGINS if recipe is not None else (0,):  # tiles hold the copies that they need
            filled = _fill(loose, n_tiles, copies, model, recipe, margin, budget)
            if filled is None:
                return best
            core_of, n_cores = filled
            if n_cores > n_tiles + n_tiles // FAR_MORE:
                break
            copies = loose.copies(core_of)  # what this filling needs, and the next one expects
            filling = key_of("", core_of)
            if filling in seen:
                continue
            seen.add(filling)
            books = Books(loose, core_of, n_cores, model.axons, model.neurons)
            if large and (books.load > model.neurons).sum() > n_cores // CROWDED:
                continue
            if not relieve(books, loose.fixed, n_free // MOVED, budget):
                continue
            empty_cores(books, loose.fixed, budget, least)
            rank = books.cores, int(books.load.sum()) if few else 0  # if tiles are few, then by copies
            if best is None or rank < least_rank:
                best, least_rank = books, rank
            if best.cores == least and not few:
                return best
            if large:
                break
    return best


def _may_pay(tiles: Sequence[Tile], signals: Signals, model: CrossbarCore) -> bool:
    """Whether cores have room in both axons and neurons, summed over all, if axons are shared as far as possible."""
    # Populations that read one signal may share its axons down to those of the population that has most; a neuron whose
    # axon is shared needs one copy less.
    population = np.repeat([tile.population for tile in tiles], [tile.plan.n_axons for tile in tiles])
    signal = np.concatenate(signals.of_axon)
    n_populations = int(population.max(initial=0)) + 1
    pairs, times = np.unique(signal * n_populations + population, return_counts=True)
    most, total = np.zeros(len(signals), np.int64), np.bincount(signal, minlength=len(signals))
    np.maximum.at(most, pairs // n_populations, times)
    saved = (total - most)[signals.kind == FROM_CHIP].sum()
    neurons = sum(int(tile.copies.sum()) for tile in tiles) - saved
    return bool(max(most.sum() / model.axons, neurons / model.neurons) < WORTHWHILE * len(tiles))


def _fill(
    loose: LooseNeurons,
    n_tiles: int,
    copies: Ints,
    model: CrossbarCore,
    recipe: Recipe | None,
    margin: int,
    budget: Budget,
) -> tuple[Ints, int] | None:
    """Fill cores window by window; fixed tiles keep a core each. ``None`` if the time is over."""
    if recipe is None:
        return loose.tile.copy(), n_tiles
    stay = np.unique(loose.tile[loose.fixed])
    core_of = np.full(len(loose), NOWHERE, np.int64)
    core_of[loose.fixed] = np.searchsorted(stay, loose.tile[loose.fixed])
    n_cores = len(stay)
    room = max(1, model.neurons - margin)
    free = np.flatnonzero(~loose.fixed)
    window = _windows(loose, n_tiles)[loose.tile[free]]
    for number in np.unique(window).tolist():
        if budget.is_over("packing"):
            return None
        chosen = free[window == number]
        where, more = fill(loose, chosen, np.minimum(copies, room), model.axons, room, recipe)
        core_of[chosen] = n_cores + where
        n_cores += more
    return core_of, n_cores


def _windows(loose: LooseNeurons, n_tiles: int) -> Ints:
    """Window of every tile: tiles of each population are cut into as many runs as there are windows."""
    population = np.zeros(n_tiles, np.int64)
    population[loose.tile] = loose.population
    count = -(-n_tiles // WINDOW)
    order = np.argsort(population, kind="stable")
    ranked = population[order]
    window = np.empty(n_tiles, np.int64)
    window[order] = rank_in_run(ranked) * count // np.bincount(population)[ranked]
    return window


# Relieve cores that hold too many copies: move neurons out of them, one by one.
# Copies beyond the excess of a core that still count in full when a neuron takes them away.
SPARE = 2


def relieve(books: Books, fixed: Bools, most_moves: int, budget: Budget = NO_LIMIT) -> bool:
    """Move neurons out of cores that hold too many copies, into new cores where no other takes them."""
    # books: changed in place, also on failure
    # shapes: fixed (U,)
    moves = 0
    waiting: list[int] = []
    closed = books.cores_with(fixed)
    while True:
        taken = _take_excess(books, fixed)
        if taken is None:
            return False
        moves += len(taken)
        waiting += taken
        if not waiting:
            return True
        if moves > most_moves or budget.is_over("packing"):
            return False
        waiting.sort(key=lambda neuron: (-int(books.copies[neuron]), neuron))
        neuron = waiting.pop(0)
        core = books.find(neuron, closed)
        if core is None:
            core = books.find(neuron, closed, strict=False)
        if core is None:
            core, closed = books.open_core(), np.append(closed, False)
        books.put_in(neuron, core)


def _take_excess(books: Books, fixed: Bools) -> list[int] | None:
    """Take neurons out until no core holds too many copies; ``None`` where a core has none left to give."""
    # Neurons go that take most copies relative to the axons that they need elsewhere.
    needed = np.diff(books.loose.first_needed)
    taken = []
    for core in np.flatnonzero(books.load > books.room_copies).tolist():
        while books.load[core] > books.room_copies:
            members = np.flatnonzero((books.core_of == core) & ~fixed & (books.copies > 0))
            if not len(members):
                return None
            excess = books.load[core] - books.room_copies
            gain = np.minimum(books.copies[members], excess + SPARE)
            neuron = int(members[np.argmax(gain / (1 + needed[members]))])
            books.take_out(neuron)
            taken.append(neuron)
    return taken


# Empty the least filled cores: move every one of their neurons into others.


# Successive failures to empty a core after which no more are tried.
GIVE_UP = 40
# Weight of a core's less filled resource, relative to the other: it decides between similar cores.
LESSER = 1 / 8


def empty_cores(books: Books, fixed: Bools, budget: Budget = NO_LIMIT, least: int = 0) -> None:
    """Empty cores, the least filled first, by moving each of their neurons to where it costs fewest axons."""
    # books: changed in place; cores that cannot be emptied are left as they were
    # least: lower bound on the cores of any packing, at which emptying stops
    # shapes: fixed (U,)
    failures, in_use = 0, books.cores
    hopeless = np.zeros(len(books.load), bool)
    has_fixed = books.cores_with(fixed)
    while in_use > least and failures < GIVE_UP and not budget.is_over("packing"):
        vacant = np.bincount(books.core_of, minlength=len(books.load)) == 0
        candidates = np.flatnonzero(~vacant & ~hopeless & ~has_fixed)
        if not len(candidates):
            return
        axons, copies = books.axons / books.room_axons, books.load / books.room_copies
        filling = np.maximum(axons, copies) + np.minimum(axons, copies) * LESSER
        core = int(candidates[np.argmin(filling[candidates])])
        if _empty(books, core, vacant | has_fixed):
            failures, in_use = 0, in_use - 1
        else:
            failures += 1
            hopeless[core] = True


def _empty(books: Books, core: int, closed: Bools) -> bool:
    """Move all neurons of a core, or none, to other cores that are not closed, those with most copies first."""
    closed = closed.copy()
    closed[core] = True
    members = np.flatnonzero(books.core_of == core)
    before = books.noted()
    for neuron in members[np.argsort(-books.copies[members], kind="stable")].tolist():
        books.take_out(neuron)
        target = books.find(neuron, closed)
        if target is None:
            books.go_back(before)
            return False
        books.put_in(neuron, target)
    return True


# Maximum number of rounds of packing tiles: shared axons need fewer copies, which leaves room for more tiles.
PACKINGS = 3


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
        """Return the most copies of any neuron of a population, and the number of cores that hold some of it."""
        copies = np.zeros(len(self.network.populations[population].neurons), np.int64)
        for tile in self.tiles:
            if tile.population == population:
                np.add.at(copies, tile.neurons, tile.copies)
        cores = sum(any(self.tiles[t].population == population for t in core.tiles) for core in self.cores)
        return int(copies.max(initial=0)), cores

    def regions(self, pins: Pins) -> list[tuple[int, int, int, int] | None]:
        """Rectangle of the board within which each core must lie, as pinned for the node that it holds."""
        regions = []
        for core in self.cores:
            population = self.network.populations[self.tiles[core.tiles[0]].population]
            name = None if population.is_relay else self.network.ports[population.node].name
            regions.append(None if name is None else pins.regions.get(name))
        return regions


def partition(network: Legalised, chip: ChipSpec, context: MappingContext) -> Partition:
    """Tile every population so that all tiles are legal, then pack whole tiles into cores."""
    # Cores may be more than the chip has; ``share_cores`` may still save some.
    sources = join_sources(network)
    options, known = context.options, context.tilings.packed
    name = None if context.budget.is_limited else digest_of(network)
    if name is not None and name in known:
        held, layouts, whole = known[name]
        return Partition(network, sources, held, signals_of(network, sources, held), layouts, whole)
    by_population, model = tile_all(network, sources, chip, context), core_of(chip)
    tiles = [tile for i in range(len(sources)) for tile in by_population[i]]
    signals = signals_of(network, sources, tiles)
    layouts = tuple(layout_alone(number, tile, model) for number, tile in enumerate(tiles))
    apart = _with_copies(tiles, _copies_in_cores(network, signals, layouts))
    assert apart is not None, "tiles were made for these copies"
    tiles = apart
    if options.packing:
        pinned = pinned_populations(network, options.pins)
        tiles, layouts = _pack(network, tiles, layouts, signals, model, pinned, context.budget)
    if name is not None:
        known[name] = (tuple(tiles), layouts, tuple(apart))
    return Partition(network, sources, tuple(tiles), signals, layouts, tuple(apart))


def _pack(
    network: Legalised,
    tiles: list[Tile],
    cores: tuple[CoreLayout, ...],
    signals: Signals,
    core: CrossbarCore,
    pinned: Collection[int],
    budget: Budget,
) -> tuple[list[Tile], tuple[CoreLayout, ...]]:
    """Pack whole tiles, repeatedly as long as that needs fewer copies; pinned nodes share no core."""
    for _ in range(PACKINGS):
        packed = pack(tiles, signals, core, pinned)
        fewer = _with_copies(tiles, _copies_in_cores(network, signals, packed))
        if fewer is None or len(packed) > len(cores):
            break  # it shares fewer axons than the packing before, whose copies these tiles hold
        before = sum(int(tile.copies.sum()) for tile in tiles)
        tiles, cores = fewer, packed
        if sum(int(tile.copies.sum()) for tile in tiles) == before:
            break  # no further axon was shared, so there is no more room than before
        if budget.is_over("packing"):
            break
    return tiles, cores


def with_shared_cores(parts: Partition, core: CrossbarCore, context: MappingContext) -> Partition:
    """Unpack tiles and fill cores neuron by neuron, if that takes fewer cores."""
    options, budget, shares = context.options, context.budget, context.tilings.shared
    if not options.packing:
        return parts
    name = None if budget.is_limited else digest_of(parts.network)
    known = None if name is None else shares.get(name)
    if known is None or known[0] is not parts.tiles:
        pinned = pinned_populations(parts.network, options.pins)
        shared = share_cores(parts, core, pinned, budget)
        tiles, cores = (parts.tiles, parts.cores) if shared is None else (tuple(shared[0]), shared[1])
        known = (parts.tiles, tiles, cores)
        if name is not None:
            shares[name] = known
    before, tiles, cores = known
    if tiles is before:
        return parts
    return replace(parts, tiles=tiles, signals=signals_of(parts.network, parts.sources, tiles), cores=cores)


def _copies_in_cores(network: Legalised, signals: Signals, cores: tuple[CoreLayout, ...]) -> list[Ints]:
    """Count the copies that every neuron needs once tiles share axons."""
    own = [p.own_copies for p in network.populations]
    first, copies = np.cumsum([0, *map(len, own)]), np.concatenate(own)
    for core in cores:
        axons = np.concatenate(core.axon_of)
        carried = np.concatenate([signals.of_axon[tile] for tile in core.tiles])
        carried = carried[np.unique(axons, return_index=True)[1]]
        carried = carried[signals.kind[carried] == FROM_CHIP]
        np.add.at(copies, first[signals.source[carried]] + signals.neuron[carried], 1)
    return np.split(copies, first[1:-1])


def _with_copies(tiles: list[Tile], copies: list[Ints]) -> list[Tile] | None:
    """Lower the copies in tiles to those needed; ``None`` if the tiles hold fewer."""
    missing = [needed.copy() for needed in copies]
    lowered = [take_copies(tile, missing[tile.population], tile.copies) for tile in tiles]
    reached = [np.zeros(len(needed), bool) for needed in copies]
    for tile in tiles:
        reached[tile.population][tile.neurons] = True
    held = all(not left[here].any() for left, here in zip(missing, reached, strict=True))
    return lowered if held else None


# Pack whole tiles into cores: several nodes may share a core, and its axons where they carry the same signal.
#
# Tiles are packed by decreasing size, each into the open core that it fills best; an axon that the core already has for
# the same signal costs nothing. Types may be renamed freely: neurons have weights of their own.
# Maximum number of cores examined closely for a tile, the likeliest first.
TRIED = 16
# Maximum number of types for which all namings are tried.
MOST_NAMINGS = 4
# Worth of a shared axon, relative to the cost of one left over: it leaves one over, which is no waste, and saves one.
SHARED_WORTH = 2
# The same before it is known how many can be shared: more, so that cores that share most are among those examined.
HOPED_WORTH = 3
# Free axons and neurons of a core that takes nothing more.
CLOSED = -1


def pack(
    tiles: Sequence[Tile], signals: Signals, model: CrossbarCore, pinned: Collection[int] = ()
) -> tuple[CoreLayout, ...]:
    """Pack tiles into few cores."""
    size = np.array([[t.plan.n_axons, t.copies.sum()] for t in tiles], np.int64).reshape(-1, 2)
    least = size.min(axis=0, initial=max(model.axons, model.neurons))
    lonely = size[:, 1] + least[1] > model.neurons  # no other tile can join
    lonely |= np.array([tile.population in pinned for tile in tiles], bool)
    share = size / (model.axons, model.neurons)  # the greater first, then the sum of both
    order = np.lexsort((np.arange(len(share)), -share.sum(axis=1), -share.max(axis=1, initial=0)))
    cores = _OpenCores(signals.kind == BIAS_SIGNAL, model, least, len(tiles))
    for number in order[~lonely[order]].tolist():
        cores.add(_Item(number, tiles[number], signals.of_axon[number]))
    return (
        *(core.layout() for core in cores.cores),
        *(layout_alone(n, tiles[n], model) for n in np.flatnonzero(lonely).tolist()),
    )


class _Item:
    """A tile being packed."""

    def __init__(self, number: int, tile: Tile, signal: Ints) -> None:
        self.number, self.signal = number, signal
        self.axon_type = tile.plan.axon_type
        self.rank = ranks(signal, self.axon_type)
        self.axons, self.neurons = tile.plan.n_axons, int(tile.copies.sum())


class _OpenCore:
    """A core being filled."""

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
        """Add a tile with renamed types."""
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
        """Return where every axon and type went."""
        return CoreLayout(tuple(self._tiles), tuple(self._axon_of), tuple(self._type_of), self.axons)


def _best_naming(agree: Ints) -> Ints:
    """Match types one to one so that most axons agree; shape (types, types) in, (types,) out."""
    n_types = len(agree)
    if n_types > MOST_NAMINGS:
        from scipy.optimize import linear_sum_assignment  # takes longer to import than most mappings take

        return np.asarray(linear_sum_assignment(agree, maximize=True)[1], np.int64)
    namings = _namings(n_types)
    best = int(np.argmax(agree[np.arange(n_types), namings].sum(axis=1)))
    return np.asarray(namings[best])


@cache
def _namings(n_types: int) -> Ints:
    """All permutations of types, the identity first."""
    return np.array(list(permutations(range(n_types))), np.int64)


class _OpenCores:
    """The cores being filled, their room, and which of them have an axon for a signal."""

    def __init__(self, is_bias: Bools, model: CrossbarCore, least: Ints, most_cores: int) -> None:
        self._is_bias, self._model = is_bias, model
        self._least = least  # a core with less room takes nothing more
        self.cores: list[_OpenCore] = []
        self._free_axons, self._free_neurons = (np.full(most_cores, CLOSED) for _ in range(2))
        self._having: dict[int, list[int]] = {}

    def add(self, item: _Item) -> None:
        """Put a tile into the core that it fills best, or into a new one."""
        signals, times = np.unique(item.signal, return_counts=True)
        number, types = self._best_or_new(item, self._likely(item, signals, times))
        core = self.cores[number]
        core.add(item, types)
        room = self._model.axons - core.axons, self._model.neurons - core.neurons
        if (room < self._least).any():
            self._free_axons[number] = self._free_neurons[number] = CLOSED
            return
        self._free_axons[number], self._free_neurons[number] = room
        for signal in signals.tolist():
            self._having.setdefault(signal, []).append(number)

    def _likely(self, item: _Item, signals: Ints, times: Ints) -> Ints:
        """List the cores that may take a tile if every axon that could be shared is; the likeliest first."""
        here = np.flatnonzero(self._free_neurons[: len(self.cores)] >= item.neurons)
        if not len(here):
            return here
        bias = self._is_bias[signals]
        having = [core for signal in signals[~bias].tolist() for core in self._having.get(signal, ())]
        most = int(times.max(initial=1))  # axons of the tile for one signal
        shared = np.bincount(np.array(having, np.int64), minlength=len(self.cores))[here] * most
        shared = np.minimum(shared + int(times[bias].sum()), item.axons)
        able = self._free_axons[here] + shared >= item.axons
        here, shared = here[able], shared[able]
        waste = self._waste(self._free_axons[here], self._free_neurons[here], HOPED_WORTH * shared)
        return here[np.argsort(waste, kind="stable")[:TRIED]]

    def _best_or_new(self, item: _Item, likely: Ints) -> tuple[int, Ints]:
        """Choose the core with least waste, and the types of the tile there; open one if none takes it."""
        fits = [self.cores[number].fit(item) for number in likely.tolist()]
        shared = np.array([axons for _, axons in fits], np.int64)
        axons_left = self._free_axons[likely] + shared - item.axons
        able = np.flatnonzero(axons_left >= 0)
        if not len(able):
            self.cores.append(_OpenCore(self._model))
            return len(self.cores) - 1, np.arange(self._model.axon_types)
        neurons_left = self._free_neurons[likely] - item.neurons
        best = able[np.argmin(self._waste(axons_left, neurons_left, SHARED_WORTH * shared)[able])]
        return int(likely[best]), fits[best][0]

    def _waste(self, axons_left: Ints, neurons_left: Ints, saved: Ints) -> Floats:
        """Add up the room left over in cores, as shares of a core, minus the axons saved by sharing."""
        return axons_left / self._model.axons + neurons_left / self._model.neurons - saved / self._model.axons


# Digests of legalised networks by what cores see of them, as keys for cached results.


def digest_of(network: Legalised) -> bytes | None:
    """Digest everything in a legalised network that decides which neurons share a core, and where cores lie."""
    # That is everything but the tick at which it begins, the frame period (if a whole number) and, if all edges of an
    # input begin with the same frame, the number of that frame.
    # returns equal digests iff that is equal, as far as 128 bits tell; ``None`` where neurons are spiking: such
    # networks have one schedule
    if not network.populations or any(p.neuron is not None for p in network.populations):
        return None
    is_even = Fraction(network.period).denominator == 1  # else a shift changes how ticks are rounded
    begin = network.populations[0].sample_tick if is_even else 0
    first_frames: dict[int, set[int]] = {}
    for host in network.host_links:
        first_frames.setdefault(host.node, set()).add(host.first_frame)
    period = None if is_even else network.period  # it matters only to how ticks are rounded
    facts: list[object] = [period, network.shapes, len(network.populations), len(network.links)]
    facts += [(port.name, port.size, port.kind) for port in network.ports]
    arrays: list[NDArray[np.generic]] = []
    for p in network.populations:
        roles = (p.is_relay, p.is_output, p.is_splitter, p.is_part)
        facts.append((p.name, p.node, p.shape, roles, p.sample_tick - begin, p.kept is None))
        arrays += [p.neurons, p.threshold, *([] if p.kept is None else [p.kept])]
    for link in network.all_links:
        if isinstance(link, HostLink):
            begins = (link.arrival - begin, link.first_frame if len(first_frames[link.node]) > 1 else None)
            facts.append((link.node, link.target, begins, link.groups, link.current))
        else:
            facts.append((link.source, link.target, link.delay, link.groups, link.current))
        arrays += [np.array(link.matrix.shape), link.matrix.indptr, link.matrix.indices, link.matrix.data]
    return key_of((facts, [(array.dtype.str, array.shape) for array in arrays]), *arrays)
