"""Neurons that read the same sources and are too many for one core: split so that sources of a core have few patterns.

Where sources have two weights and one axon for each is too much, many of a core's sources must have one of few patterns
(``neuromap.mapping.core.opposites``). How many have one is decided by which neurons go together.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.tile.cut.dense_rows import dense_rows
from neuromap.mapping.tile.cut.tile_shapes import CutOrder

__all__ = ["cut_alike"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
TRIED = 16
"""Neurons that are looked at for the next place in a core, in their order."""


def cut_alike(matrix: Matrix, copies: Ints, core: CoreModel) -> CutOrder | None:
    """Order neurons by what they read, and cut those that read the same where a core is full."""
    # copies: neurons of a core that each takes, at most as many as a core has; those with 0 are left out
    # gives ends are guesses, for a plan to confirm. ``None`` where all that read the same fit a core with an axon for
    # every weight
    # shapes: matrix (n, s); copies (n,)
    alive = np.flatnonzero(copies > 0)
    if not len(alive) or 2 * int(np.diff(matrix.indptr)[alive].max()) <= core.axons:
        return None
    known: dict[bytes, list[Ints]] = {}
    order, ends = [], [0]
    for members in _classes(matrix, alive):
        weights = dense_rows(matrix, members)[1]
        digest = hashlib.blake2b(weights.tobytes(), digest_size=16, key=str(weights.shape).encode())
        digest.update(copies[members].tobytes())
        look = digest.digest()
        if look not in known:
            known[look] = _groups(weights, copies[members], core)
        for group in known[look]:
            order.append(members[group])
            ends.append(ends[-1] + len(group))
    return CutOrder(np.concatenate(order), np.array(ends[1:], np.int64), 0)


def _classes(matrix: Matrix, alive: Ints) -> list[Ints]:
    """Neurons that read the same sources, class by class in the order of their first."""
    found: dict[bytes, list[int]] = {}
    for n in alive.tolist():
        found.setdefault(matrix.indices[matrix.indptr[n] : matrix.indptr[n + 1]].tobytes(), []).append(n)
    return [np.array(members, np.int64) for members in found.values()]


def _groups(weights: Ints, copies: Ints, core: CoreModel) -> list[Ints]:
    """Split neurons of one class: in their order, or each core with those that suit each other best."""
    # neurons that read nothing have no greatest weight: any will do
    is_high = weights == weights.max(axis=1, keepdims=True, initial=np.iinfo(np.int64).min)
    if (~is_high & (weights != weights.min(axis=1, keepdims=True, initial=np.iinfo(np.int64).max))).any():
        return [np.arange(len(weights))]  # more than two weights: the planner sees how many fit
    ways = [_filled(is_high, copies, core, tried) for tried in (1, TRIED)]
    return min(ways, key=len)


def _filled(is_high: Bools, copies: Ints, core: CoreModel, tried: int) -> list[Ints]:
    """Fill cores one after the other, with the best of the next neurons each time."""
    waiting = list(range(len(is_high)))
    groups = []
    while waiting:
        first = waiting.pop(0)
        group, load = [first], int(copies[first])
        turned = is_high ^ is_high[first]  # alike up to its opposite: 0 in the first neuron
        label = np.zeros(is_high.shape[1], np.int64)
        while waiting:
            some = waiting[:tried]
            labels = [np.unique(2 * label + turned[n], return_inverse=True)[1] for n in some]
            axons = [_axons(found, is_high[first], core.axon_types) for found in labels]
            best = int(np.argmin(axons))
            if axons[best] > core.axons or load + copies[some[best]] > core.neurons:
                break
            label = labels[best]
            load += int(copies[some[best]])
            group.append(some[best])
            waiting.remove(some[best])
        groups.append(np.array(group, np.int64))
    return groups


def _axons(label: Ints, is_high: Bools, types: int) -> int:
    """Count the axons of sources whose patterns are alike, up to their opposites, where labels are equal."""
    count = np.bincount(2 * label + is_high, minlength=2 * int(label.max(initial=0)) + 2).reshape(-1, 2)
    pair = int(np.argmax(count.sum(axis=1)))
    single = int(count[pair].sum())
    count[pair] = 0
    single += int(np.sort(count, axis=None)[::-1][: max(0, types - 2)].sum())
    return 2 * len(label) - single
