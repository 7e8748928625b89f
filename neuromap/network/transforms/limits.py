"""Shapes and integers that a network may hold: refused here, before anything is allocated, and told in few characters.

The lowest file of the network: nodes, thresholds, transforms and files all ask it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted, frozen, refuse_masked
from neuromap.errors import NetworkError
from neuromap.files.messages import show

__all__ = [
    "INT_HIGH",
    "INT_LOW",
    "MAX_ENTRIES",
    "MAX_NEURONS",
    "as_integers",
    "as_shape",
    "not_integers",
    "require_integers",
    "show_count",
    "show_shape",
]

MAX_NEURONS = 2**24
"""Most neurons of one node."""

MAX_ENTRIES = 2**28
"""Most entries that the matrix of one edge could hold if none of its weights were zero."""

INT_LOW = -(2**31)
"""Least weight or threshold."""

INT_HIGH = 2**31 - 1
"""Greatest weight or threshold."""


def show_shape(shape: Sequence[int]) -> str:
    """Write a shape as it is written in files: ``[8, 8, 1]``."""
    return "[" + ", ".join(show_count(n) for n in shape) + "]"


def as_shape(shape: Any) -> tuple[int, int, int]:
    """Check a node's shape."""
    entries = [1, 1, shape] if isinstance(shape, int | np.integer) else shape
    if (
        not isinstance(entries, Sequence | np.ndarray)
        or isinstance(entries, str)
        or len(entries) != 3
        or any(isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1 for n in entries)
    ):
        raise NetworkError(f"shape: found {show(shape)}; allowed are three positive integers [rows, columns, features]")
    rows, columns, features = (int(n) for n in entries)
    size = math.prod((rows, columns, features))
    if size > MAX_NEURONS:
        raise NetworkError(
            f"shape: {show_shape((rows, columns, features))} is {show_count(size)} neurons; "
            f"at most 2**24 = {MAX_NEURONS} are allowed in one node; split it into several"
        )
    return rows, columns, features


def as_integers(values: Any, what: str) -> NDArray[np.int64]:
    """Take an array of weights or thresholds as int64, refusing what is not an integer."""
    array = require_integers(values, what)
    if array.size:
        for extreme in (int(array.min()), int(array.max())):
            if not INT_LOW <= extreme <= INT_HIGH:
                raise NetworkError(
                    f"{what}: found the value {extreme}; allowed are {INT_LOW} to {INT_HIGH} (32 bits, signed)"
                )
    if array.dtype == np.int64:
        return frozen(array)
    return adopted(array.astype(np.int64))


def require_integers(values: Any, what: str) -> NDArray[Any]:
    """Refuse what is no array of integers, of whatever size; errors are those of :func:`as_integers`."""
    refuse_masked(values, what, NetworkError)
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        raise NetworkError(f"{what}: found {show(values)}; allowed is an array of integers") from None
    if not np.issubdtype(array.dtype, np.integer):
        raise NetworkError(f"{what}: {not_integers(array)}")
    return array


def not_integers(array: NDArray[Any]) -> str:
    """Say why an array that does not hold integers is refused."""
    if np.issubdtype(array.dtype, np.floating):
        nan = int(np.isnan(array).sum())
        if nan:
            return f"found {array.dtype} with {nan} NaN; only integers are allowed; find where the NaN came from"
        return f"found {array.dtype}; only integers are allowed; scale, round and cast, say to int32"
    if array.dtype == np.bool_:
        return "found bool; only integers are allowed; cast to int8 if 0 and 1 are meant"
    return f"found dtype {array.dtype}; only integers of at most 64 bits are allowed"


def show_count(n: int) -> str:
    """Write a number of any size in a few characters."""
    return str(n) if n < 10**12 else f"about 2**{n.bit_length() - 1}"
