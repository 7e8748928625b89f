"""Two hops: a source is read in as many cores as it takes to hold all that its readers read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from neuromap.mapping.bounds.populations.readers import Key, Reader

__all__ = ["cores_by_two_hops"]

Ints = NDArray[np.int64]
LARGEST = 40_000_000
"""Pairs of entries with a reader in common up to which they are counted."""


def cores_by_two_hops(readers: tuple[Reader, ...], axons: int) -> dict[Key, Ints]:
    """Bound the cores that read a source: each has an axon for it and at most all others for what its readers read."""
    # gives cores that read each column of a feed at least; empty where it would take too long
    widths = {feed.key: feed.matrix.shape[1] for reader in readers for feed in reader.feeds}
    if axons < 2 or not widths:
        return {}
    reads: Any = sparse.csr_array(sparse.block_array([_row_of_blocks(reader, widths) for reader in readers]))
    fan_in = np.diff(reads.indptr).astype(np.int64)
    if (fan_in * fan_in).sum() > LARGEST:
        return {}
    pattern: Any = sparse.csr_array((np.ones(reads.nnz, np.int32), reads.indices, reads.indptr), shape=reads.shape)
    near = np.diff(sparse.csr_array(pattern.T @ pattern).indptr).astype(np.int64)  # a source itself is among them
    cores = np.where(near > 0, np.maximum(1, -(-(near - 1) // (axons - 1))), 0)
    ends = np.cumsum(list(widths.values()))
    return dict(zip(widths, np.split(cores, ends[:-1]), strict=True))


def _row_of_blocks(reader: Reader, widths: dict[Key, int]) -> list[Any]:
    own = {feed.key: feed.matrix for feed in reader.feeds}
    return [own.get(key, sparse.csr_array((len(reader.neurons), n), dtype=np.int64)) for key, n in widths.items()]
