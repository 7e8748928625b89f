"""The independent checker of traffic: walks every route of a program hop by hop and counts again.

It shares no code with :mod:`neuromap.simulation.noc`, which counts starts, turns and ends only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import InputError
from neuromap.forms.card import Card
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.xy_route import xy_route

__all__ = ["RouteWalk", "route_difference", "walk_routes"]

_DIRECTION = {(1, 0): 0, (-1, 0): 1, (0, 1): 2, (0, -1): 3}
_NAMES = ("east", "west", "north", "south", "in", "out")


@dataclass(frozen=True, eq=False)
class RouteWalk(Card):
    """What a walk over all routes counts."""

    spikes: int  # spikes that are sent: one for every target of a neuron that fires
    hops: int  # links between routers that they cross
    crossings: int  # those of them that join two chips
    # (6, rows, columns): spikes over every link of the board, by the router at (x, y) that it leaves: ``[direction, y,
    # x]`` with 0 to x + 1, 1 to x - 1, 2 to y + 1, 3 to y - 1, 4 from the core into the router, 5 from the router into
    # the core
    loads: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def walk_routes(program: ChipProgram, fired: ArrayLike | None = None) -> RouteWalk:
    """Walk the route from every neuron to each of its targets, hop by hop.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    fired : array_like of int, shape (C, N), optional
        How often each neuron fires; once by default. Neurons without a target send nothing.

    Returns
    -------
    RouteWalk

    Raises
    ------
    InputError
        If ``fired`` has another shape, or a negative number.
    """
    chip = program.chip
    loads = np.zeros((6, chip.rows, chip.columns), np.int64)
    hops = crossings = 0
    times: Counter[tuple[int, int]] = Counter()
    for core, _, target, count in _sent(program, fired):
        times[core, target] += count
    for (core, target), count in times.items():
        places = [*xy_route(_place(program, core), _place(program, target))]
        loads[4, places[0][1], places[0][0]] += count
        loads[5, places[-1][1], places[-1][0]] += count
        for (x, y), (to_x, to_y) in pairwise(places):
            loads[_DIRECTION[to_x - x, to_y - y], y, x] += count
            hops += count
            if (x // chip.cores[0], y // chip.cores[1]) != (to_x // chip.cores[0], to_y // chip.cores[1]):
                crossings += count
    return RouteWalk(times.total(), hops, crossings, loads)


def route_difference(
    program: ChipProgram,
    loads: NDArray[np.integer],
    fired: ArrayLike | None = None,
    *,
    hops: int | NDArray[np.integer] | None = None,
) -> str | None:
    """Compare counted traffic with a walk over all routes, and name the first link or spike that differs.

    Parameters
    ----------
    program : ChipProgram
        Mapped, or written by hand.
    loads : ndarray of int, shape (6, rows, columns)
        Spikes over every link, as in :class:`RouteWalk`.
    fired : array_like of int, shape (C, N), optional
        How often each neuron fires; once by default.
    hops : int or ndarray of int, shape (C, N), optional
        Hops of all spikes together, or of the spikes that every neuron sends when it fires once; entries of neurons
        that send nothing are not looked at.

    Returns
    -------
    str or None
        One line, or ``None`` where all is equal.

    Raises
    ------
    InputError
        If an array has another shape than it must have, or a neuron fires a negative number of times.
    """
    walk = walk_routes(program, fired)
    if loads.shape != walk.loads.shape:
        raise InputError(f"loads: found shape {loads.shape}; needs {walk.loads.shape}")
    if hops is not None and not isinstance(hops, int):
        if hops.shape != program.shape:
            raise InputError(f"hops: found shape {hops.shape}; needs {program.shape}")
        walked: Counter[tuple[int, int]] = Counter()
        for core, neuron, target, _ in _sent(program, fired):
            walked[core, neuron] += sum(1 for _ in xy_route(_place(program, core), _place(program, target))) - 1
        for (core, neuron), right in walked.items():
            if right != hops[core, neuron]:
                return f"spike of core {core}, neuron {neuron}: {hops[core, neuron]} hops; its route has {right}"
    for direction, y, x in np.argwhere(loads != walk.loads):
        found, right = loads[direction, y, x], walk.loads[direction, y, x]
        return f"link {_NAMES[direction]} of router ({x}, {y}): {found} spikes; its routes carry {right}"
    if isinstance(hops, int) and hops != walk.hops:
        return f"hops: {hops} in all; the routes have {walk.hops}"
    return None


def _sent(program: ChipProgram, fired: ArrayLike | None) -> list[tuple[int, int, int, int]]:
    """Core and neuron, core of the target, and number of spikes of every way that carries any."""
    shape = program.shape
    counts = np.ones(shape, np.int64) if fired is None else np.asarray(fired)
    if counts.shape != shape or counts.dtype.kind not in "iub":
        raise InputError(f"fired: found {counts.dtype} of shape {counts.shape}; needs integers of shape {shape}")
    if (counts < 0).any():
        raise InputError(f"fired: found {counts.min()}; a neuron fires 0 times or more")
    wires = program.wires
    times = counts[wires.core, wires.neuron].astype(np.int64)
    carries = times > 0
    columns = (wires.core, wires.neuron, wires.target_core, times)
    return list(zip(*(column[carries].tolist() for column in columns), strict=True))


def _place(program: ChipProgram, core: int) -> tuple[int, int]:
    x, y = program.coordinates[core].tolist()
    return x, y
