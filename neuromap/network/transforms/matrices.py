"""Integer sparse matrices in their one form, and the transform that holds an explicit one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from neuromap.arrays.frozen import adopted, frozen
from neuromap.errors import NetworkError
from neuromap.forms.card import Card
from neuromap.network.transforms.limits import as_integers

__all__ = ["MatrixTransform", "from_entries", "lent"]


@dataclass(frozen=True, eq=False)
class MatrixTransform(Card):
    """An explicit matrix, for networks that are built in Python.

    Attributes
    ----------
    weights : csr_array of int64, shape (n_target, n_source)
        Made from a dense or sparse array of integers.

    Raises
    ------
    NetworkError
        If it is not a matrix of integers between -2**31 and 2**31 - 1.
    """

    kind: ClassVar[str] = "matrix"

    weights: csr_array
    _own: csr_array = field(init=False, repr=False)
    """The same, lent to nobody: the arrays of ``weights`` can be replaced by others."""

    def __post_init__(self) -> None:
        given: Any = self.weights
        matrix: csr_array
        if issparse(given):
            given = cast("coo_array", given)
            if given.ndim != 2:
                raise NetworkError(f"weights: found {given.ndim} dimensions; allowed are 2 (n_target, n_source)")
            # Copied before duplicates are summed: the caller keeps what was given.
            entries = coo_array(given, copy=True)
            entries.data = np.array(as_integers(entries.data, "weights"))
            matrix = csr_array(entries)
            as_integers(matrix.data, "weights")
        else:
            dense = as_integers(given, "weights")
            if dense.ndim != 2:
                raise NetworkError(f"weights: found {dense.ndim} dimensions; allowed are 2 (n_target, n_source)")
            matrix = csr_array(dense)
        object.__setattr__(self, "_own", _canonical(matrix))
        object.__setattr__(self, "weights", lent(self._own))

    def matrix(self) -> csr_array:
        """Give the matrix."""
        return lent(self._own)


def lent(matrix: csr_array) -> csr_array:
    """Give a matrix of its own, whose arrays are the same, read-only ones: nobody can put others into the first."""
    parts = (matrix.data.view(), matrix.indices.view(), matrix.indptr.view())
    other = csr_array(parts, shape=matrix.shape, copy=False)
    other.has_sorted_indices = other.has_canonical_format = True
    return other


def from_entries(rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]) -> csr_array:
    """Make the matrix of an edge from its entries."""
    # gives without explicit zeros, indices sorted, its arrays read-only
    # shapes: rows, columns, values (n_entries,)
    return _canonical(csr_array(coo_array((values.astype(np.int64), (rows, columns)), shape=shape)))


def _canonical(matrix: csr_array) -> csr_array:
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    for name in ("data", "indices", "indptr"):
        array = getattr(matrix, name)
        setattr(matrix, name, frozen(array) if array.base is not None else adopted(array))  # nobody else has it
    return matrix
