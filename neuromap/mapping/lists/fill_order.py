"""Fill cores in an order of groups: a core is closed where the next group, or the next block, does not fit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.lists.neuron_groups import NeuronGroups, Room
from neuromap.mapping.tile.cut.cut_order import compiled_for

__all__ = ["GroupOrder", "fill_order"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class GroupOrder(Value):
    """An order of groups.

    Attributes
    ----------
    groups : ndarray of int64, shape (g,)
        Groups, each once.
    ends : ndarray of int64, shape (b,)
        Where its blocks end, ascending: a block that fits a core is not divided.
    """

    groups: Ints
    ends: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)


def fill_order(order: GroupOrder, groups: NeuronGroups, room: Room, most: Ints | None = None) -> tuple[Ints, int]:
    """Put groups into cores, in an order.

    Parameters
    ----------
    order : GroupOrder
        All groups, or some.
    groups : NeuronGroups
        Each of them fits a core.
    room : Room
        What a core holds; output axons are not looked at.
    most : ndarray of int64, shape (g,), optional
        Bounds the compartments of a core that holds the group.

    Returns
    -------
    core : ndarray of int64, shape (g,)
        Core of every group, -1 where it is not in the order.
    deliveries : int
        Distinct pairs of a signal and a core that reads it.
    """
    core = np.full(len(groups), -1, np.int64)
    most = np.full(len(groups), room.neurons, np.int64) if most is None else most
    stamp = np.full((2, groups.n_signals), -1, np.int64)
    deliveries = compiled_for(_fill, 2 * len(groups.signal))(
        order.groups, order.ends, groups.start, groups.signal, groups.load, groups.synapses, room.as_array(), most,
        stamp, core,
    )  # fmt: skip
    return core, deliveries


def _fill(
    order: Any,
    ends: Any,
    start: Any,
    signal: Any,
    load: Any,
    synapses: Any,
    room: Any,
    most: Any,
    stamp: Any,
    core: Any,
) -> int:
    """Fill ``core``; return how many axons all cores take."""
    here, used, read, held, total = 0, 0, 0, 0, 0
    limit = room[0]
    first = 0
    for block in range(len(ends)):
        # the block as a whole: does it fit what is left?
        together, fresh, n_synapses, bound = used, 0, held, limit
        for i in range(first, ends[block]):
            g = order[i]
            together += load[g]
            n_synapses += synapses[g]
            bound = min(bound, most[g])
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                if stamp[0, s] != here and stamp[1, s] != block:
                    stamp[1, s] = block
                    fresh += 1
        bits = (read + fresh) * room[4] + n_synapses * room[5]
        whole = used == 0 or not (together > bound or read + fresh > room[1] or bits > room[3])
        for i in range(first, ends[block]):
            g = order[i]
            fresh = 0
            for k in range(start[g], start[g + 1]):
                if stamp[0, signal[k]] != here:
                    fresh += 1
            bits = (read + fresh) * room[4] + (held + synapses[g]) * room[5]
            full = used + load[g] > min(limit, most[g]) or read + fresh > room[1] or bits > room[3]
            if used > 0 and (full or (i == first and not whole)):
                here, used, read, held, limit = here + 1, 0, 0, 0, room[0]
                fresh = start[g + 1] - start[g]
            for k in range(start[g], start[g + 1]):
                stamp[0, signal[k]] = here
            core[g] = here
            used += load[g]
            read += fresh
            total += fresh
            held += synapses[g]
            limit = min(limit, most[g])
        first = ends[block]
    return total
