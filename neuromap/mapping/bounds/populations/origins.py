"""Origins: the neurons that relays and splitters carry, and with what delay."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.mapping.legalise.legalised import Legalised, Link

__all__ = ["origins_of"]

Ints = NDArray[np.int64]


def origins_of(network: Legalised) -> dict[int, Ints]:
    """Find for every relay and splitter the neuron that it carries."""
    # A population that does not copy one neuron each is no relay, whatever its label says.
    # shapes: returns (n, 3)
    into: dict[int, list[Link]] = {}
    for link in network.links:
        into.setdefault(link.target, []).append(link)
    fed_by_host = {link.target for link in network.host_links}
    tables: dict[int, Ints] = {}
    for i, population in enumerate(network.populations):
        links = into.get(i, [])
        entries: Any = sum((np.diff(link.matrix.indptr) for link in links), np.zeros(len(population.neurons), np.int64))
        if not population.is_relay or population.is_part or i in fed_by_host or (entries != 1).any():
            continue
        table = np.empty((len(population.neurons), 3), np.int64)
        for link in links:
            rows = np.flatnonzero(np.diff(link.matrix.indptr))
            table[rows, 0], table[rows, 1], table[rows, 2] = link.source, link.matrix.indices, link.delay
        tables[i] = table
    _follow(tables)
    return tables


def _follow(tables: dict[int, Ints]) -> None:
    """Follow relays of relays back, in place."""
    for _ in range(len(tables)):
        followed = False
        for i, table in tables.items():
            for source in np.unique(table[:, 0]).tolist():
                if source in tables and source != i:
                    here = table[:, 0] == source
                    before = tables[source][table[here, 1]]
                    table[here, :2] = before[:, :2]
                    table[here, 2] += before[:, 2]
                    followed = True
        if not followed:
            return
