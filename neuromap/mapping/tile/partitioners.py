"""The partitioners by name: each orders the neurons of a population, and cuts that order into tiles at least cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import rows_of_entries
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.mapping.core.core_of import CrossbarCore
from neuromap.mapping.options.budget import NO_LIMIT, Budget
from neuromap.mapping.options.options import Partitioner
from neuromap.mapping.tile.exchange_neurons import exchange_neurons
from neuromap.mapping.tile.overlap_order import AxonDemand, overlap_order
from neuromap.mapping.tile.tile_shapes import CutOrder, cheapest_blocks, cut_single
from neuromap.registry import require_package

FEW, MANY = 2**18, 2**25
"""Items up to which neurons of a node with rows and columns, and of any other, are also ordered by overlap."""


@dataclass(frozen=True, eq=False)
class NeuronsToCut(ReadOnly, Value):
    """The neurons that are to be cut into tiles."""

    shape: tuple[int, int, int] | None  # of their node; ``None`` for relays
    demand: AxonDemand  # what they read
    copies: Ints  # (n,): neurons of a core that each takes; those with 0 are left out
    core: CrossbarCore  # limits
    seed: int  # of METIS

    @property
    def alive(self) -> Ints:
        """Those that take any neurons of a core, as they are numbered."""
        return np.flatnonzero(self.copies > 0)

    @property
    def is_image(self) -> bool:
        """Whether their node has rows or columns."""
        return self.shape is not None and self.shape[0] * self.shape[1] > 1

    def cut(self, order: Ints) -> CutOrder | None:
        """Cut an order of them; ``None`` where a neuron does not fit."""
        return cut_single(order, self.demand, self.copies, self.core)


Cuts = tuple[Callable[[NeuronsToCut], CutOrder | None], ...]
"""From neurons to an order of them, cut; ``None`` where a neuron does not fit, or the order takes too long to find."""


def cuts_by(
    partitioner: Partitioner, neurons: NeuronsToCut, budget: Budget = NO_LIMIT, *, exchanged: bool = True
) -> list[CutOrder]:
    """Cut the orders of a partitioner."""
    # gives the cheapest first; there is one at least
    found: list[CutOrder] = []
    for cut_order in CUTS[partitioner]:
        if not (found and budget.is_over("tiling")) and (cut := cut_order(neurons)) is not None:
            found.append(cut)
    cuts = found
    if exchanged:
        cuts = [exchange_neurons(cut, neurons.demand, neurons.copies, neurons.core, budget) for cut in found]
    if not cuts:  # the demand is a guess: only a plan can tell
        alive = neurons.alive
        cuts = [CutOrder(alive, np.arange(1, len(alive) + 1), 0)]
    return sorted(cuts, key=lambda cut: cut.cost)


def _blocks(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut blocks of rows, columns and features; neurons of a node without rows and columns as they are numbered."""
    if neurons.shape is not None and neurons.is_image:
        return cheapest_blocks(neurons.shape, neurons.demand, neurons.copies, neurons.core)
    return neurons.cut(neurons.alive)


def _overlap(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut an order in which those that read the same stand next to each other."""
    return neurons.cut(overlap_order(neurons.demand, neurons.copies, neurons.core))


def _metis(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut the order of METIS, which is told how many tiles to expect: those of the neurons as they are numbered."""
    as_numbered = neurons.cut(neurons.alive)
    tiles = max(1, len(as_numbered.ends)) if as_numbered is not None else 1
    return neurons.cut(metis_order(neurons.demand, neurons.copies, tiles, neurons.seed))


def _quick_overlap(neurons: NeuronsToCut) -> CutOrder | None:
    """Cut by overlap where that does not take too long."""
    few = len(neurons.demand.items) <= (FEW if neurons.is_image else MANY)
    return _overlap(neurons) if few else None


CUTS: Mapping[Partitioner, Cuts] = ReadOnlyMapping(
    {"auto": (_blocks, _quick_overlap), "blocks": (_blocks,), "overlap": (_overlap,), "metis": (_metis,)}
)
"""One for every name in :data:`neuromap.mapping.options.options.PARTITIONERS`."""


# Orders from METIS (extra ``partition``): parts of the graph that ties neurons to what they read.
#
# METIS does not know that a core has so many axons, so its parts are only an order, far finer than cores; tiles are
# cut from it like from any other, and are legal. Parts of a recursive bisection are numbered so that neighbours are
# related.


PARTS_PER_TILE = 4
"""Parts for every tile that is expected."""


def metis_order(demand: AxonDemand, copies: Ints, tiles: int, seed: int) -> Ints:
    """Order the neurons of a population by recursive bisection."""
    # Every item is a vertex of weight 0 that is tied to its readers (a star for each hyperedge), so that cut ties count
    # parts that read it.
    # shapes: copies (n,)
    pymetis = _import_pymetis()
    alive = np.flatnonzero(copies > 0)
    place = np.full(len(copies), -1, np.int64)
    place[alive] = np.arange(len(alive))
    reader = place[rows_of_entries(demand.indptr)]
    item = demand.items[reader >= 0]
    reader = reader[reader >= 0]
    read, item = np.unique(item, return_inverse=True)
    ends = np.concatenate([reader, len(alive) + item]), np.concatenate([len(alive) + item, reader])
    sort = np.lexsort((ends[1], ends[0]))
    n_vertices = len(alive) + len(read)
    begin = np.searchsorted(ends[0][sort], np.arange(n_vertices + 1))
    weights = np.concatenate([copies[alive], np.zeros(len(read), np.int64)])
    parts = min(max(1, len(alive) // 2), 2 ** (PARTS_PER_TILE * tiles - 1).bit_length())
    if parts < 2:
        return alive
    _, part = pymetis.part_graph(
        parts,
        pymetis.CSRAdjacency(begin.tolist(), ends[1][sort].tolist()),
        vweights=weights.tolist(),
        recursive=True,
        options=pymetis.Options(seed=seed % 2**31),
    )
    return alive[np.argsort(np.asarray(part, np.int64)[: len(alive)], kind="stable")]


def _import_pymetis() -> Any:
    require_package("partitioner metis", "pymetis", "partition", instead="choose overlap")
    import pymetis

    return pymetis
