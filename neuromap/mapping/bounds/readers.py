"""Readers: what every population reads, whichever relays and splitters carry it, and which neurons are needed at all.

Relays and splitters are choices of a mapping; a bound on all mappings must not depend on them. So their ways are
followed back to the neuron that they carry, and their delays added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.mapping.legalise.legalised import Legalised, Link, Matrix

__all__ = ["Feed", "Reader", "read_out_neurons", "readers_of"]

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Key = tuple[int, ...]
ROUNDS = 50
"""Rounds over all populations in which needed neurons are searched; stopping early only finds fewer."""


@dataclass(frozen=True, eq=False)
class Feed:
    """What a reader reads of one node with one delay.

    Attributes
    ----------
    key : tuple of int
        (0, population, delay) for spikes of the chip, (1, input node, arrival, first frame) for those of the host.
        Two columns carry the same signal iff key and column agree.
    matrix : csr_array of int64, shape (n, s)
        Weights; a row per neuron of the reader, a column per neuron of the source.
    shape : tuple of three int, or None
        Rows, columns, features of the source.
    """

    key: Key
    matrix: Matrix
    shape: tuple[int, int, int] | None


@dataclass(frozen=True, eq=False)
class Reader:
    """The neurons of a population that every mapping must compute.

    Attributes
    ----------
    population : int
        Position in ``Legalised.populations``.
    name : str
        Its name.
    neurons : ndarray of int64, shape (n,)
        Positions within the population: neurons with a weight other than zero that reach an output.
    shape : tuple of three int, or None
        Rows, columns, features of the population.
    feeds : tuple of Feed
        Their matrices have n rows.
    """

    population: int
    name: str
    neurons: Ints
    shape: tuple[int, int, int] | None
    feeds: tuple[Feed, ...]

    def __post_init__(self) -> None:
        freeze_arrays(self)


def readers_of(network: Legalised) -> tuple[Reader, ...]:
    """Find what the populations read, relays and splitters followed back to their sources.

    Parameters
    ----------
    network : Legalised
        In ticks, with any relays and splitters.

    Returns
    -------
    tuple of Reader
        Those with at least one needed neuron, in the order of the populations.
    """
    origins = _origins(network)
    inputs = {i: _inputs(network, i, origins) for i in range(len(network.populations)) if i not in origins}
    driven = {i: _rows_with_entries(feeds, len(network.populations[i].neurons)) for i, feeds in inputs.items()}
    needed = _needed(network, inputs)
    readers = []
    for i, feeds in inputs.items():
        population = network.populations[i]
        neurons = np.flatnonzero(needed[i] & driven[i])
        if not len(neurons):
            continue
        kept = []
        for key, matrix in feeds.items():
            rows = matrix[neurons]
            if key[0] == 0 and not driven[key[1]].all():  # a source without sources may be left out
                rows = rows.multiply(driven[key[1]][None, :]).tocsr()
                rows.eliminate_zeros()
            if rows.nnz:
                node = network.populations[key[1]].node if key[0] == 0 else key[1]
                kept.append(Feed(key, sparse.csr_array(rows), network.shapes[node]))
        readers.append(Reader(i, population.name, neurons, population.shape, tuple(kept)))
    return tuple(readers)


def read_out_neurons(network: Legalised, readers: tuple[Reader, ...]) -> int:
    """Count the needed neurons that are read out; each takes a neuron of a core for it.

    Parameters
    ----------
    network : Legalised
        Says which populations are read out.
    readers : tuple of Reader
        Of this network.

    Returns
    -------
    int
    """
    return sum(len(r.neurons) for r in readers if network.populations[r.population].is_output)


def _origins(network: Legalised) -> dict[int, Ints]:
    """Find for every relay and splitter the neuron that it carries: columns population, neuron, delay; shape (n, 3).

    A population that does not copy one neuron each is no relay, whatever its label says.
    """
    into: dict[int, list[Link]] = {}
    for link in network.links:
        into.setdefault(link.target, []).append(link)
    fed_by_host = {link.target for link in network.host_links}
    tables: dict[int, Ints] = {}
    for i, population in enumerate(network.populations):
        links = into.get(i, [])
        entries: Any = sum((np.diff(link.matrix.indptr) for link in links), np.zeros(len(population.neurons), np.int64))
        if not population.is_relay or i in fed_by_host or (entries != 1).any():
            continue
        table = np.empty((len(population.neurons), 3), np.int64)
        for link in links:
            rows = np.flatnonzero(np.diff(link.matrix.indptr))
            table[rows, 0], table[rows, 1], table[rows, 2] = link.source, link.matrix.indices, link.delay
        tables[i] = table
    for _ in range(len(tables)):  # follow relays of relays
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
            break
    return tables


def _inputs(network: Legalised, index: int, origins: dict[int, Ints]) -> dict[Key, Matrix]:
    """Join what a population reads by source and delay."""
    n = len(network.populations[index].neurons)
    found: dict[Key, Matrix] = {}

    def add(key: Key, matrix: Matrix) -> None:
        found[key] = matrix if key not in found else sparse.csr_array(found[key] + matrix)

    for link in network.links:
        if link.target != index or not link.matrix.nnz:
            continue
        if link.source not in origins:
            add((0, link.source, link.delay), link.matrix)
            continue
        table, entries = origins[link.source], link.matrix.tocoo()
        for source, delay in np.unique(table[:, [0, 2]], axis=0).tolist():
            here = (table[entries.col, 0] == source) & (table[entries.col, 2] == delay)
            columns = table[entries.col[here], 1]
            shape = (n, len(network.populations[source].neurons))
            carried = sparse.coo_array((entries.data[here], (entries.row[here], columns)), shape=shape)
            add((0, source, delay + link.delay), sparse.csr_array(carried))
    for host in network.host_links:
        if host.target == index and host.matrix.nnz:
            add((1, host.node, host.arrival, host.first_frame), host.matrix)
    for matrix in found.values():
        matrix.eliminate_zeros()
    return found


def _rows_with_entries(feeds: dict[Key, Matrix], n: int) -> Bools:
    driven = np.zeros(n, bool)
    for matrix in feeds.values():
        driven |= np.diff(matrix.indptr) > 0
    return driven


def _needed(network: Legalised, inputs: dict[int, dict[Key, Matrix]]) -> dict[int, Bools]:
    """Mark the neurons from which weights lead to an output."""
    needed = {i: np.full(len(network.populations[i].neurons), network.populations[i].is_output) for i in inputs}
    changed = set(inputs)
    for _ in range(ROUNDS):
        readers, changed = changed, set()
        for i in readers:
            if not needed[i].any():
                continue
            for key, matrix in inputs[i].items():
                if key[0] != 0:
                    continue
                read = np.zeros(matrix.shape[1], bool)
                read[matrix[np.flatnonzero(needed[i])].indices] = True
                if (read & ~needed[key[1]]).any():
                    needed[key[1]] |= read
                    changed.add(key[1])
        if not changed:
            break
    return needed
