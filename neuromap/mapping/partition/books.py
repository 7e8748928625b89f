"""Books of where neurons sit: what every core holds, kept while neurons are moved.

A move changes the axons of two cores and, with them, the copies of every neuron that feeds those axons, wherever
that neuron sits. Books are kept of all of it, so that a move is made only if every core still holds what it must.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import ragged_ranges, rows_of_entries
from neuromap.mapping.partition.loose_neurons import LooseNeurons

__all__ = ["NOWHERE", "Books"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
NOWHERE = -1
TRIED = 12
"""Cores that are tried for a neuron, those that lack fewest of its axons first."""
TABLE = 64
"""Places of a table for every pair that it marks, up to which that is quicker than sorting the pairs."""


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
        order = np.argsort(loose.needed, kind="stable")
        self._reader = rows_of_entries(loose.first_needed)[order]
        self._first_reader = np.searchsorted(loose.needed[order], np.arange(len(loose.axon_type) + 1))
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
        """Note all that moves change, for :meth:`go_back`."""
        return self.core_of.copy(), self.copies.copy(), self.axons.copy(), self.load.copy()

    def go_back(self, noted: tuple[Ints, Ints, Ints, Ints]) -> None:
        """Make all moves since :meth:`noted` undone."""
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
        """Find the core that takes a neuron, which sits nowhere, with fewest new axons; ``None`` where none does."""
        # If ``strict``, no core may hold too many copies for it; else only the one that is found is looked at.
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
        # A neuron is taken out, held against cores and put in: until another one is asked about, no other one has
        # moved.
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
        """Those of ``needed`` that a core has no axon for, but perhaps for the neuron that :meth:`_others` left out."""
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
        """List the neurons that feed axons; those of the host and of replicas are left out."""
        home = self.loose.home[axons]
        return home[home >= 0]
