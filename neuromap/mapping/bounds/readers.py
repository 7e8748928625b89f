"""Sources of each population, with relays followed back, and lower bounds on the sources that n neurons read.

Relays and splitters are choices of a mapping; a bound on all mappings must not depend on them. So they are followed
back to the neuron that they carry, and their delays added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import rank_in_run, rows_of_entries, run_heads
from neuromap.arrays.times import Time
from neuromap.arrays.value import Value
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.legalise.legalised import Legalised, Link, Matrix, needed_for


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
class Reader(ReadOnly, Value):
    """The neurons of a population that every mapping must compute."""

    population: int  # position in ``Legalised.populations``
    name: str  # its name
    neurons: Ints  # (n,): positions within the population: neurons with a weight other than zero that reach an output
    shape: tuple[int, int, int] | None  # rows, columns, features of the population
    feeds: tuple[Feed, ...]  # their matrices have n rows


def readers_of(network: Legalised) -> tuple[Reader, ...]:
    """Find what the populations read, with relays and splitters followed back to their sources."""
    # returns those with at least one needed neuron, in the order of the populations
    origins = origins_of(network)
    inputs = {i: _inputs(network, i, origins) for i in range(len(network.populations)) if i not in origins}
    driven = {i: _rows_with_entries(feeds, len(network.populations[i].neurons)) for i, feeds in inputs.items()}
    reads = [
        (key.population, i, matrix)
        for i, feeds in inputs.items()
        for key, matrix in feeds.items()
        if isinstance(key, ChipKey)
    ]
    needed = needed_for({i: network.populations[i].own_copies > 0 for i in inputs}, reads)
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
    """Count the needed neurons that are read out or kept unread; each takes a neuron of a core for that."""
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


# How few sources n rows of a matrix can read together: bounds by which a core's axons limit its neurons.
#
# For n = 0, 1, ..., each function bounds the distinct columns that any n rows of a matrix read from below
# (docs/lower-bounds.md has the proofs).


# Size up to which singular values are computed from a dense matrix.
DENSE = 600
# Maximum number of entries for which a second singular value is computed.
LARGEST = 4_000_000
# Margin for floating-point error; always on the safe side.
ROUNDING = 1e-9
# Steps within which most matrices show whether they are connected.
SHORT = 32
# Factor on a squared singular value from an iteration, which finds it from below.
MARGIN = 1.02


def by_degrees(matrix: Matrix, most: int) -> Ints:
    """Bound by double counting: n rows have so many entries, and a column holds at most n of them."""
    # returns the fewest columns that any n rows read
    # shapes: matrix (rows, columns); returns (min(most, rows) + 1,)
    entries = np.sort(np.diff(matrix.indptr)).astype(np.int64)
    most = min(most, len(entries))
    degrees = np.sort(np.bincount(matrix.indices, minlength=matrix.shape[1]))[::-1].astype(np.int64)
    total, held = np.cumsum(entries)[:most], np.concatenate([[0], np.cumsum(degrees)])
    n = np.arange(1, most + 1)
    full = np.searchsorted(-degrees, -n, side="right")  # columns of degree n or more, of which n entries count
    beyond = np.searchsorted(held, total - n * full + held[full])
    columns = np.where(n * full >= total, -(-total // n), beyond)
    least = np.concatenate([[0], np.maximum(columns, entries[:most])])
    return np.maximum.accumulate(least)


def by_expansion(matrix: Matrix, most: int) -> Ints:
    """Bound by the second singular value: rows of a well mixed matrix have few sources in common."""
    # Let x and y be the shares of all entries that lie in the rows S and in the columns that they read. The expander
    # mixing lemma, with degrees (Chung 1997, chapter 5), gives x / (1 - x) <= sigma^2 y / (1 - y).
    # returns the fewest columns that any n rows read; zeros if the matrix is disconnected or too large to be examined
    # shapes: matrix (rows, columns); returns (min(most, rows) + 1,)
    entries = np.sort(np.diff(matrix.indptr)).astype(np.int64)
    most = min(most, len(entries))
    squared = max(ROUNDING, _second_singular_value_squared(matrix))
    if squared >= 1:
        return np.zeros(most + 1, np.int64)
    x = np.concatenate([[0.0], np.cumsum(entries[:most]) / matrix.nnz])
    y = x / (x + squared * (1 - x))
    degrees = np.sort(np.bincount(matrix.indices, minlength=matrix.shape[1]))[::-1]
    held = np.concatenate([[0], np.cumsum(degrees)]) / matrix.nnz
    return np.searchsorted(held, y - ROUNDING).astype(np.int64)


def _second_singular_value_squared(matrix: Matrix) -> float:
    """Second singular value, squared, of the pattern scaled by the inverse roots of its degrees; 1 if unknown."""
    if not 0 < matrix.nnz <= LARGEST or min(matrix.shape) < 2 or matrix.nnz <= max(matrix.shape):
        return 1.0
    pattern = _filled_pattern(matrix)
    if not _is_connected(pattern):
        return 1.0
    if pattern.shape[1] < pattern.shape[0]:
        pattern = pattern.T.tocsr()
    of_rows = np.asarray(pattern.sum(axis=1), np.float64)
    of_columns = np.asarray(pattern.sum(axis=0), np.float64)
    scaled = sparse.diags_array(of_rows**-0.5) @ pattern @ sparse.diags_array(of_columns**-0.5)
    first = np.sqrt(of_rows / of_rows.sum())  # the first singular vector, of the singular value 1
    return min(1.0, _greatest_eigenvalue(scaled, first) + ROUNDING)


def _is_connected(pattern: Any) -> bool:
    """Whether paths over rows and columns lead from any row to any other; every column has an entry."""
    rows = np.zeros(pattern.shape[0], np.bool_)
    rows[0] = True
    for _ in range(SHORT):
        reached: Bools = pattern @ (rows @ pattern) > 0
        if reached.all():
            return True
        if np.count_nonzero(reached) == np.count_nonzero(rows):
            return False
        rows = reached
    from scipy.sparse.csgraph import connected_components  # slow to import

    both_ways = sparse.block_array([[None, pattern], [pattern.T, None]], format="csr")
    return int(connected_components(both_ways, directed=False)[0]) == 1


def _filled_pattern(matrix: Matrix) -> Any:
    """Make the pattern of a matrix in ones, without rows and columns that have no entry."""
    pattern: Any = sparse.csr_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    return pattern[np.flatnonzero(np.diff(matrix.indptr))][:, np.unique(matrix.indices)]


def _greatest_eigenvalue(scaled: Any, first: Floats) -> float:
    """Upper bound on the greatest eigenvalue of ``scaled @ scaled.T`` without ``first``; 1 if none is found."""
    n_rows = scaled.shape[0]
    if n_rows <= DENSE:
        dense = (scaled @ scaled.T).toarray() - np.outer(first, first)
        return float(np.linalg.eigvalsh(dense)[-1])
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh  # slow to import

    gram = LinearOperator(
        (n_rows, n_rows), matvec=lambda v: scaled @ (scaled.T @ v) - first * (first @ v), dtype=np.float64
    )
    start = np.random.Generator(np.random.Philox(key=0)).standard_normal(n_rows)
    try:
        found = eigsh(gram, k=1, which="LA", v0=start, tol=1e-3, maxiter=60, return_eigenvectors=False)
    except ArpackNoConvergence:
        return 1.0
    return float(found[0]) * MARGIN


def sources_beyond_palette(matrix: Matrix, types: int) -> Ints:
    """Count for every row the sources that no single axon can serve."""
    # A neuron has ``types`` weights, so at most that many different values of its row take one axon each.
    # shapes: matrix (n, s); returns (n,)
    n = matrix.shape[0]
    if not matrix.nnz or matrix.data.max() - matrix.data.min() < types or len(np.unique(matrix.data)) <= types:
        return np.zeros(n, np.int64)
    row, times = _times_of_values(matrix)
    by_frequency = np.lexsort((-times, row))
    row, times = row[by_frequency], times[by_frequency]
    beyond = rank_in_run(row) >= types
    return np.bincount(row[beyond], weights=times[beyond], minlength=n).astype(np.int64)


def _times_of_values(matrix: Matrix) -> tuple[Ints, Ints]:
    """Count how often every row has each of its values: row, ascending, and times."""
    row = rows_of_entries(matrix.indptr)
    order = np.lexsort((matrix.data, row))
    heads = np.flatnonzero(run_heads(row[order], matrix.data[order]))
    return row[order][heads], np.diff(heads, append=len(order))
