"""The graph that is placed: how many targets each core has in each other core."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.arrays.frozen import adopted, freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import InputError

__all__ = ["BACKWARD", "FORWARD", "Wiring", "wiring"]

Ints = NDArray[np.int64]
FORWARD, BACKWARD = 1, 2


@dataclass(frozen=True, eq=False)
class Wiring(Value):
    """Cores and the pairs of different cores that are wired, each pair once in either direction."""

    n_cores: int
    # source, target: (pairs,): pairs of different cores with wires from the first to the second
    source: Ints
    target: Ints
    # (n_cores + 1,): row pointers: the neighbours of core c are entries ``start[c]`` to ``start[c + 1]`` of the next
    # three
    start: Ints
    neighbour: NDArray[np.int32]  # (entries,)
    weight: NDArray[np.float64]  # (entries,): wires between the core and its neighbour, both directions together
    # (entries,): ``FORWARD`` if wires lead to the neighbour, ``BACKWARD`` if they come from it, the sum of both for
    # both
    direction: NDArray[np.uint8]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def matrix(self) -> sparse.csr_array:
        """Make the symmetric sparse array of all weights, shape (n_cores, n_cores)."""
        shape = (self.n_cores, self.n_cores)
        return sparse.csr_array((self.weight, self.neighbour, self.start), shape=shape)


def wiring(n_cores: int, wires: tuple[Ints, Ints]) -> Wiring:
    """Add up wires; those within a core cost nothing and are left out."""
    source, target = (np.asarray(ends) for ends in wires)
    if source.shape != target.shape or source.ndim != 1:
        raise InputError(f"wires: found shapes {source.shape} and {target.shape}; needs one source and target per wire")
    for ends in (source, target):
        if len(ends) and not (ends.min() >= 0 and ends.max() < n_cores):
            wrong = int(ends.min() if ends.min() < 0 else ends.max())
            raise InputError(f"wires: found core {wrong}; allowed are 0 to {n_cores - 1}")
    if n_cores * n_cores <= len(source):
        return _of_table(n_cores, source, target)
    ones = np.ones(len(source), np.float64)
    wires_32 = (source.astype(np.int32), target.astype(np.int32))
    directed = sparse.coo_array((ones, wires_32), shape=(n_cores, n_cores)).tocsr()
    directed.setdiag(0)
    directed.eliminate_zeros()
    pairs = directed.tocoo()
    flags = directed.copy()
    flags.data = np.full(flags.nnz, FORWARD, np.float64)
    both = (directed + directed.T).tocsr()
    flags = (flags + BACKWARD * flags.T).tocsr()
    both.sort_indices()
    flags.sort_indices()
    return Wiring(
        n_cores,
        pairs.row.astype(np.int64),
        pairs.col.astype(np.int64),
        both.indptr.astype(np.int64),
        both.indices.astype(np.int32),
        both.data.astype(np.float64),
        flags.data.astype(np.uint8),
    )


def _of_table(n_cores: int, source: Ints, target: Ints) -> Wiring:
    """Add up more wires than there are pairs of cores, in a table of all pairs."""
    counts = np.bincount(source * np.int64(n_cores) + target, minlength=n_cores * n_cores)
    counts = counts.reshape(n_cores, n_cores)
    np.fill_diagonal(counts, 0)
    both = counts + counts.T
    is_wired = both > 0
    flags = FORWARD * (counts > 0).view(np.uint8)
    flags += BACKWARD * (counts.T > 0).view(np.uint8)
    first, last = np.nonzero(counts)
    return Wiring(
        n_cores,
        first,
        last,
        np.concatenate([[0], np.cumsum(is_wired.sum(axis=1))]),
        adopted(np.nonzero(is_wired)[1].astype(np.int32)),
        adopted(both[is_wired].astype(np.float64)),
        adopted(flags[is_wired]),
    )
