"""Cut what a node reads into runs of inputs, so that no core is asked for more of a run than it has axons for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.mapping.legalise.legalised import Matrix

__all__ = ["cut_inputs"]

Ints = NDArray[np.int64]


def cut_inputs(together: Matrix, shapes: Sequence[tuple[int, int, int]], most: int) -> Ints:
    """Assign every input of a node to a run."""
    # Inputs go edge by edge and feature by feature, so that neurons with shared windows share runs. Whole feature
    # planes stay together where they fit. Runs are about as large as each other.
    # most: inputs that a group reads of a run at most
    # shapes: together (g, s); returns (s,)
    order, plane = _by_features(shapes)
    reads = sparse.csc_array(together)[:, order]
    run = _fill(reads, plane, most)
    assert run is not None, "there is no limit to the runs"
    widest = int(np.diff(together.indptr).max(initial=0))
    n_runs = int(run.max(initial=0)) + 1
    for limit in range(max(1, -(-widest // n_runs)), most):  # the least limit with as many runs balances them
        balanced = _fill(reads, plane, limit, n_runs)
        if balanced is not None:
            run = balanced
            break
    found = np.empty(len(order), np.int64)
    found[order] = run
    return found


def _by_features(shapes: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints]:
    """Order inputs by edge and feature; return the order, and the plane of each input in it."""
    orders, planes, start, plane = [], [], 0, 0
    for rows, columns, features in shapes:
        place = np.arange(rows * columns * features).reshape(rows * columns, features)
        orders.append(start + place.T.ravel())
        planes.append(plane + np.repeat(np.arange(features), rows * columns))
        start, plane = start + place.size, plane + features
    return np.concatenate(orders), np.concatenate(planes)


def _fill(reads: sparse.csc_array, plane: Ints, most: int, most_runs: int | None = None) -> Ints | None:
    """Fill runs one after the other; ``None`` where that takes more than ``most_runs``."""
    run = np.zeros(reads.shape[1], np.int64)
    held = np.zeros(reads.shape[0], np.int64)
    number = 0
    for unit in _units(reads, plane, most):
        readers, times = np.unique(
            reads.indices[reads.indptr[unit.start] : reads.indptr[unit.stop]], return_counts=True
        )
        if (held[readers] + times > most).any():
            number += 1
            held[:] = 0
            if most_runs is not None and number >= most_runs:
                return None
        held[readers] += times
        run[unit] = number
    return run


def _units(reads: sparse.csc_array, plane: Ints, most: int) -> Iterator[slice]:
    """Yield what stays together: planes that no group reads too much of, else single inputs."""
    ends = np.flatnonzero(np.diff(plane, append=-1)) + 1
    start = 0
    for end in ends.tolist():
        readers = reads.indices[reads.indptr[start] : reads.indptr[end]]
        if end - start == 1 or np.bincount(readers, minlength=1).max(initial=0) <= most:
            yield slice(start, end)
        else:
            yield from (slice(k, k + 1) for k in range(start, end))
        start = end
