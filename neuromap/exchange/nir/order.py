"""Orders of values: ours are rows, columns, features; NIR's of three dimensions are channels, rows, columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["from_nir_order", "in_our_order", "nir_shape", "our_shape", "to_nir_order"]

Ints = NDArray[np.int64]


def our_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Give the shape of a node for one of NIR: channels come last, all but three dimensions in a row."""
    if len(shape) == 3:
        return shape[1], shape[2], shape[0]
    return 1, 1, int(np.prod(shape, dtype=np.int64))


def nir_shape(shape: tuple[int, int, int], *, is_spatial: bool) -> tuple[int, ...]:
    """Give the shape in NIR for one of ours: channels first, or all in a row."""
    return (shape[2], shape[0], shape[1]) if is_spatial else (shape[0] * shape[1] * shape[2],)


def from_nir_order(shape: tuple[int, ...]) -> Ints:
    """Give the number in NIR of each value in our order, shape (n,)."""
    numbers = np.arange(np.prod(shape, dtype=np.int64))
    return numbers.reshape(shape).transpose(1, 2, 0).ravel() if len(shape) == 3 else numbers


def to_nir_order(shape: tuple[int, ...]) -> Ints:
    """Give our number of each value in the order of NIR, shape (n,); ``shape`` is NIR's."""
    if len(shape) != 3:
        return np.arange(np.prod(shape, dtype=np.int64))
    rows, columns, features = our_shape(shape)
    return np.arange(rows * columns * features).reshape(rows, columns, features).transpose(2, 0, 1).ravel()


def in_our_order(matrix: csr_array, target: tuple[int, ...], source: tuple[int, ...]) -> csr_array:
    """Give a matrix between values in NIR's order, of shapes of NIR, between values in ours."""
    rows, columns = from_nir_order(target), from_nir_order(source)
    return csr_array(csr_array(matrix[rows])[:, columns])
