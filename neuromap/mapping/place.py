"""Place cores on the grid so that spikes travel short ways.

Strategies by name: ``"row-major"`` fills rows, ``"hilbert"`` follows a Hilbert curve in the order of the
partition, ``"swap"`` (default) starts there and exchanges positions while that saves weighted hops; beyond
``SWAP_CORES`` cores the curve stays as it is, and a layout that leaves targets out of reach gives way to another.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.hardware.chip import ChipSpec
from neuromap.mapping.infeasible import Remedy, refuse

__all__ = ["PLACERS", "Placer", "hilbert_curve", "place"]

Ints = NDArray[np.int64]
Placer = Literal["row-major", "hilbert", "swap"]
PLACERS: tuple[Placer, ...] = ("row-major", "hilbert", "swap")
SWEEPS = 8
SWAP_CORES = 256


def place(n_cores: int, wires: tuple[Ints, Ints], chip: ChipSpec, placer: str = "swap") -> Ints:
    """Give every core of a partition its coordinates.

    Parameters
    ----------
    n_cores : int
        Cores of the partition, at most those of the chip.
    wires : tuple of ndarray of int64
        Source core and target core of every neuron's target.
    chip : ChipSpec
        Grid and reach.
    placer : {"swap", "hilbert", "row-major"}
        Strategy.

    Returns
    -------
    ndarray of int64, shape (n_cores, 2)
        x and y, all different.

    Raises
    ------
    InputError
        On an unknown strategy.
    DoesNotFitError
        If a target lies farther than a spike can travel.
    """
    if placer not in PLACERS:
        raise InputError(f"placer {placer!r} is not known; choose one of {', '.join(PLACERS)}")
    rows, curve = _row_major(n_cores, chip), _along_hilbert(n_cores, chip)
    layouts = {"row-major": [rows], "hilbert": [curve], "swap": [curve, rows]}[placer]
    if placer == "swap" and 2 < n_cores <= SWAP_CORES:
        layouts.insert(0, _swap(curve, wires))
    for where in layouts:  # fewer hops in all may mean one way that is too far
        if _out_of_reach(where, wires, chip) is None:
            return where
    axis, way = _out_of_reach(layouts[0], wires, chip) or (0, 0)
    assert chip.reach is not None, "every place is within an unlimited reach"
    text = f"a target lies {way} cores away along {'xy'[axis]}, a {chip.name} spike reaches {chip.reach[axis]}"
    remedy = Remedy("cores", None, "a network on fewer cores, or another placer, may fit")
    raise refuse("reach", None, way, chip.reach[axis], text, [remedy])


def hilbert_curve(order: int) -> Ints:
    """Return the points of the Hilbert curve that fills a square of side ``2**order``; shape (4**order, 2)."""
    points = np.zeros((1, 2), np.int64)
    for k in range(order):
        side = 2**k
        flipped = points[:, ::-1]
        points = np.concatenate(
            [
                flipped,
                points + [0, side],
                points + [side, side],
                np.array([2 * side - 1, side - 1]) - flipped,
            ]
        )
    return points


def _region(n_cores: int, chip: ChipSpec) -> tuple[int, int]:
    """Choose a nearly square region of the grid that holds the cores."""
    width = min(chip.columns, int(np.ceil(np.sqrt(n_cores))))
    height = min(chip.rows, -(-n_cores // width))
    return max(width, -(-n_cores // height)), height


def _row_major(n_cores: int, chip: ChipSpec) -> Ints:
    width, _ = _region(n_cores, chip)
    index = np.arange(n_cores)
    return np.stack([index % width, index // width], axis=1)


def _along_hilbert(n_cores: int, chip: ChipSpec) -> Ints:
    width, height = _region(n_cores, chip)
    curve = hilbert_curve(max(1, int(np.ceil(np.log2(max(width, height))))))
    inside = curve[(curve[:, 0] < width) & (curve[:, 1] < height)]
    return inside[:n_cores]


def _swap(where: Ints, wires: tuple[Ints, Ints]) -> Ints:
    """Exchange, core by core, with the partner that saves most, until a sweep saves nothing."""
    n = len(where)
    weight = np.zeros((n, n), np.int64)
    np.add.at(weight, wires, 1)
    weight = weight + weight.T
    np.fill_diagonal(weight, 0)
    where = where.copy()
    # x and y distances are separate sums, so the cost of each core at each position is one matrix product
    for _ in range(SWEEPS):
        saved = False
        for a in range(n):
            distance = np.abs(where[:, None, :] - where[None, :, :]).sum(axis=2)
            own = distance @ weight[a]  # cost of core a at every core's position
            current = (distance * weight).sum(axis=1)
            theirs = weight @ distance[:, a]  # cost of every core at a's position
            gain = own[a] + current - own - theirs - 2 * weight[a] * distance[a]
            gain[a] = 0
            b = int(np.argmax(gain))
            if gain[b] > 0:
                where[[a, b]] = where[[b, a]]
                saved = True
        if not saved:
            break
    return where


def _out_of_reach(where: Ints, wires: tuple[Ints, Ints], chip: ChipSpec) -> tuple[int, int] | None:
    """Find an axis along which some target lies too far, and how far; ``None`` if there is none."""
    if chip.reach is None or not len(wires[0]):
        return None
    way = np.abs(where[wires[0]] - where[wires[1]]).max(axis=0).tolist()
    return next(((axis, int(way[axis])) for axis in (0, 1) if way[axis] > chip.reach[axis]), None)
