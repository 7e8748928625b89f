"""Move neurons between cores, exactly: relieve cores that hold too many copies, then empty the least filled.

A move changes the axons of two cores and, with them, the copies of every neuron that feeds those axons, wherever
that neuron sits. Books are kept of all of it, so that a move is made only if every core still holds what it must.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges, rows_of_entries
from neuromap.mapping.pack.loose_neurons import Units

__all__ = ["Books", "empty_cores", "relieve"]

Ints = NDArray[np.int64]
TRIED = 12
"""Cores that are tried for a neuron, those that lack fewest of its axons first."""
GIVE_UP = 40
"""Cores in a row that could not be emptied, after which no more are tried."""


class Books:
    """Where every neuron sits, and what every core holds because of it.

    Attributes
    ----------
    core_of : ndarray of int64, shape (U,)
        Core of every neuron, -1 while it sits nowhere.
    copies : ndarray of int64, shape (U,)
        Copies that each needs.
    axons, load : ndarray of int64, shape (C,)
        Axons and neurons in use of every core.
    """

    def __init__(self, units: Units, core_of: Ints, n_cores: int, axons: int, neurons: int) -> None:
        self.units, self.room_axons, self.room_copies = units, axons, neurons
        self.core_of = core_of.copy()
        self.copies = units.copies(core_of)
        self.axons = units.axons(core_of, n_cores)
        self.load = np.bincount(core_of, self.copies, minlength=n_cores).astype(np.int64)
        order = np.argsort(units.keys, kind="stable")
        unit = rows_of_entries(units.first_key)
        self._reader = unit[order]
        self._first_reader = np.searchsorted(units.keys[order], np.arange(len(units.key_type) + 1))

    @property
    def cores(self) -> int:
        """Cores in use."""
        return len(np.unique(self.core_of))

    def keys_of(self, unit: int) -> Ints:
        """Keys of the axons that a neuron needs."""
        return self.units.keys[self.units.first_key[unit] : self.units.first_key[unit + 1]]

    def _held(self, keys: Ints, *, but: int) -> tuple[Ints, Ints]:
        """Pairs (position in ``keys``, core) of the cores in which another neuron reads a key."""
        start, end = self._first_reader[keys], self._first_reader[keys + 1]
        lengths = end - start
        place = np.repeat(np.arange(len(keys)), lengths)
        unit = self._reader[ragged_ranges(start, lengths)]
        core = self.core_of[unit]
        other = (unit != but) & (core >= 0)
        n = len(self.load)
        pairs = np.unique(place[other] * n + core[other])
        return pairs // n, pairs % n

    def _feed(self, keys: Ints, by: int) -> None:
        home = self.units.home[keys]
        home = home[home >= 0]
        np.add.at(self.copies, home, by)
        core = self.core_of[home]
        np.add.at(self.load, core[core >= 0], by)

    def take_out(self, unit: int) -> None:
        """Take a neuron out of its core."""
        core, keys = int(self.core_of[unit]), self.keys_of(unit)
        place, where = self._held(keys, but=unit)
        alone = np.ones(len(keys), bool)
        alone[place[where == core]] = False
        self.axons[core] -= int(alone.sum())
        self._feed(keys[alone], -1)
        self.load[core] -= self.copies[unit]
        self.core_of[unit] = -1

    def put_in(self, unit: int, core: int) -> None:
        """Put a neuron that sits nowhere into a core, whether it fits or not."""
        keys = self.keys_of(unit)
        place, where = self._held(keys, but=unit)
        new = np.ones(len(keys), bool)
        new[place[where == core]] = False
        self.axons[core] += int(new.sum())
        self.core_of[unit] = core
        self.load[core] += self.copies[unit]
        self._feed(keys[new], 1)

    def find(self, unit: int, closed: NDArray[np.bool_], *, strict: bool = True) -> int | None:
        """Find the core that takes a neuron with fewest new axons.

        If ``strict``, no core may hold too many copies for it; else only the one that is found is looked at.
        """
        keys = self.keys_of(unit)
        place, where = self._held(keys, but=unit)
        lacking = len(keys) - np.bincount(where, minlength=len(self.load))
        room = self.room_axons - self.axons
        able = (lacking <= room) & (self.load + self.copies[unit] <= self.room_copies) & ~closed
        candidates = np.flatnonzero(able)
        order = np.lexsort((candidates, room[candidates] - lacking[candidates], lacking[candidates]))
        for core in candidates[order[:TRIED]].tolist():
            new = np.ones(len(keys), bool)
            new[place[where == core]] = False
            home = self.units.home[keys[new]]
            home = home[home >= 0]
            there = self.core_of[home]
            there = np.where(home == unit, core, there)
            asked = np.bincount(there[there >= 0], minlength=len(self.load))
            asked[core] += self.copies[unit]
            if not strict:
                return int(core)
            if (self.load[asked > 0] + asked[asked > 0] <= self.room_copies).all():
                return int(core)
        return None


def relieve(books: Books, fixed: NDArray[np.bool_], most_moves: int) -> bool:
    """Move neurons out of cores that hold too many copies, into new cores where no other takes them.

    Parameters
    ----------
    books : Books
        They are changed, also where it fails.
    fixed : ndarray of bool, shape (U,)
        Neurons that stay; their cores take no others.
    most_moves : int
        Moves after which it gives up.

    Returns
    -------
    bool
        Whether no core holds too many copies any more.
    """
    moves = 0
    waiting: list[int] = []
    closed = _cores_with(fixed, books)
    lengths = np.diff(books.units.first_key)
    while True:
        for core in np.flatnonzero(books.load > books.room_copies).tolist():
            while books.load[core] > books.room_copies:
                members = np.flatnonzero((books.core_of == core) & ~fixed & (books.copies > 0))
                if not len(members):
                    return False
                excess = books.load[core] - books.room_copies
                size = np.minimum(books.copies[members], excess + 2)
                unit = int(members[np.argmax(size / (1 + lengths[members]))])
                books.take_out(unit)
                waiting.append(unit)
                moves += 1
        if not waiting:
            return True
        if moves > most_moves:
            return False
        waiting.sort(key=lambda u: (-int(books.copies[u]), u))
        unit = waiting.pop(0)
        core_found = books.find(unit, closed)
        if core_found is None:
            core_found = books.find(unit, closed, strict=False)
        if core_found is None:
            core_found = len(books.load)
            books.load, books.axons, closed = (
                np.append(books.load, 0),
                np.append(books.axons, 0),
                np.append(closed, False),
            )
        books.put_in(unit, core_found)


def empty_cores(books: Books, fixed: NDArray[np.bool_]) -> None:
    """Empty cores, the least filled first, by moving each of their neurons to where it costs fewest axons.

    Parameters
    ----------
    books : Books
        They are changed; cores that cannot be emptied are left as they were.
    fixed : ndarray of bool, shape (U,)
        Neurons that stay; their cores take no others.
    """
    failures = 0
    hopeless = np.zeros(len(books.load), bool)
    has_fixed = _cores_with(fixed, books)
    while failures < GIVE_UP:
        filling = np.maximum(books.axons / books.room_axons, books.load / books.room_copies)
        filling += np.minimum(books.axons / books.room_axons, books.load / books.room_copies) / 8
        empty = np.bincount(books.core_of, minlength=len(books.load)) == 0
        candidates = np.flatnonzero(~empty & ~hopeless & ~has_fixed)
        if not len(candidates):
            return
        core = int(candidates[np.argmin(filling[candidates])])
        members = np.flatnonzero(books.core_of == core)
        members = members[np.argsort(-books.copies[members], kind="stable")]
        closed = empty | has_fixed
        closed[core] = True
        done = []
        for unit in members.tolist():
            books.take_out(unit)
            target = books.find(unit, closed)
            if target is None:
                books.put_in(unit, core)
                break
            books.put_in(unit, target)
            done.append(unit)
        if len(done) == len(members):
            failures = 0
            continue
        for unit in reversed(done):
            books.take_out(unit)
            books.put_in(unit, core)
        hopeless[core] = True
        failures += 1


def _cores_with(chosen: NDArray[np.bool_], books: Books) -> NDArray[np.bool_]:
    held = np.zeros(len(books.load), bool)
    held[books.core_of[chosen]] = True
    return held
