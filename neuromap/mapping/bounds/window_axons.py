"""Bounds on the sources of a window that need only one axon: those of one type have equal weights in all neurons.

A source has one axon only if all neurons that read it agree on its weight with the other sources of its type
(docs/lower-bounds.md has the proof).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from math import comb, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Bools, Floats, Ints
from neuromap.arrays.packed_rows import run_heads
from neuromap.mapping.legalise.legalised import Matrix

# Maximum number of sets of features that are all examined.
SUBSETS = 5000
# Maximum number of different kernels that are all examined.
KERNELS = 64
# Maximum number of sources of a window whose pairs are all examined.
PAIRS = 2000
# Margin for a number that floating point may give slightly too low.
ROUNDING = 1e-6


def single_axon_sources(
    matrix: Matrix,
    neurons: Ints,
    feeds: Sequence[WholeWindows],
    shape: tuple[int, int, int],
    types: int,
) -> Ints:
    """Bound the sources of a window that need only one axon, if a core holds m neurons of its position."""
    # Two sources with one axon each may have the same type only if their weights agree in all m neurons. So the sources
    # fall into as many classes as there are types; those of one class are equal columns.
    # shapes: matrix (n, s); neurons (n,); returns (features + 1,)
    features, sources = max(feed.features for feed in feeds), sum(feed.sources for feed in feeds)
    most = np.full(features + 1, sources)
    if matrix.data.min() == matrix.data.max():
        return most
    kernels = _kernels(matrix, neurons, sources, shape[2])
    if kernels is None:
        return most
    most[1:] = 0
    for kernel in kernels:
        most[1 : len(kernel) + 1] = np.maximum(most[1 : len(kernel) + 1], _equal_columns(kernel, types))
    return np.minimum.accumulate(most)


def _kernels(matrix: Matrix, neurons: Ints, sources: int, features: int) -> list[Ints] | None:
    """List the distinct kernels, a row per feature of a position and group; ``None`` where there are too many."""
    # Rows belong together if they have the same position and the same first source.
    matrix = matrix.copy()
    matrix.sort_indices()
    weights = matrix.data.reshape(-1, sources)
    position, first = neurons // features, matrix.indices[matrix.indptr[:-1]]
    order = np.lexsort((neurons, first, position))
    starts = np.flatnonzero(run_heads(position[order], first[order])).tolist()
    found: dict[tuple[int, bytes], Ints] = {}
    for start, end in pairwise([*starts, len(order)]):
        kernel = weights[order[start:end]]
        found.setdefault((end - start, kernel.tobytes()), kernel)
        if len(found) > KERNELS:
            return None
    return list(found.values())


def _equal_columns(kernel: Ints, types: int) -> Ints:
    """Bound the columns in ``types`` classes of equal ones, for the best m rows, m = 1, 2, ..."""
    n, columns = kernel.shape
    values, code = np.unique(kernel, return_inverse=True)
    code = code.reshape(kernel.shape)
    agreements = _pairs_that_agree(code)
    best = np.full(n, columns)
    for m in range(1, n + 1):
        pairs = columns * columns if agreements is None else int(agreements[m])
        # a class of c columns has c (c - 1) / 2 pairs that agree; ``types`` classes hold most if all have one size
        size = (1 + np.sqrt(1 + 8 * pairs / types)) / 2
        best[m - 1] = min(columns, int(types * size + ROUNDING))
        if comb(n, m) <= SUBSETS and len(values) ** m < 2**62:
            best[m - 1] = min(best[m - 1], _most_of_any_rows(code, m, len(values), types))
    return np.minimum.accumulate(best)


def _most_of_any_rows(code: NDArray[np.intp], m: int, n_values: int, types: int) -> int:
    """Columns in the ``types`` largest classes of equal ones, for the best of all sets of m rows."""
    most = 0
    rows = np.array(list(combinations(range(len(code)), m)))
    pattern = np.zeros((len(rows), code.shape[1]), np.int64)  # encodes what a column has in the rows
    for k in range(m):
        pattern = pattern * n_values + code[rows[:, k]]
    for of_set in pattern:
        sizes = np.sort(np.unique(of_set, return_counts=True)[1])
        most = max(most, int(sizes[-types:].sum()))
    return most


def _pairs_that_agree(code: NDArray[np.intp]) -> Ints | None:
    """Count the pairs of columns that agree in m rows or more, for m = 0, 1, ...; ``None`` where there are too many."""
    n, columns = code.shape
    if columns > PAIRS:
        return None
    equal = np.zeros((columns, columns))
    for value in range(int(code.max()) + 1):
        here = (code == value).astype(np.float64)
        equal += here.T @ here
    upper = np.rint(equal[np.triu_indices(columns, 1)]).astype(np.int64)
    return np.cumsum(np.bincount(upper, minlength=n + 1)[::-1])[::-1]


# How many axons the neurons of a convolution take, if a core holds n of them (docs/lower-bounds.md has the proofs).


# More than any core has.
TOO_MANY = 10**9


class WholeWindows(NamedTuple):
    """Rows that read whole windows of an image, as a convolution does away from the edges."""

    rows: Bools  # (n,): which rows do; those at the edges read less
    # size, stride: rows and columns of a window, and between windows
    size: tuple[int, int]
    stride: tuple[int, int]
    # channels, features: of a group: channels that a row reads, and most rows per position
    channels: int
    features: int
    groups: int  # groups; those of a position read different channels
    extent: tuple[int, int]  # rows and columns of positions

    @property
    def sources(self) -> int:
        """Sources that a row reads."""
        return self.channels * self.size[0] * self.size[1]

    @property
    def overlap(self) -> int:
        """Maximum number of windows of a group that contain one source."""
        of_axis = (min(-(-k // s), n) if s else n for k, s, n in zip(self.size, self.stride, self.extent, strict=True))
        return prod(of_axis)


def find_windows(
    matrix: Matrix, neurons: Ints, shape: tuple[int, int, int], source: tuple[int, int, int]
) -> WholeWindows | None:
    """Detect whether rows read windows."""
    # returns ``None`` unless rows are windows of one size, stride and number of channels, in groups without overlap
    # shapes: matrix (n, s); neurons (n,)
    if not matrix.nnz:
        return None
    count = np.diff(matrix.indptr)
    filled = np.flatnonzero(count)
    low, extent = _boxes(matrix, filled, source)
    largest = extent.max(axis=1)
    # a row is a window if it reads all of a box, and a whole one if no box is larger
    whole = (extent == largest[:, None]).all(axis=0) & (extent.prod(axis=0) == count[filled])
    if not whole.any():
        return None
    rows = np.zeros(len(count), bool)
    rows[filled[whole]] = True
    at = np.array(np.unravel_index(neurons[rows], shape))
    low = low[:, whole]
    strides = _stride(at[0], low[0]), _stride(at[1], low[1])
    # first channel of every group, ascending, and its number of features
    first_channel, features = np.unique(np.unique(np.stack([low[2], at[2]]), axis=1)[0], return_counts=True)
    height, width, channels = largest.tolist()
    if strides[0] is None or strides[1] is None or (np.diff(first_channel) < channels).any():
        return None
    return WholeWindows(
        rows,
        size=(height, width),
        stride=(strides[0], strides[1]),
        channels=channels,
        features=int(features.max()),
        groups=len(first_channel),
        extent=(len(np.unique(at[0])), len(np.unique(at[1]))),
    )


def _boxes(matrix: Matrix, filled: NDArray[np.intp], source: tuple[int, int, int]) -> tuple[Ints, Ints]:
    """Least place and extent of what every filled row reads, along rows, columns and channels; each (3, rows)."""
    low, extent = np.empty((3, len(filled)), np.int64), np.empty((3, len(filled)), np.int64)
    starts = matrix.indptr[filled]
    for axis, place in enumerate(np.unravel_index(matrix.indices, source)):
        low[axis] = np.minimum.reduceat(place, starts)
        extent[axis] = np.maximum.reduceat(place, starts) - low[axis] + 1
    return low, extent


def _stride(position: Ints, start: Ints) -> int | None:
    """Solve start = stride * position + constant; ``None`` where there is no solution."""
    span = int(np.ptp(position))
    if span == 0:
        return 0 if np.ptp(start) == 0 else None
    first, last = int(np.argmin(position)), int(np.argmax(position))
    stride, rest = divmod(int(start[last] - start[first]), span)
    fits = rest == 0 and stride >= 0 and (start - start[first] == stride * (position - position[first])).all()
    return stride if fits else None


def areas(windows: WholeWindows, most: int) -> Ints:
    """Bound the area of a union of windows."""
    # With windows k and strides s (or k, whichever is less), p positions in w columns, at most h in one, cover at least
    # s_x s_y p + s_x (k_y - s_y) w + s_y (k_x - s_x) h + (k_x - s_x) (k_y - s_y) places, and w h >= p.
    # returns the fewest places that 0, 1, ... positions cover, spread over the best number of groups
    # shapes: returns (most + 1,)
    (ky, kx), (rows, columns) = windows.size, windows.extent
    sy, sx = min(windows.stride[0], ky), min(windows.stride[1], kx)
    area = np.full(most + 1, TOO_MANY)
    area[0] = 0
    for p in range(1, min(most, rows * columns) + 1):
        w = np.arange(1, min(columns, p) + 1)
        h = -(-p // w)
        w, h = w[h <= rows], h[h <= rows]
        area[p] = (sx * sy * p + sx * (ky - sy) * w + sy * (kx - sx) * h + (kx - sx) * (ky - sy)).min()
    return over_groups(area, windows.groups)


def over_groups(least: Ints, groups: int) -> Ints:
    """Share out 0, 1, ... among groups that have nothing in common, so that least is taken in all."""
    for n in range(2, len(least) if groups > 1 else 0):
        least[n] = min(int(least[n]), int((least[1:n] + least[n - 1 : 0 : -1]).min()))
    return least


# Sources with one axon of impossible positions: far below 0, whatever is added.
IMPOSSIBLE = -TOO_MANY


def axons_of_feeds(feeds: Sequence[WholeWindows], most: int, single: Ints, limit: int) -> Ints:
    """Bound the axons that n neurons take in one core for one or several feeds, whose sources share the types."""
    # Suppose the n neurons lie at p positions, for every p. These read a(p) sources or more. Some have one axon, all
    # others two or more, so axons are sources plus *double* ones. The double ones have two lower bounds:
    # - the sources that are read less those with one axon, which are at most the sum of what the positions allow;
    # - what the positions demand: for each, its sources less those with one axon. A source lies in at most ``overlap``
    #   windows and in at most p, so the double ones are at least the sum of all demands over that number.
    # The best p counts, with the neurons distributed so that the positions allow most.
    # limit: axons of the core
    # returns the fewest axons that any n of the rows take
    # shapes: single (features + 1,); returns (most + 1,)
    features, sources = max(f.features for f in feeds), sum(f.sources for f in feeds)
    overlap = max(f.overlap for f in feeds)
    read: Ints = np.sum([f.channels * areas(f, most) for f in feeds], axis=0)  # by p positions, at least
    if (single == sources).all():  # no source is double: as few positions as possible
        positions = -(-np.arange(most + 1) // features)  # of n neurons, rounded up
        fewest: Ints = read[positions]
        return fewest
    least = np.full(most + 1, TOO_MANY)
    least[0] = 0
    # the most sources with one axon, for n neurons at all positions together; by no position: only no neuron can lie
    # there
    allowed = np.full(most + 1, IMPOSSIBLE)
    allowed[0] = 0
    for p in range(1, most + 1):
        before, allowed = allowed, np.full(most + 1, IMPOSSIBLE)  # every position holds one neuron or more
        for m in range(1, min(len(single), most + 1)):
            allowed[m:] = np.maximum(allowed[m:], before[: most + 1 - m] + single[m])
        possible = allowed >= 0
        by_reads = read[p] - allowed
        by_demands = -(-(p * sources - allowed) // min(overlap, p))
        axons = read[p] + np.maximum(np.maximum(by_reads, by_demands), 0)
        least[possible] = np.minimum(least[possible], axons[possible])
        if read[p] >= least.max():
            break  # more positions only take more
    by_sets = axons_by_sets(feeds, read, sources - single, most, limit)
    if by_sets is not None:
        least = np.maximum(least, by_sets)
    # more neurons take no fewer axons than some of them do, so the bound of fewer neurons holds as well
    return np.maximum.accumulate(least)


# How many neurons some positions hold if only so many of their sources have two axons: every set of positions counts.
#
# A source has one axon only if it may in every window that reads it. So of the sources that any q of the positions
# read, those with one axon are at most what these q allow; a position of few neurons, which allows much, is no help
# to the others (docs/lower-bounds.md has the proof).
# Maximum number of steps for examining sets of positions.
EFFORT = 100_000_000


def axons_by_sets(feeds: Sequence[WholeWindows], read: Ints, double: Ints, most: int, limit: int) -> Ints | None:
    """Bound the axons that n neurons take in one core by what every set of their positions demands."""
    # Suppose D sources have two axons. Any q positions read ``read[q]`` sources or more, and those of m neurons need
    # ``double[m]`` with two axons; counted window by window, the D sources occur only so often.
    # read: fewest sources that 0, 1, ... positions read
    # double: fewest sources of a window with two axons if the position holds m neurons; increasing
    # returns ``limit + 1`` for more neurons than fit; ``None`` if it would take too long
    # shapes: double (features + 1,); returns (most + 1,)
    positions = int(np.searchsorted(read[: most + 1], limit, side="right")) - 1
    if positions < 1:
        return None
    windows = _windows_of_double(feeds, read[: positions + 1], limit - int(read[1]))
    if windows.size * (int(windows.max()) + 1) * (len(double) - 1) > EFFORT:
        return None
    held = _most_neurons(double, windows)
    least = np.full(most + 1, limit + 1)
    least[0] = 0
    for p in range(1, positions + 1):
        for doubles in range(limit - int(read[p]) + 1):
            fit = slice(1, int(held[p, doubles]) + 1)
            least[fit] = np.minimum(least[fit], read[p] + doubles)
    return least


def _windows_of_double(feeds: Sequence[WholeWindows], read: Ints, most: int) -> Ints:
    """Bound how often 0, 1, ... sources are counted in the windows of q positions; shape (positions + 1, most + 1)."""
    q, doubles = np.arange(len(read))[:, None], np.arange(most + 1)[None, :]
    overlap, sources = max(f.overlap for f in feeds), sum(f.sources for f in feeds)
    in_windows = doubles * np.minimum(overlap, q)
    but_for_the_rest = sources * q - read[:, None] + doubles  # each of the others that are read is counted once or more
    least: Ints = np.minimum(np.minimum(in_windows, but_for_the_rest), sources * q)
    counted = times_counted(feeds, len(read) - 1, most)
    return least if counted is None else np.minimum(least, counted)


def _most_neurons(double: Ints, windows: Ints) -> Ints:
    """Find the most neurons at p positions of which the fullest q, for every q, demand no more than there is."""
    # returns -1 where that is impossible
    # shapes: double (features + 1,); windows (positions + 1, D); returns (positions + 1, D)
    positions, demand = len(windows) - 1, np.arange(int(windows.max()) + 1)
    held = np.full((*windows.shape, len(demand)), -1, np.int16)
    held[0, :, 0] = 0
    for m in range(len(double) - 1, 0, -1):
        more = int(double[m])
        if more >= len(demand):
            continue
        for p in range(positions):
            before = held[p, :, : len(demand) - more]
            able = (before >= 0) & (demand[more:] <= windows[p + 1, :, None])
            after = held[p + 1, :, more:]
            np.maximum(after, before + np.int16(m), out=after, where=able)
    most: Ints = held.max(axis=2).astype(np.int64)
    return most


# Upper bound on how often places are counted in the windows of q positions, over all sets of positions and places.
#
# Windows are three columns wide and move by one. A column of h positions and one of g places have at most as many
# pairs as intervals side by side; columns meet their neighbours, so the best sums are built column by column
# (docs/lower-bounds.md has the proof).
# Columns of a window.
WIDTH = 3
# Maximum number of positions and places whose pairs are counted.
POSITIONS, PLACES = 16, 40
# Far below what any columns have.
NEVER = -(10**6)


def times_counted(feeds: Sequence[WholeWindows], positions: int, most: int) -> Ints | None:
    """Bound how often 0, 1, ... sources are counted in the windows of q positions."""
    # returns ``None`` unless windows are of one size, three columns wide, and moved by one
    # shapes: returns (positions + 1, most + 1)
    height, channels = feeds[0].size[0], sum(feed.channels for feed in feeds)
    if any(feed.size != (height, WIDTH) or feed.stride != (1, 1) for feed in feeds):
        return None
    most_places = min(PLACES, -(-most // channels))
    pairs = incidences(height, min(positions, POSITIONS), most_places)
    counted = np.repeat(height * WIDTH * channels * np.arange(positions + 1)[:, None], most + 1, axis=1)
    for q in range(1, len(pairs)):
        # sources of a channel are places; the more channels share them out evenly, the more is counted
        of_places = _concave(np.append(pairs[q], height * WIDTH * q))
        share = np.minimum(np.arange(most + 1) / channels, len(of_places) - 1)
        here = np.floor(channels * np.interp(share, np.arange(len(of_places)), of_places) + 1e-6).astype(np.int64)
        counted[q] = np.minimum(counted[q], here)
    return counted


def _concave(values: Ints) -> Floats:
    """Return the least concave sequence that is nowhere below ``values``."""
    hull = values.astype(np.float64)
    for middle in range(1, len(values) - 1):
        left, right = np.arange(middle)[:, None], np.arange(middle + 1, len(values))[None, :]
        slope = (values[right] - values[left]) / (right - left)
        hull[middle] = max(hull[middle], float((values[left] + slope * (middle - left)).max()))
    return hull


def incidences(height: int, positions: int, places: int) -> Ints:
    """Bound the pairs of a position and a place in its window."""
    # positions, places: greatest numbers of these
    # shapes: returns (positions + 1, places + 1)
    meet = _meetings(height, positions, places)
    shape = (positions + 1, places + 1)
    # by positions and places of the last column, then by those of all columns so far
    best = np.full((*shape, *shape), NEVER)
    best[0, 0, 0, 0] = 0
    while True:
        more = np.maximum(best, _one_column_more(best, meet))
        if (more == best).all():
            break
        best = more
    return np.maximum.accumulate(np.maximum.accumulate(best.max(axis=(0, 1)), axis=0), axis=1)


def _one_column_more(best: Ints, meet: Ints) -> Ints:
    """Append any column: it meets its own places, and it and the last column each meet the other's."""
    more = np.full(best.shape, NEVER)
    n_positions, n_places = meet.shape
    for h in range(n_positions):
        over_places = (best + meet[h][None, :, None, None]).max(axis=1)
        for g in range(n_places):
            sums = (over_places + meet[:, g][:, None, None]).max(axis=0) + meet[h, g]
            more[h, g, h:, g:] = sums[: n_positions - h, : n_places - g]
    return more


def _meetings(height: int, positions: int, places: int) -> Ints:
    """Bound the pairs of a column of h positions and one of g places, ``height`` rows high; shape (h + 1, g + 1)."""
    # h positions reach h + height - 1 places or more, and are counted height times; those beyond g are lost. Likewise
    # the other way round.
    h, g = np.arange(positions + 1)[:, None], np.arange(places + 1)[None, :]
    of_positions = height * h - np.maximum(0, h + height - 1 - g)
    of_places = height * g - np.maximum(0, g + height - 1 - h)
    pairs: Ints = np.maximum(np.minimum(np.minimum(of_positions, of_places), h * g), 0)
    return pairs
