r"""Decoders on few axons: which integers a source's weight can be, and which of them lose least of the decoded value.

A neuron of a crossbar core has one weight for each axon type, so that a source of several axons weighs the sum of their
types' weights. With one axon it is one of as many values as there are types; with r axons it is a sum of at most r of
1, b, -1 and -b, which the mapper finds as digits (:mod:`neuromap.mapping.core.palettes`). Rounding goes source by
source, and what one loses those after it make up for as far as they can (the optimal brain surgeon of Hassibi and
Stork, 1993, as Frantar and Alistarh use it for quantisation, 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.forms.card import Card

__all__ = ["MOST_AXONS", "AxonSums", "find_axon_sums"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_AXONS = 4
"""Axons of one source."""
_RIDGE = 0.05
"""Noise that is allowed for, in parts of the greatest activity."""


@dataclass(frozen=True, eq=False)
class AxonSums(Card):
    """Weights of n sources in integers."""

    weights: Ints  # (n,): sums of the weights of axons
    scale: int  # what 1 of the given weights is in these
    # the most that a source needs; the mapper may take more for one of them where all together then take fewer
    axons: int
    error: float  # root mean square of the error of the decoded value by that of the value

    def __post_init__(self) -> None:
        freeze_arrays(self)


def find_axon_sums(
    weights: Floats, activities: Floats, bound: float, *, types: int, most: int, greatest_scale: int
) -> AxonSums:
    """Find the fewest axons for every source with which the decoded value is right within a bound."""
    # greatest_scale: what 1 of the weights may be at most
    # gives that with the least error, of at most ``MOST_AXONS`` axons, where none keeps the bound
    # shapes: weights (n,); activities (m, n)
    solver = _Rounding(weights, activities)
    best: AxonSums | None = None
    for axons in range(1, MOST_AXONS + 1):
        found = min(_candidates(solver, axons, types, most, greatest_scale), key=lambda sums: sums.error)
        if best is None or found.error < best.error:
            best = found
        if best.error <= bound:
            break
    assert best is not None
    return best


def _candidates(solver: _Rounding, axons: int, types: int, most: int, top: int) -> list[AxonSums]:
    greatest = float(np.abs(solver.weights).max(initial=0))
    if greatest == 0:
        return [AxonSums(np.zeros(len(solver.weights), np.int64), 1, axons, 0.0)]
    if axons == 1:
        scale = max(1, min(top, int(most / greatest)))
        return [solver.round(_few_values(solver.weights * scale, types), scale, axons)]
    found = []
    for levels in (_sums(axons, radix) for radix in (3, 4)):
        reach = levels[-1] / greatest
        scales = {max(1, min(top, round(reach * part))) for part in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3)}
        found += [solver.round(levels, scale, axons) for scale in sorted(scales)]
    return found


def _sums(axons: int, radix: int) -> Ints:
    """List the sums of at most ``axons`` of 1 and the radix, of one sign, ascending."""
    up = {sum(chosen) for chosen in combinations_with_replacement((0, 1, radix), axons)}
    return np.array(sorted(up | {-value for value in up}))


def _few_values(weights: Floats, count: int) -> Ints:
    """Find the whole values, 0 beside them, that are nearest to all weights: k-means from evenly spaced quantiles."""
    values = np.quantile(weights, (np.arange(count) + 0.5) / count)
    for _ in range(30):
        nearest = np.abs(weights[:, None] - values).argmin(axis=1)
        values = np.array([weights[nearest == k].mean() if (nearest == k).any() else values[k] for k in range(count)])
    return np.unique(np.append(np.rint(values), 0)).astype(np.int64)


class _Rounding:
    """Rounds decoders to levels; holds what all attempts share."""

    def __init__(self, weights: Floats, activities: Floats) -> None:
        self.weights, self._activities = weights, activities
        self._wanted = activities @ weights
        gram = activities.T @ activities / max(1, len(activities))
        noise = (_RIDGE * activities.max(initial=0)) ** 2 + 1e-12
        self._order = np.argsort(-np.diag(gram), kind="stable")
        inverse = np.linalg.inv(gram + noise * np.eye(len(gram)))[np.ix_(self._order, self._order)]
        self._factor = np.linalg.cholesky(inverse).T  # row i: what source i asks of those after it

    def round(self, levels: Ints, scale: int, axons: int) -> AxonSums:
        rest, rounded = self.weights[self._order] * scale, np.zeros(len(self.weights))
        for i, row in enumerate(self._factor):
            rounded[i] = levels[np.abs(levels - rest[i]).argmin()]
            rest[i:] -= (rest[i] - rounded[i]) / row[i] * row[i:]
        found = np.zeros_like(rounded)
        found[self._order] = rounded
        error = float(np.linalg.norm(self._activities @ found / scale - self._wanted))
        norm = float(np.linalg.norm(self._wanted))
        return AxonSums(found.astype(np.int64), scale, axons, error / norm if norm else float(error > 0))
