"""Orders from METIS (extra ``partition``): parts of the graph that ties neurons to what they read.

METIS does not know that a core has so many axons, so its parts are only an order, far finer than cores; tiles are cut
from it like from any other, and are legal. Parts of a recursive bisection are numbered so that neighbours are related.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import rows_of_entries
from neuromap.errors import NotSupportedError
from neuromap.mapping.tile.cut.axon_demand import AxonDemand

__all__ = ["metis_order"]

Ints = NDArray[np.int64]
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
    try:
        import pymetis
    except ImportError:
        raise NotSupportedError(
            "partitioner metis: pymetis is not installed; pip install 'neuromap-rollouts[partition]', or choose overlap"
        ) from None
    return pymetis
