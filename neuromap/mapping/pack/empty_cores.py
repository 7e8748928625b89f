"""Empty the least filled cores: move every one of their neurons into others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.pack.books import Books

__all__ = ["empty_cores"]

Bools = NDArray[np.bool_]
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


def _filling(books: Books) -> NDArray[np.float64]:
    """How full every core is, shape (C,)."""
    axons, copies = books.axons / books.room_axons, books.load / books.room_copies
    filling: NDArray[np.float64] = np.maximum(axons, copies) + np.minimum(axons, copies) * LESSER
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
