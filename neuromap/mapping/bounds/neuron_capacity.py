"""What populations read, with relays followed back, and the most neurons of a population that a core holds.

Relays and splitters are choices of a mapping; a bound on all mappings must not depend on them. So they are followed
back to the neuron that they carry, and their delays added up.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.packed_rows import rank_in_run, rows_of_entries, run_heads
from neuromap.arrays.times import Time
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import BIAS
from neuromap.mapping.bounds.window_axons import (
    TOO_MANY,
    WholeWindows,
    axons_of_feeds,
    find_windows,
    over_groups,
    single_axon_sources,
)
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


class Feed(NamedTuple):
    """What a reader reads of one node with one delay."""

    key: Key  # two columns carry the same signal iff key and column agree
    matrix: Matrix  # (n, s): weights; a row per neuron of the reader, a column per neuron of the source
    shape: tuple[int, int, int] | None  # rows, columns, features of the source


class Reader(NamedTuple):
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
    driven = {i: np.zeros(len(network.populations[i].neurons), bool) for i in inputs}
    for i, feeds in inputs.items():
        for matrix in feeds.values():
            driven[i] |= np.diff(matrix.indptr) > 0
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
                node = key.node if isinstance(key, HostKey) else network.populations[key.population].node
                is_part = isinstance(key, ChipKey) and network.populations[key.population].is_part
                shape = None if is_part else network.shapes[node]  # parts of sums have none
                kept.append(Feed(key, sparse.csr_array(rows), shape))
        readers.append(Reader(i, population.name, neurons, population.shape, tuple(kept)))
    return tuple(readers)


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
    for _ in range(len(tables)):  # relays of relays are followed back
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


# How few sources n rows of a matrix can read together: bounds by which a core's axons limit its neurons.
#
# For n = 0, 1, ..., each function bounds the distinct columns that any n rows of a matrix read from below
# (docs/lower-bounds.md has the proofs).


# Size up to which singular values are computed from a dense matrix.
DENSE = 600
# Maximum number of entries for which a second singular value is computed.
MOST_ENTRIES = 4_000_000
# Margin for floating-point error; always on the safe side.
ROUNDING = 1e-9
# Steps within which most matrices show whether they are connected.
STEPS = 32
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
    if not 0 < matrix.nnz <= MOST_ENTRIES or min(matrix.shape) < 2 or matrix.nnz <= max(matrix.shape):
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
    for _ in range(STEPS):
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
    row = rows_of_entries(matrix.indptr)
    order = np.lexsort((matrix.data, row))
    heads = np.flatnonzero(run_heads(row[order], matrix.data[order]))
    row, times = row[order][heads], np.diff(heads, append=len(order))  # how often every row has each of its values
    by_frequency = np.lexsort((-times, row))
    row, times = row[by_frequency], times[by_frequency]
    beyond = rank_in_run(row) >= types
    return np.bincount(row[beyond], weights=times[beyond], minlength=n).astype(np.int64)


# Crowding: the most neurons of a population that a core holds, given the distinct sources that they read.


class Crowd(NamedTuple):
    """Some neurons of a reader and what they need together."""

    reader: Reader
    which: Bools  # which of its neurons
    rows: int  # number of these
    need: dict[Key, Ints]  # ``need[key][n]``: fewest axons of a feed in a core that holds n of the neurons
    reads: dict[Key, Ints]  # least number of cores that read each column of a feed
    room: int  # most neurons that a core holds
    windows: dict[Key, WholeWindows]  # the whole windows of the feeds of which all of the neurons read one
    together: Ints  # ``together[n]``: fewest axons of all feeds in a core that holds n of the neurons

    def limit(self, chip: ChipSpec) -> str:
        """Name the resource that keeps one more neuron from a core; ``neurons`` if all fit."""
        return "axons" if self.room < min(self.rows, chip.neurons) else "neurons"

    @property
    def cores(self) -> int:
        """Least number of cores over which the neurons spread."""
        return -(-self.rows // self.room)


class _Limit(NamedTuple):
    """What any n of some rows take of a feed at least: sources, or axons where weights need more than one each."""

    rows: Bools
    least: Ints
    windows: WholeWindows | None = None  # where the rows are whole windows; then axons are counted


def crowds_of(reader: Reader, chip: ChipSpec, proven: bool) -> list[Crowd]:
    """Bound all rows of a reader, and separately those rows of which more is known."""
    limits = {feed.key: _limits(reader, feed, chip) for feed in reader.feeds}
    everything = np.ones(len(reader.neurons), bool)
    rows = [everything, *(limit.rows for some in limits.values() for limit in some)]
    inner = np.logical_and.reduce(rows)
    if not inner.all() and inner.any():
        rows += [inner, ~inner]
    distinct = {some.tobytes(): some for some in rows}
    return [_crowd(reader, some, limits, chip, proven) for some in distinct.values()]


def _limits(reader: Reader, feed: Feed, chip: ChipSpec) -> list[_Limit]:
    """Find the limits that the geometry of a feed sets for its rows."""
    if reader.shape is None or feed.shape is None:
        return []
    found: list[_Limit] = []
    windows = find_windows(feed.matrix, reader.neurons, reader.shape, feed.shape)
    masks = find_masks(feed.matrix, reader.neurons, reader.shape, feed.shape)
    if masks is not None and (windows is None or (masks.rows & ~windows.rows).any()):
        most = min(chip.neurons, int(masks.rows.sum()))
        found.append(_Limit(masks.rows, mask_sources(masks, most)))
    elif windows is not None:
        whole = feed.matrix[np.flatnonzero(windows.rows)]
        single = single_axon_sources(whole, reader.neurons[windows.rows], [windows], reader.shape, chip.axon_types)
        most = min(chip.neurons, int(windows.rows.sum()))
        found.append(_Limit(windows.rows, axons_of_feeds([windows], most, single, chip.axons), windows))
    return found


def _crowd(reader: Reader, rows: Bools, limits: dict[Key, list[_Limit]], chip: ChipSpec, proven: bool) -> Crowd:
    n_rows = int(rows.sum())
    most = min(chip.neurons, n_rows)
    matrices = {f.key: f.matrix if rows.all() else f.matrix[np.flatnonzero(rows)] for f in reader.feeds}
    need = {key: _need(matrix, rows, limits[key], most, chip, proven) for key, matrix in matrices.items()}
    whole = [(key, found) for key, some in limits.items() for found in some if not (rows & ~found.rows).any()]
    windows = {key: found.windows for key, found in whole if found.windows is not None}
    together = sum(need.values(), np.zeros(most + 1, np.int64))
    joint = _joint(reader, rows, windows, most, chip)
    if joint is not None:
        others = (least for key, least in need.items() if key not in windows)
        together = np.maximum(together, sum(others, joint))
    # a row that fits no core at all is refused by the mapper; here it counts as one that fills a core
    room = max(1, int(np.searchsorted(together, chip.axons, side="right")) - 1)
    readers = {key: np.bincount(m.indices, minlength=m.shape[1]).astype(np.int64) for key, m in matrices.items()}
    reads = {key: -(-of_columns // room) for key, of_columns in readers.items()}
    return Crowd(reader, rows, n_rows, need, reads, room, windows, together)


def _joint(reader: Reader, rows: Bools, windows: dict[Key, WholeWindows], most: int, chip: ChipSpec) -> Ints | None:
    """Bound the axons of several feeds of whole windows together: their sources share the types of a core."""
    # Rows that share a window of one feed must share those of all.
    if len(windows) < 2 or reader.shape is None:
        return None
    matrices = [feed.matrix[np.flatnonzero(rows)] for feed in reader.feeds if feed.key in windows]
    neurons = reader.neurons[rows]
    first = [np.minimum.reduceat(m.indices, m.indptr[:-1]).astype(np.int64) for m in matrices]
    position = neurons // reader.shape[2]
    ways = [[position, f] for f in first] + [[position, *first]]
    if len({np.unique(np.stack(way), axis=1).shape[1] for way in ways}) > 1:
        return None
    feeds = [windows[feed.key] for feed in reader.feeds if feed.key in windows]
    side_by_side = sparse.csr_array(sparse.hstack(matrices, format="csr"))
    single = single_axon_sources(side_by_side, neurons, feeds, reader.shape, chip.axon_types)
    return axons_of_feeds(feeds, most, single, chip.axons)


def _need(matrix: Matrix, rows: Bools, limits: list[_Limit], most: int, chip: ChipSpec, proven: bool) -> Ints:
    """Bound the axons of one feed that 0, 1, ... of some rows of a reader take in a core: the best of all arguments."""
    known = [limit for limit in limits if not (rows & ~limit.rows).any()]
    least = by_degrees(matrix, most)
    for limit in known:
        if limit.windows is None:
            least = np.maximum(least, limit.least[: most + 1])
    if not known and least[-1] <= chip.axons and not proven:
        least = np.maximum(least, by_expansion(matrix, most))
    least[1:] += sources_beyond_palette(matrix, chip.axon_types).min()
    for limit in known:
        if limit.windows is not None:
            least = np.maximum(least, limit.least[: most + 1])
    return least


# How many sources n neurons of a convolution with holes read at least (docs/lower-bounds.md has the proof).
# Maximum number of different masks of a channel that are all examined.
MASKS = 4000


def mask_sources(masks: Masks, most: int) -> Ints:
    """Bound the sources that n of the rows read."""
    # One of a group's features has at least its share of the group's neurons, and they read the feature's masks.
    # shapes: returns (most + 1,)
    least = np.full(most + 1, TOO_MANY)
    for flip in (False, True):
        offsets = masks.offsets.transpose(0, 1, 3, 2) if flip else masks.offsets
        stride, extent = (pair[::-1] if flip else pair for pair in (masks.stride, masks.extent))
        here = least_of_masks(offsets, (stride[0], stride[1]), (extent[0], extent[1]), most)
        least = np.maximum(least, here) if flip else here
    # n neurons of a group lie at n / features positions or more
    n = np.arange(len(least))
    return over_groups(np.maximum.accumulate(least[-(-n // masks.features)]), masks.groups)


def least_of_masks(offsets: Bools, stride: tuple[int, int], extent: tuple[int, int], most: int) -> Ints:
    """Bound the sources that p positions of one feature read, by chains of columns: whichever feature reads fewest."""
    # shapes: offsets (features, channels, rows, columns); returns (most + 1,)
    area = np.full(most + 1, TOO_MANY)
    area[0] = 0
    most = min(most, extent[0] * extent[1])
    if most == 1:  # a single window: chains of columns give the same
        area[1] = int(offsets.reshape(len(offsets), -1).sum(axis=1).min())
        return area
    # how p positions may lie in w columns, the tallest of h or more; p ascending, from 1
    p, w = np.divmod(np.arange((most + 1) * (extent[1] + 1)), extent[1] + 1)
    h = -(-p // np.maximum(w, 1))
    here = (p > 0) & (w > 0) & (w <= p) & (h <= extent[0])
    p, w, h = p[here], w[here], h[here]
    numbers = np.packbits(offsets.reshape(len(offsets) * offsets.shape[1], -1), axis=1)
    names = numbers.view(np.dtype((np.bytes_, numbers.shape[1]))).ravel()
    _, heads, code = np.unique(names, return_index=True, return_inverse=True)
    if len(heads) > MASKS:
        return np.zeros(len(area), np.int64)
    channels = offsets.reshape(-1, *offsets.shape[2:])[heads]
    # of a channel's columns only the numbers of offsets and classes matter
    kinds, kind = np.unique(_offsets_and_classes(channels, stride[0]), axis=0, return_inverse=True)
    of_kind = [_places(both, stride[1] or 1, p, w, h) for both in kinds]
    of_channel = [of_kind[k] for k in kind.ravel()]
    code = np.unique(np.sort(code.reshape(offsets.shape[:2]), axis=1), axis=0)
    starts = np.flatnonzero(np.diff(p, prepend=0))
    for feature in code:
        used, times = np.unique(feature, return_counts=True)
        places = sum((n * of_channel[k] for k, n in zip(used, times, strict=True)), np.zeros(len(p), np.int64))
        area[1 : most + 1] = np.minimum(area[1 : most + 1], np.minimum.reduceat(places, starts))
    return area


def _offsets_and_classes(channels: Bools, stride: int) -> Ints:
    """Count the offsets of every column, and their classes modulo the stride; shape (channels, 2, columns)."""
    offsets = channels.sum(axis=1)
    classes = sum((channels[:, k::stride].any(axis=1).astype(np.int64) for k in range(stride)), np.zeros_like(offsets))
    return np.stack([offsets, classes], axis=1)


def _places(columns: Ints, step: int, p: Ints, w: Ints, h: Ints) -> Ints:
    """Bound the places of one channel, its columns modulo the stride one after the other."""
    places = np.zeros(len(p), np.int64)
    for k in range(min(step, columns.shape[1])):
        part = columns[:, k::step]
        part = part[:, part[0] > 0]
        if part.size:
            places += _in_chains(part[0], part[1], p, w, h)
    return places


def _in_chains(d: Ints, r: Ints, p: Ints, w: Ints, h: Ints) -> Ints:
    """Bound the places of a chain: the tallest column meets all slices, or every column the same slice; the greater."""
    # q positions of a column and a slice of d offsets, in r classes modulo the stride, reach r q + d - r places or
    # more.
    gain = d - r
    # columns on one side of the tallest take the first slice, those on the other side the last
    best = r.sum() * h + gain.sum() + min(r[0], r[-1]) * (p - h) + min(gain[0], gain[-1]) * (w - 1)
    for b in range(len(d)):
        best = np.maximum(best, r[b] * p + gain[b] * w + (d.sum() - d[b]))
    return np.asarray(best, np.int64)


# Masks: which offsets a feature of a convolution reads of a channel, where weights of zero make holes.


# Maximum number of entries for which masks are searched.
LARGEST = 10_000_000
# Maximum of features times channels times offsets for which they are.
OFFSETS = 4_000_000


class Masks(NamedTuple):
    """Rows that read all of their feature's offsets, as a convolution with holes does away from the edges."""

    rows: Bools  # (n,): which rows do
    # (features, channels, rows, columns): what a feature reads of a channel, from stride times position on
    offsets: Bools
    stride: tuple[int, int]  # rows and columns between windows
    extent: tuple[int, int]  # rows and columns of positions
    groups: int  # sets of features that have no channel in common
    features: int  # of a group, at most


def find_masks(
    matrix: Matrix, neurons: Ints, shape: tuple[int, int, int], source: tuple[int, int, int]
) -> Masks | None:
    """Find the masks of the features, and the rows that read all of theirs."""
    # The mask of a feature is all that any of its rows reads, so a row reads all of it iff it has as many entries; a
    # wrongly guessed stride can make masks too large, never wrong.
    # returns ``None`` if no row reads all of its mask, or if it would take too long
    # shapes: matrix (n, s); neurons (n,)
    if not 0 < matrix.nnz <= LARGEST:
        return None
    row = rows_of_entries(matrix.indptr)
    at = np.unravel_index(neurons, shape)
    places = np.unravel_index(matrix.indices, source)
    (stride_y, offset_y, size_y), (stride_x, offset_x, size_x) = (
        _offsets(at[axis][row], places[axis], shape[axis], source[axis]) for axis in (0, 1)
    )
    full = (shape[2], source[2], size_y, size_x)
    if np.prod(full) > OFFSETS:
        return None
    masks = np.zeros(full, bool)
    masks[at[2][row], places[2], offset_y, offset_x] = True
    entries = np.diff(matrix.indptr)
    rows = (entries == masks.sum(axis=(1, 2, 3))[at[2]]) & (entries > 0)
    if not rows.any():
        return None
    present = np.unique(at[2][rows])
    groups, features = _groups(masks[present].any(axis=(2, 3)))
    extent = len(np.unique(at[0][rows])), len(np.unique(at[1][rows]))
    return Masks(rows, masks[present], (stride_y, stride_x), extent, groups, features)


def _offsets(position: Ints, place: Ints, positions: int, places: int) -> tuple[int, Ints, int]:
    """Guess the stride that leaves the fewest offsets; return it, the offsets from 0 on, and their range."""
    guesses = {places // positions, -(-places // positions), (places - 1) // max(1, positions - 1)}
    found = []
    for stride in sorted(guesses | {1}) if positions > 1 else [0]:
        offset = place - stride * position
        low = int(offset.min())
        found.append((int(offset.max()) - low + 1, stride, offset - low))
    size, stride, offset = min(found, key=lambda f: f[:2])
    return stride, offset, size


def _groups(reads: Bools) -> tuple[int, int]:
    """Count the sets of features without a channel in common, and the features of the largest."""
    label, before = np.arange(len(reads)), np.zeros(0, np.int64)
    while not np.array_equal(label, before):  # the least feature of a set is found by all others of it
        before = label
        of_channel = np.where(reads, label[:, None], len(reads)).min(axis=0)
        label = np.where(reads, of_channel, label[:, None]).min(axis=1)
        label = np.minimum(label, label[label])
    sizes = np.bincount(label)
    return int(np.count_nonzero(sizes)), int(sizes.max())
