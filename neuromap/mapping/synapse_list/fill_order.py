"""Fill cores in an order of groups: a core is closed where the next group, or the next block, does not fit it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.synapse_list.neuron_groups import NeuronGroups, Room
from neuromap.mapping.tile.cut_order import compiled_for

__all__ = ["GroupOrder", "fill_order"]

Ints = NDArray[np.int64]
_NO_LIMIT = 2**62


@dataclass(frozen=True, eq=False)
class GroupOrder(Value):
    """An order of groups."""

    groups: Ints  # (g,): groups, each once
    ends: Ints  # (b,): where its blocks end, ascending: a block that fits a core is not divided

    def __post_init__(self) -> None:
        freeze_arrays(self)


def fill_order(
    order: GroupOrder,
    groups: NeuronGroups,
    room: Room,
    most: Ints | None = None,
    *,
    work: int = 0,
    enough: tuple[int, int] = (_NO_LIMIT, _NO_LIMIT),
) -> tuple[Ints, int]:
    """Put groups into cores, in an order."""
    # gives core: core of every group, -1 where it is not in the order, or the loop came to its end
    # shapes: most (g,); core (g,)
    core = np.full(len(groups), -1, np.int64)
    most = np.full(len(groups), room.neurons, np.int64) if most is None else most
    stamp = np.full((2, groups.n_signals), -1, np.int64)
    seen = np.full((2, len(groups)), -1, np.int64)
    deliveries = compiled_for(_fill, max(work, 2 * len(groups.signal)))(
        order.groups, order.ends, groups.start, groups.signal, groups.alike, groups.load, groups.synapses,
        room.as_array(), most, stamp, seen, core, *enough,
    )  # fmt: skip
    return core, deliveries


def _fill(
    order: Any,
    ends: Any,
    start: Any,
    signal: Any,
    alike: Any,
    load: Any,
    synapses: Any,
    room: Any,
    most: Any,
    stamp: Any,
    seen: Any,
    core: Any,
    most_deliveries: int,
    most_cores: int,
) -> int:
    """Fill ``core``; return how many axons all cores take."""
    # ``stamp`` and ``seen`` tell in which core and block a signal, or one of the groups that are alike, was met last.
    here, used, read, held, total = 0, 0, 0, 0, 0
    limit = room[0]
    first = 0
    for block in range(len(ends)):
        # the block as a whole: does it fit what is left, or an empty core?
        compartments, axons, fresh, n_synapses, bound = 0, 0, 0, 0, room[0]
        for i in range(first, ends[block]):
            g = order[i]
            compartments += load[g]
            n_synapses += synapses[g]
            bound = min(bound, most[g])
            if seen[1, alike[g]] == block:
                continue
            seen[1, alike[g]] = block
            for k in range(start[g], start[g + 1]):
                s = signal[k]
                if stamp[1, s] != block:
                    stamp[1, s] = block
                    axons += 1
                    fresh += stamp[0, s] != here
        bits = (read + fresh) * room[4] + (held + n_synapses) * room[5]
        whole = used + compartments <= min(bound, limit) and read + fresh <= room[1] and bits <= room[3]
        bits = axons * room[4] + n_synapses * room[5]
        divided = not whole and (compartments > bound or axons > room[1] or bits > room[3])
        for i in range(first, ends[block]):
            g = order[i]
            full = i == first and not whole
            if divided and not full:
                fresh = 0
                if seen[0, alike[g]] != here:
                    for k in range(start[g], start[g + 1]):
                        fresh += stamp[0, signal[k]] != here
                bits = (read + fresh) * room[4] + (held + synapses[g]) * room[5]
                full = used + load[g] > min(limit, most[g]) or read + fresh > room[1] or bits > room[3]
            if used > 0 and full:
                here, used, read, held, limit = here + 1, 0, 0, 0, room[0]
            if seen[0, alike[g]] != here:
                seen[0, alike[g]] = here
                for k in range(start[g], start[g + 1]):
                    s = signal[k]
                    if stamp[0, s] != here:
                        stamp[0, s] = here
                        read += 1
                        total += 1
            core[g] = here
            used += load[g]
            held += synapses[g]
            limit = min(limit, most[g])
        first = ends[block]
        if total >= most_deliveries or here >= most_cores:
            break
    return total
