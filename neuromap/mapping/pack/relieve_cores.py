"""Relieve cores that hold too many copies: move neurons out of them, one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.asked.budget import NO_LIMIT, Budget
from neuromap.mapping.pack.books import Books

__all__ = ["relieve"]

Bools = NDArray[np.bool_]
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
