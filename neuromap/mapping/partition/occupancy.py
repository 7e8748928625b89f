"""Fill cores neuron by neuron from several populations at once.

Some populations exhaust a core's axons, others its neurons; a core that holds both wastes neither. A core is seeded
with a tile, or the part of it that is left, and then repeatedly takes the neuron with the best ratio of worth to price:
the *worth* of a neuron is its part of its own tile's axons, plus its copies; its price is the axons that the core lacks
plus its copies, each as a share of the room left (bin-centric vector packing, Panigrahy et al. 2011, with items that
overlap).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import entries_of_rows, grouped_by, ragged_ranges, rows_of_entries
from neuromap.arrays.value import Value
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.tile.tile import rows_apart

# Cost of an axon the core lacks, relative to one of its own tile, when judging whether a neuron is too expensive.
NEW_AXON = 2
# Load of a neuron already placed: more than any core has room for.
TAKEN = np.iinfo(np.int64).max
# Least price, so that neurons that cost nothing can be compared.
FREE = 1e-9
# Neurons of an array processed in the time that it takes to handle one axon separately.
EACH_LOOK = 100


class Recipe(NamedTuple):
    """How cores are seeded."""

    slim_first: bool  # seed first with tiles that take many axons and few neurons; else with those that take most axons
    seed_share: float  # share of a core that the seed may take
    copies_worth: float  # worth of a copy, relative to that of an axon
    least: float  # least ratio of worth to cost: a neuron below it waits for a core that has more of its axons


# Neurons of a core held back, round by round, for copies that a filling turns out to need.
MARGINS = (0, 8)
# What is tried, in this order; ``None``: every tile begins in a core of its own, unchanged.
RECIPES: tuple[Recipe | None, ...] = (
    Recipe(False, 1.0, 1.0, 0.3),
    None,
    Recipe(False, 1.0, 1.0, 0.0),
    Recipe(True, 0.75, 1.0, 0.0),
    Recipe(True, 0.0, 0.3, 0.0),
)


def fill(loose: LooseNeurons, chosen: Ints, copies: Ints, axons: int, neurons: int, recipe: Recipe) -> tuple[Ints, int]:
    """Distribute neurons over new cores."""
    # chosen: the neurons to distribute, ascending
    # copies: expected number of copies of each, at most ``neurons``
    # shapes: chosen (n,); copies (U,); returns (n,)
    pool = _Pool(loose, chosen, copies[chosen], axons, neurons, recipe)
    n_cores = 0
    for tile in pool.tiles_by_urgency:
        while len(left := pool.waiting_of(tile)):
            core = _Core(pool, n_cores)
            core.seed(left)
            core.take_the_best()
            n_cores += 1
    return pool.core_of, n_cores


class _Pool:
    """The neurons to distribute, numbered from 0, and the worth of each."""

    # core_of: (n,): core of every neuron, ``NOWHERE`` while it waits
    # needs, readers: (n, K): which axons each neuron needs, and its transpose
    # n_needed, load: (n,): axons that a neuron needs, and neurons of a core that it takes
    # worth: (n,): what a core gains by each: its part of the axons that its tile would take alone, and its copies
    # tiles_by_urgency: tiles in the order in which they seed cores

    def __init__(self, loose: LooseNeurons, chosen: Ints, load: Ints, axons: int, neurons: int, recipe: Recipe) -> None:
        self.axons, self.neurons, self.recipe, self.load = axons, neurons, recipe, load
        self.core_of = np.full(len(chosen), NOWHERE, np.int64)
        # the chosen neurons by the axons that any of them needs
        ones, shape = np.ones(len(loose.needed), np.int8), (len(loose), len(loose.axon_type))
        rows = sparse.csr_array((ones, loose.needed, loose.first_needed), shape=shape)[chosen]
        used, column = np.unique(rows.indices, return_inverse=True)
        self.needs: Matrix = sparse.csr_array((rows.data, column, rows.indptr), shape=(len(chosen), len(used)))
        self.readers: Matrix = self.needs.T.tocsr()
        self.n_needed = np.diff(self.needs.indptr).astype(np.int64)
        tiles, tile = np.unique(loose.tile[chosen], return_inverse=True)
        size, width = np.bincount(tile), max(1, self.needs.shape[1])
        pairs = np.unique(np.repeat(tile, self.n_needed).astype(np.int64) * width + self.needs.indices)
        of_axons = np.bincount(pairs // width, minlength=len(tiles)) / axons  # that neurons of a tile need together
        of_copies = np.bincount(tile, load) / neurons
        self.worth = (of_axons / size)[tile] + recipe.copies_worth * load / neurons
        urgency = of_axons - of_copies if recipe.slim_first else of_axons
        self.tiles_by_urgency: list[int] = np.argsort(-urgency, kind="stable").tolist()
        self._members = np.split(np.argsort(tile, kind="stable"), np.cumsum(size)[:-1])

    def waiting_of(self, tile: int) -> Ints:
        """Neurons of a tile that are in no core yet."""
        members = self._members[tile]
        waiting: Ints = members[self.core_of[members] == NOWHERE]
        return waiting


class _Core:
    """A core being filled: its room, and the axons that every neuron would add."""

    def __init__(self, pool: _Pool, number: int) -> None:
        self._pool, self._number = pool, number
        self._missing = pool.n_needed.copy()
        self._held = np.zeros(pool.needs.shape[1], bool)
        self._axons, self._copies = pool.axons, pool.neurons

    def seed(self, left: Ints) -> None:
        """Take neurons of one tile in their order, up to the seed's share of the core; the first fits in any case."""
        self._take(int(left[0]))
        for neuron in left[1:].tolist():
            axons_left = (self._axons - self._missing[neuron]) / self._pool.axons
            copies_left = (self._copies - self._pool.load[neuron]) / self._pool.neurons
            if min(axons_left, copies_left) < 1 - self._pool.recipe.seed_share:
                break
            self._take(neuron)

    def take_the_best(self) -> None:
        """Repeatedly take the neuron with the best ratio of worth to price, until none fits or is worth its price."""
        pool, recipe = self._pool, self._pool.recipe
        waiting = np.flatnonzero(pool.core_of == NOWHERE)
        load, worth = pool.load[waiting], pool.worth[waiting]
        while True:
            has_room = load <= self._copies
            if 2 * np.count_nonzero(has_room) < len(waiting):  # room only shrinks: most will not fit any more
                waiting, load, worth = waiting[has_room], load[has_room], worth[has_room]
                has_room = has_room[has_room]
            missing = self._missing[waiting]
            able = has_room & (missing <= self._axons)
            if recipe.least:
                # shares of a whole core, as the worth is: being too expensive does not depend on how full the core is
                of_axons = missing * (NEW_AXON / pool.axons)
                able &= worth >= recipe.least * (of_axons + load * (recipe.copies_worth / pool.neurons))
            if not able.any():
                return
            # as shares of the room left
            price = missing / max(self._axons, 1) + load / max(self._copies, 1)
            best = int(np.where(able, worth / np.maximum(price, FREE), -1.0).argmax())
            self._take(int(waiting[best]))
            load[best] = TAKEN

    def _take(self, neuron: int) -> None:
        pool = self._pool
        reader, first = pool.readers.indices, pool.readers.indptr
        needed = pool.needs.indices[pool.needs.indptr[neuron] : pool.needs.indptr[neuron + 1]]
        gained = needed[~self._held[needed]]
        self._held[gained] = True
        if len(gained) * EACH_LOOK > len(self._missing):
            readers = reader[entries_of_rows(first, gained)]
            self._missing -= np.bincount(readers, minlength=len(self._missing))
        else:
            for axon in gained.tolist():  # a neuron needs an axon once
                self._missing[reader[first[axon] : first[axon + 1]]] -= 1
        self._axons -= len(gained)
        self._copies -= pool.load[neuron]
        pool.core_of[neuron] = self._number


# Bookkeeping of what every core holds while neurons are moved.
#
# A move changes the axons of two cores and thereby the copies of every neuron that feeds those axons, wherever that
# neuron sits. All of it is tracked, so that moves can be limited to those that overfill no core.
NOWHERE = -1
# Maximum number of cores tried for a neuron, those that lack fewest of its axons first.
TRIED = 12
# Table entries per marked pair up to which a table is faster than sorting the pairs.
TABLE = 64


class Books:
    """Where every neuron sits, and what every core holds because of it."""

    # loose: the neurons, U of them
    # core_of: (U,): core of every neuron, ``NOWHERE`` while it sits in none
    # copies: (U,): copies that each needs
    # axons, load: (C,): axons and neurons in use of every core
    # room_axons, room_copies: axons and neurons that a core has

    def __init__(self, loose: LooseNeurons, core_of: Ints, n_cores: int, axons: int, neurons: int) -> None:
        self.loose, self.room_axons, self.room_copies = loose, axons, neurons
        self.core_of = core_of.copy()
        self.copies = loose.copies(core_of)
        self.axons = loose.axons(core_of, n_cores)
        self.load = np.bincount(core_of, self.copies, minlength=n_cores).astype(np.int64)
        reader = rows_of_entries(loose.first_needed)
        self._first_reader, self._reader = grouped_by(loose.needed, reader, len(loose.axon_type))
        self._looked_at: tuple[int, tuple[Ints, Ints]] | None = None

    @property
    def cores(self) -> int:
        """Cores in use."""
        return len(np.unique(self.core_of))

    def cores_with(self, chosen: Bools) -> Bools:
        """Mark the cores in which any of the chosen neurons sits, shape (C,)."""
        held = np.zeros(len(self.load), bool)
        held[self.core_of[chosen]] = True
        return held

    def open_core(self) -> int:
        """Add an empty core."""
        self.load, self.axons = np.append(self.load, 0), np.append(self.axons, 0)
        return len(self.load) - 1

    def noted(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Copy all state that moves change, for :meth:`go_back`."""
        return self.core_of.copy(), self.copies.copy(), self.axons.copy(), self.load.copy()

    def go_back(self, noted: tuple[Ints, Ints, Ints, Ints]) -> None:
        """Undo all moves since :meth:`noted`."""
        self.core_of, self.copies, self.axons, self.load = noted
        self._looked_at = None

    def take_out(self, neuron: int) -> None:
        """Take a neuron out of its core."""
        core = int(self.core_of[neuron])
        needed = self._needed_by(neuron)
        own = self._lacking(needed, core, self._others(needed, neuron))
        self.axons[core] -= len(own)
        self._feed(own, -1)
        self.load[core] -= self.copies[neuron]
        self.core_of[neuron] = NOWHERE

    def put_in(self, neuron: int, core: int) -> None:
        """Put a neuron that sits nowhere into a core, whether it fits or not."""
        needed = self._needed_by(neuron)
        new = self._lacking(needed, core, self._others(needed, neuron))
        self.axons[core] += len(new)
        self.core_of[neuron] = core
        self.load[core] += self.copies[neuron]
        self._feed(new, 1)

    def find(self, neuron: int, closed: Bools, *, strict: bool = True) -> int | None:
        """Find the core that takes an unplaced neuron with fewest new axons; ``None`` if none does."""
        # If ``strict``, no core may hold too many copies because of it; else only the core found is checked.
        needed = self._needed_by(neuron)
        others = self._others(needed, neuron)
        lacking = len(needed) - self._count_held(others)
        room = self.room_axons - self.axons
        able = (lacking <= room) & (self.load + self.copies[neuron] <= self.room_copies) & ~closed
        candidates = np.flatnonzero(able)
        order = np.lexsort((candidates, room[candidates] - lacking[candidates], lacking[candidates]))
        for core in candidates[order[:TRIED]].tolist():
            if not strict or self._all_have_room(neuron, core, self._lacking(needed, core, others)):
                return int(core)
        return None

    def _all_have_room(self, neuron: int, core: int, new: Ints) -> bool:
        """Whether no core would hold too many copies if a neuron, and the new axons for it, were in ``core``."""
        home = self._homes(new)
        there = np.where(home == neuron, core, self.core_of[home])
        asked = np.bincount(there[there != NOWHERE], minlength=len(self.load))
        asked[core] += self.copies[neuron]
        return bool((self.load[asked > 0] + asked[asked > 0] <= self.room_copies).all())

    def _needed_by(self, neuron: int) -> Ints:
        """Axons that a neuron needs."""
        return self.loose.needed[self.loose.first_needed[neuron] : self.loose.first_needed[neuron + 1]]

    def _others(self, needed: Ints, neuron: int) -> tuple[Ints, Ints]:
        """Pairs (position in ``needed``, core) for every other neuron that sits in a core and needs the axon there."""
        # Cached: a neuron is taken out, compared with cores and put in; until another is queried, no other has moved.
        if self._looked_at is not None and self._looked_at[0] == neuron:
            return self._looked_at[1]
        start = self._first_reader[needed]
        lengths = self._first_reader[needed + 1] - start
        other = self._reader[ragged_ranges(start, lengths)]
        core = self.core_of[other]
        seated = (other != neuron) & (core != NOWHERE)
        found = np.repeat(np.arange(len(needed)), lengths)[seated], core[seated]
        self._looked_at = neuron, found
        return found

    def _count_held(self, others: tuple[Ints, Ints]) -> Ints:
        """Count, for every core, the axons that it has for :meth:`_others`."""
        place, core = others
        n = len(self.load)
        pairs = place * n + core
        size = (int(place[-1]) + 1 if len(place) else 0) * n
        if size > TABLE * len(pairs):
            return np.bincount(np.unique(pairs) % n, minlength=n)
        held = np.zeros(size, bool)  # spares sorting the pairs
        held[pairs] = True
        return np.bincount(np.flatnonzero(held) % n, minlength=n)

    def _lacking(self, needed: Ints, core: int, others: tuple[Ints, Ints]) -> Ints:
        """Axons of ``needed`` that a core lacks, apart from the neuron that :meth:`_others` left out."""
        place, where = others
        lacks = np.ones(len(needed), bool)
        lacks[place[where == core]] = False
        lacking: Ints = needed[lacks]
        return lacking

    def _feed(self, axons: Ints, by: int) -> None:
        """Change the copies of the neurons that feed axons, and the load of their cores."""
        home = self._homes(axons)
        np.add.at(self.copies, home, by)
        core = self.core_of[home]
        np.add.at(self.load, core[core != NOWHERE], by)

    def _homes(self, axons: Ints) -> Ints:
        """List the neurons that feed axons; axons fed by the host or replicas are left out."""
        home = self.loose.home[axons]
        return home[home >= 0]


# Neurons one by one, with the axons that each needs in whatever core it sits: what packing moves about.


@dataclass(frozen=True, eq=False)
class LooseNeurons(ReadOnly, Value):
    """The neurons of all tiles (U of them, tile by tile) and the axons that they need (K of them)."""

    # tile, population, neuron: (U,): tile and population that a neuron belongs to, and its position in the population
    tile: Ints
    population: Ints
    neuron: Ints
    # (U,): neurons that stay where they are: pinned ones, replicas, those that read replicas, and all others of their
    # tiles
    fixed: Bools
    # (U,): copies that do not depend on where the others sit: one if the neuron is read out or kept; all of a replica
    own_copies: Ints
    weights: Ints  # (U, axon_types): weight of every neuron for every type of its axons
    # leak, alpha: (U,): negative leak, and threshold on the chip
    leak: Ints
    alpha: Ints
    first_needed: Ints  # (U + 1,): where the axons of a neuron begin in ``needed``
    # needed, columns: (nnz,): axon of each neuron's synapses as a number below K, ascending, and the column of the
    # population's joined matrix (or ``BIAS``)
    needed: Ints
    columns: Ints
    axon_type: Ints  # (K,): type of an axon
    home: Ints  # (K,): the neuron whose spikes the axon carries; -1 where they come from the host or a replica

    def __len__(self) -> int:
        return len(self.tile)

    def copies(self, core_of: Ints) -> Ints:
        """Count the copies that each neuron needs if all sit as in ``core_of``; shape (U,)."""
        _, axons = self._axons_in_use(core_of)
        home = self.home[axons]
        return self.own_copies + np.bincount(home[home >= 0], minlength=len(self)).astype(np.int64)

    def axons(self, core_of: Ints, n_cores: int) -> Ints:
        """Count the axons in use of every core; shape (n_cores,)."""
        core, _ = self._axons_in_use(core_of)
        return np.bincount(core, minlength=n_cores).astype(np.int64)

    def least_cores(self, n_axons: int, n_neurons: int) -> int:
        """Bound the cores, with ``n_axons`` axons and ``n_neurons`` neurons each, of any packing from below."""
        # Tiles of fixed neurons keep a core each. The others need at least one place each and every one of their axons
        # once, and a core each if no two of them fit one.
        free = ~self.fixed
        lengths = np.diff(self.first_needed)
        needed = self.needed[np.repeat(free, lengths)]
        in_use = np.zeros(len(self.axon_type), bool)
        in_use[needed] = True
        indptr = np.append(0, np.cumsum(lengths[free]))
        apart = len(rows_apart(indptr, needed, len(self.axon_type), n_axons))
        of_others = max(-(-int(free.sum()) // n_neurons), -(-int(in_use.sum()) // n_axons), apart)
        return len(np.unique(self.tile[self.fixed])) + of_others

    def _axons_in_use(self, core_of: Ints) -> tuple[Ints, Ints]:
        """List the axons in use as pairs of core and axon, each once."""
        n_axons = max(1, len(self.axon_type))
        core = np.repeat(core_of, np.diff(self.first_needed))
        pairs = np.unique(core * n_axons + self.needed)
        return pairs // n_axons, pairs % n_axons
