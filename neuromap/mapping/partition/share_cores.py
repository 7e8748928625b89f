"""Share cores between populations neuron by neuron: fill, relieve, empty. Several ways are tried, the best is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

import numpy as np

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.packed_rows import rank_in_run
from neuromap.mapping.core.core_of import CrossbarCore
from neuromap.mapping.legalise.legalised import Legalised
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.partition.occupancy import NOWHERE, RECIPES, AsTiled, Books, LooseNeurons, Recipe, fill
from neuromap.mapping.partition.unpack_tiles import FROM_CHIP, CoreLayout, Signals, put_together, unpack_tiles
from neuromap.mapping.tile.tile import Tile

WINDOW = 160
"""Tiles that are filled into cores together: as many of every population as its share of all."""
LARGE = 500_000
"""Synapses, and what pairs of neurons count as, above which only one way is tried."""
PAIRS = 100
"""Pairs of neurons filled into cores together that count as one synapse: every neuron is held against those that wait.

Long chains of relays have few synapses and far more pairs than other networks."""
HUGE = 30_000_000
"""Synapses above which tiles are not taken apart."""
LARGEST_TABLE = 50_000_000
"""Signals times populations above which tiles are not taken apart: many relays in a row, which pack well whole."""
CROWDED = 8
"""One overfull core in so many is too many to relieve, neuron by neuron, in reasonable time."""
WORTHWHILE = 0.97
"""Fill of the cores, in the resource of which they hold more, up to which it is tried."""
FAR_MORE = 20
"""One core in so many more than there are tiles: then the recipe is given up."""
MOVED = 4
"""One neuron in so many may be moved to relieve cores, at most."""


def share_cores(
    network: Legalised,
    tiles: Sequence[Tile],
    signals: Signals,
    model: CrossbarCore,
    pinned: Collection[int],
    fewer_than: int,
    budget: Budget = NO_LIMIT,
) -> tuple[list[Tile], tuple[CoreLayout, ...]] | None:
    """Take tiles apart and fill cores with neurons of several populations."""
    # gives new tiles and cores; ``None`` where they would be no fewer than ``fewer_than``
    if len(network.populations) * len(signals) > LARGEST_TABLE:
        return None
    synapses = sum(int(np.count_nonzero(tile.plan.synapses)) for tile in tiles)
    if synapses > HUGE or len(tiles) < 2 or not _may_pay(tiles, signals, model) or budget.is_over("packing"):
        return None
    loose = unpack_tiles(network, tiles, signals, model, pinned)
    least = loose.least_cores(model.axons, model.neurons)
    if loose.fixed.all() or least >= fewer_than:
        return None
    large = synapses + _pairs(loose, len(tiles)) // PAIRS > LARGE
    best = _best_books(loose, len(tiles), model, least, large, budget)
    if best is None or best.cores >= fewer_than:
        return None
    _, core_of = np.unique(best.core_of, return_inverse=True)
    return put_together(loose, core_of.astype(np.int64), model)


def _best_books(
    loose: LooseNeurons, n_tiles: int, model: CrossbarCore, least: int, large: bool, budget: Budget
) -> Books | None:
    """Try recipes and margins until cores are as few as they can be, of few tiles all; ``None`` where none succeeds."""
    # Of a large network the first that succeeds is taken.
    n_free = int(np.count_nonzero(~loose.fixed))
    few = n_tiles < FAR_MORE  # then all ways are quick, and of those with fewest cores one has fewest copies
    best: Books | None = None
    seen: set[bytes] = set()
    for recipe in RECIPES[:1] if large else RECIPES:
        copies = loose.copies(loose.tile)
        for margin in recipe.margins:
            filled = _fill(loose, n_tiles, copies, model, recipe, margin, budget)
            if filled is None:
                return best
            core_of, n_cores = filled
            if n_cores > n_tiles + n_tiles // FAR_MORE:
                break
            copies = loose.copies(core_of)  # so many does this filling need; the next one expects them
            filling = hashlib.blake2b(core_of.tobytes(), digest_size=16).digest()
            if filling in seen:
                continue
            seen.add(filling)
            books = Books(loose, core_of, n_cores, model.axons, model.neurons)
            if large and (books.load > model.neurons).sum() > n_cores // CROWDED:
                continue
            if not relieve(books, loose.fixed, n_free // MOVED, budget):
                continue
            empty_cores(books, loose.fixed, budget, least)
            if best is None or _rank(books, few) < _rank(best, few):
                best = books
            if best.cores == least and not few:
                return best
            if large:
                break
    return best


def _rank(books: Books, few: bool) -> tuple[int, int]:
    """Rank by cores, and of few tiles then by copies."""
    return books.cores, int(books.load.sum()) if few else 0


def _may_pay(tiles: Sequence[Tile], signals: Signals, model: CrossbarCore) -> bool:
    """Whether cores have room in both axons and neurons, summed over all, if axons are shared as far as can be."""
    # Populations that read one signal may share its axons in all cores but those of the one that has most; a neuron
    # whose axon is shared needs a copy less.
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
    recipe: Recipe | AsTiled,
    margin: int,
    budget: Budget,
) -> tuple[Ints, int] | None:
    """Fill cores window by window; the tiles that stay keep a core each. ``None`` where the time is over."""
    if isinstance(recipe, AsTiled):
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


def _pairs(loose: LooseNeurons, n_tiles: int) -> int:
    """Count the ordered pairs of neurons that are filled into cores together."""
    together = np.bincount(_windows(loose, n_tiles)[loose.tile[~loose.fixed]])
    return int((together**2).sum())


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
SPARE = 2
"""Copies beyond the excess of a core that one neuron may take away with it and still count in full."""


def relieve(books: Books, fixed: Bools, most_moves: int, budget: Budget = NO_LIMIT) -> bool:
    """Move neurons out of cores that hold too many copies, into new cores where no other takes them."""
    # books: they are changed, also where it fails
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
    # Those go that take most copies for the axons that they need elsewhere.
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


GIVE_UP = 40
"""Cores in a row that could not be emptied, after which no more are tried."""
LESSER = 1 / 8
"""Weight of the resource that a core holds less of, where the other weighs 1: it decides between cores much alike."""


def empty_cores(books: Books, fixed: Bools, budget: Budget = NO_LIMIT, least: int = 0) -> None:
    """Empty cores, the least filled first, by moving each of their neurons to where it costs fewest axons."""
    # books: they are changed; cores that cannot be emptied are left as they were
    # least: cores that no packing can do without: none is emptied where there are no more
    # shapes: fixed (U,)
    failures, in_use = 0, books.cores
    hopeless = np.zeros(len(books.load), bool)
    has_fixed = books.cores_with(fixed)
    while in_use > least and failures < GIVE_UP and not budget.is_over("packing"):
        vacant = np.bincount(books.core_of, minlength=len(books.load)) == 0
        candidates = np.flatnonzero(~vacant & ~hopeless & ~has_fixed)
        if not len(candidates):
            return
        core = int(candidates[np.argmin(_filling(books)[candidates])])
        if _empty(books, core, vacant | has_fixed):
            failures, in_use = 0, in_use - 1
        else:
            failures += 1
            hopeless[core] = True


def _filling(books: Books) -> Floats:
    """How full every core is, shape (C,)."""
    axons, copies = books.axons / books.room_axons, books.load / books.room_copies
    filling: Floats = np.maximum(axons, copies) + np.minimum(axons, copies) * LESSER
    return filling


def _empty(books: Books, core: int, closed: Bools) -> bool:
    """Move all neurons of a core to others that are not closed, those with most copies first; all of them or none."""
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
