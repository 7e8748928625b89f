"""How many axons a set of neurons will take, counted without planning them.

A tile of *units* (a neuron, or neurons that stay together) takes about as many axons as it reads distinct *items*: a
source, or a source with one of its weights where weights need axons of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.mapping.core.core_model import CoreModel
from neuromap.mapping.legalise.legalised import Matrix
from neuromap.mapping.tile.cut_order import join_items, longest_run
from neuromap.mapping.tile.dense_rows import dense_rows
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["AxonDemand", "axon_demand"]

Ints = NDArray[np.int64]
CORE_PRICE = 2**20
"""Price of a core; prices are whole numbers, so that sums do not depend on their order."""
COPY, DELIVERY = 1.0, 1.0
"""Price of a copy of a source and of a delivery, as shares of a core's ``1 / neurons`` and ``1 / axons``."""
PROBES = 3
"""Places at which a tile is planned to see how many axons its items take."""


@dataclass(frozen=True, eq=False)
class AxonDemand(Value):
    """What every neuron of a population reads."""

    indptr: Ints  # (n + 1,): where the items of a neuron begin
    items: Ints  # items, ascending within a neuron
    price: Ints  # (number of items,): what a tile that reads the item pays for it; a core costs ``CORE_PRICE``
    limit: int  # distinct items that fit a core
    exact: bool  # whether that many always fit and more never do (bias axons and narrow potentials aside)

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def of_units(self, unit_of: Ints, n_units: int) -> tuple[Ints, Ints]:
        """Join the items of neurons that stay together."""
        # shapes: unit_of (n,)
        return join_items(self.indptr, self.items, unit_of, n_units, len(self.price))


def axon_demand(
    matrix: Matrix,
    threshold: Ints,
    copies: Ints,
    fed_by_chip: NDArray[np.bool_],
    core: CoreModel,
    neuron: LeakNeuron | None = None,
) -> AxonDemand:
    """Find what the neurons of a population read, and how much of it fits a core."""
    # gives its limit is at least 1
    # shapes: matrix (n, s); threshold, copies (n,); fed_by_chip (s,)
    n_sources = matrix.shape[1]
    price = np.where(fed_by_chip, COPY / core.neurons, 0.0)
    values, kind = _values(matrix.data)
    columns = matrix.indices.astype(np.int64)
    indptr = matrix.indptr.astype(np.int64)
    narrow = core.has_axon_per_weight(values)
    one_value = narrow and _one_value(columns, kind, n_sources)
    if narrow and not one_value:
        n_values = len(values)
        items = columns * n_values + kind
        axon_price = _whole(np.repeat(price, n_values) + _per_source(items, n_values, n_sources) / core.axons)
    else:
        items, axon_price = columns, _whole(price + DELIVERY / core.axons)
    demand = AxonDemand(indptr, items, axon_price, core.axons, exact=narrow)
    sources_alone = AxonDemand(indptr, columns, _whole(price + DELIVERY / core.axons), core.axons, exact=False)
    if one_value and not core.needs_bias(threshold):
        return demand
    ratio = _axons_per_item(matrix, threshold, copies, demand, core, neuron)
    if narrow and not one_value:
        of_sources = _axons_per_item(matrix, threshold, copies, sources_alone, core, neuron)
        if of_sources <= 1.0:  # so few neurons that types by pattern hold them: then items are sources
            return sources_alone
    if ratio <= 1.0:
        return demand
    return AxonDemand(indptr, items, axon_price, max(1, int(core.axons / ratio)), exact=False)


def _whole(price: NDArray[np.float64]) -> Ints:
    whole: Ints = np.round(price * CORE_PRICE).astype(np.int64)
    return whole


def _values(data: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Return the distinct weights and the place of each among them; many distinct ones are not numbered."""
    low, high = int(data.min(initial=0)), int(data.max(initial=0))
    if high - low > 2**16:
        return np.unique(data), np.zeros(0, np.intp)
    seen = np.bincount(data - low, minlength=1) > 0
    return np.flatnonzero(seen) + low, (np.cumsum(seen) - 1)[data - low]


def _one_value(columns: Ints, kind: NDArray[np.intp], n_sources: int) -> bool:
    """Whether every source has one weight for all that read it."""
    value = np.zeros(n_sources, np.int64)
    value[columns] = kind
    return bool((value[columns] == kind).all())


def _per_source(items: Ints, n_values: int, n_sources: int) -> NDArray[np.float64]:
    """Share the price of a delivery among the weights that a source has."""
    seen = np.zeros(n_sources * n_values, bool)
    seen[items] = True
    kinds = np.maximum(1, seen.reshape(n_sources, n_values).sum(axis=1))
    share: NDArray[np.float64] = np.repeat(DELIVERY / kinds, n_values)
    return share


def _axons_per_item(
    matrix: Matrix, threshold: Ints, copies: Ints, demand: AxonDemand, core: CoreModel, neuron: LeakNeuron | None
) -> float:
    """Plan tiles at a few places and see how many axons an item takes, at most."""
    alive = np.flatnonzero(copies > 0)
    worst = 1.0
    for start in np.unique(np.linspace(0, max(0, len(alive) - 1), PROBES, dtype=int)):
        run = alive[start : start + core.neurons]
        run = run[: max(1, longest_run(copies[run], core.neurons))]
        while True:
            read = [demand.items[demand.indptr[n] : demand.indptr[n + 1]] for n in run.tolist()]
            n_items = len(np.unique(np.concatenate(read)))
            kept = None if neuron is None else neuron.take(run)
            plan = core.plan(dense_rows(matrix, run)[1], threshold[run], kept) if n_items <= core.axons else None
            if plan is not None:
                worst = max(worst, plan.n_axons / max(1, n_items))
                break
            if len(run) == 1:
                break  # stuck, or nearly: whoever plans the tile will see
            run = run[: len(run) // 2]
    return worst
