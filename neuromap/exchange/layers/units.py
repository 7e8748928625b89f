"""Float weights as integers times a unit, row by row: exactly, or as exactly as float32 holds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import NotSupportedError
from neuromap.forms.card import Card

__all__ = ["IntegerRows", "integer_rows"]

_MOST_PARTS = 128
"""Least weights of a row that are tried, in units: 8-bit weights have no greater."""
_ROUNDING = 2e-6
"""Parts of a unit by which float32 weights may miss an integer of up to 16; greater ones miss by more."""
_MOST_ROUNDED = 2**15
"""Greatest integer that float32 weights may miss."""
_MOST = 2**31 - 1


@dataclass(frozen=True, eq=False)
class IntegerRows(Card):
    """Integer weights, and what one of them is worth."""

    weights: csr_array  # (n, n_sources): integers
    unit: NDArray[np.float64]  # (n,): row k of the float weights is ``unit[k]`` times row k of these
    error: float  # most that a weight misses its integer by, in units

    def __post_init__(self) -> None:
        freeze_arrays(self)


def integer_rows(weights: csr_array) -> IntegerRows:
    """Find the unit of every row: 1 where its weights are integers, else the greatest that makes them so."""
    # shapes: weights (n, n_sources)
    data, lengths = weights.data, np.diff(weights.indptr)
    row = np.repeat(np.arange(weights.shape[0]), lengths)
    unit = np.ones(weights.shape[0])
    open_rows = np.zeros(weights.shape[0], bool)
    open_rows[row[~_near_integers(data)]] = True
    if open_rows.any():
        least = np.full(weights.shape[0], np.inf)
        np.minimum.at(least, row, np.where(data == 0, np.inf, np.abs(data)))
        for parts in range(1, _MOST_PARTS + 1):
            mine = open_rows[row]
            trial = data[mine] * parts / least[row[mine]]
            wrong = np.unique(row[mine][~_near_integers(trial)])
            found = open_rows.copy()
            found[wrong] = False
            unit[found] = least[found] / parts
            open_rows &= ~found
            if not open_rows.any():
                break
        else:
            raise NotSupportedError("its weights are no integers times a scale per neuron")
    scaled = data / unit[row]
    integers = np.round(scaled)
    if np.abs(integers).max(initial=0) > _MOST:
        raise NotSupportedError("its weights are greater than 32 bits hold")
    found_weights = csr_array((integers.astype(np.int64), weights.indices, weights.indptr), shape=weights.shape)
    found_weights.eliminate_zeros()
    return IntegerRows(found_weights, unit, float(np.abs(scaled - integers).max(initial=0)))


def _near_integers(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    nearest = np.round(values)
    size = np.abs(nearest)
    with np.errstate(invalid="ignore"):
        near = (np.abs(values - nearest) <= _ROUNDING * np.maximum(1, size / 16)) & (size > 0) & (size <= _MOST_ROUNDED)
    found: NDArray[np.bool_] = near | (values == nearest)
    return found
