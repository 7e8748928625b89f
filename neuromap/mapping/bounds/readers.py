"""Readers: what every population reads, whichever relays and splitters carry it, and which neurons are needed at all.

Relays and splitters are choices of a mapping; a bound on all mappings must not depend on them. So their ways are
followed back to the neuron that they carry, and their delays added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.legalise.legalised import Legalised, Link, Matrix

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
ROUNDS = 50
"""Rounds over all populations in which needed neurons are searched; stopping early only finds fewer."""


class ChipKey(NamedTuple):
    """Spikes of a population, a delay in ticks later."""

    population: int
    delay: int


class HostKey(NamedTuple):
    """Frames of an input node: the tick at which frame 0 would arrive, and the first frame that is delivered."""

    node: int
    arrival: Time
    first_frame: int


Key: TypeAlias = ChipKey | HostKey


@dataclass(frozen=True, eq=False)
class Feed:
    """What a reader reads of one node with one delay."""

    key: Key  # two columns carry the same signal iff key and column agree
    matrix: Matrix  # (n, s): weights; a row per neuron of the reader, a column per neuron of the source
    shape: tuple[int, int, int] | None  # rows, columns, features of the source


@dataclass(frozen=True, eq=False)
class Reader(Value):
    """The neurons of a population that every mapping must compute."""

    population: int  # position in ``Legalised.populations``
    name: str  # its name
    neurons: Ints  # (n,): positions within the population: neurons with a weight other than zero that reach an output
    shape: tuple[int, int, int] | None  # rows, columns, features of the population
    feeds: tuple[Feed, ...]  # their matrices have n rows

    def __post_init__(self) -> None:
        freeze_arrays(self)


def readers_of(network: Legalised) -> tuple[Reader, ...]:
    """Find what the populations read, relays and splitters followed back to their sources."""
    # gives those with at least one needed neuron, in the order of the populations
    origins = origins_of(network)
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
            if isinstance(key, ChipKey) and not driven[key.population].all():  # what nothing drives may be left out
                rows = rows.multiply(driven[key.population][None, :]).tocsr()
                rows.eliminate_zeros()
            if rows.nnz:
                kept.append(Feed(key, sparse.csr_array(rows), _shape_of(network, key)))
        readers.append(Reader(i, population.name, neurons, population.shape, tuple(kept)))
    return tuple(readers)


def _shape_of(network: Legalised, key: Key) -> tuple[int, int, int] | None:
    """Return rows, columns and features of a source; parts of sums have none."""
    if isinstance(key, HostKey):
        return network.shapes[key.node]
    source = network.populations[key.population]
    return None if source.is_part else network.shapes[source.node]


def read_out_neurons(network: Legalised, readers: tuple[Reader, ...]) -> int:
    """Count the needed neurons that are read out or kept unread; each takes a neuron of a core for it."""
    return sum(int(network.populations[r.population].own_copies[r.neurons].sum()) for r in readers)


def _inputs(network: Legalised, index: int, origins: dict[int, Ints]) -> dict[Key, Matrix]:
    """Join what a population reads by source and delay."""
    n = len(network.populations[index].neurons)
    found: dict[Key, Matrix] = {}

    def add(key: Key, matrix: Matrix) -> None:
        if key not in found:
            found[key] = matrix
            return
        found[key] = sparse.csr_array(found[key] + matrix)
        found[key].eliminate_zeros()

    for link in network.links:
        if link.target != index or not link.matrix.nnz:
            continue
        if link.source not in origins:
            add(ChipKey(link.source, link.delay), link.matrix)
            continue
        table, entries = origins[link.source], link.matrix.tocoo()
        for source, delay in np.unique(table[:, [0, 2]], axis=0).tolist():
            here = (table[entries.col, 0] == source) & (table[entries.col, 2] == delay)
            columns = table[entries.col[here], 1]
            shape = (n, len(network.populations[source].neurons))
            carried = sparse.coo_array((entries.data[here], (entries.row[here], columns)), shape=shape)
            add(ChipKey(source, delay + link.delay), sparse.csr_array(carried))
    for host in network.host_links:
        if host.target == index and host.node != BIAS and host.matrix.nnz:
            add(HostKey(host.node, host.arrival, host.first_frame), host.matrix)
    return found


def _rows_with_entries(feeds: dict[Key, Matrix], n: int) -> Bools:
    driven = np.zeros(n, bool)
    for matrix in feeds.values():
        driven |= np.diff(matrix.indptr) > 0
    return driven


def _needed(network: Legalised, inputs: dict[int, dict[Key, Matrix]]) -> dict[int, Bools]:
    """Mark the neurons from which weights lead to one that is read out or kept."""
    needed = {i: network.populations[i].own_copies > 0 for i in inputs}
    changed = set(inputs)
    for _ in range(ROUNDS):
        readers, changed = changed, set()
        for i in readers:
            if not needed[i].any():
                continue
            for key, matrix in inputs[i].items():
                if isinstance(key, HostKey):
                    continue
                read = np.zeros(matrix.shape[1], bool)
                read[matrix[np.flatnonzero(needed[i])].indices] = True
                if (read & ~needed[key.population]).any():
                    needed[key.population] |= read
                    changed.add(key.population)
        if not changed:
            break
    return needed


# Origins: the neurons that relays and splitters carry, and with what delay.


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
