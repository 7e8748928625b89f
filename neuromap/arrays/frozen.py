"""Read-only arrays: what a frozen dataclass holds cannot change under it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["freeze_arrays", "frozen"]

_T = TypeVar("_T", bound=np.generic)


def frozen(array: NDArray[_T]) -> NDArray[_T]:
    """Give a read-only array of the same values.

    Parameters
    ----------
    array : ndarray
        Not touched: the caller may go on writing to it.

    Returns
    -------
    ndarray
        ``array`` itself if it is read-only and no view of an array that can be written to; else a locked copy.
    """
    owner = array.base
    if not array.flags.writeable and not (isinstance(owner, np.ndarray) and owner.flags.writeable):
        return array
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def freeze_arrays(instance: object) -> None:
    """Replace every array in the fields of a frozen dataclass by a read-only one; for ``__post_init__``.

    Parameters
    ----------
    instance : object
        Its fields may be arrays or tuples of arrays; other values stay as they are.
    """
    for name, value in list(vars(instance).items()):
        if isinstance(value, np.ndarray):
            object.__setattr__(instance, name, frozen(value))
        elif isinstance(value, tuple) and any(isinstance(part, np.ndarray) for part in value):
            parts = tuple(frozen(part) if isinstance(part, np.ndarray) else part for part in value)
            object.__setattr__(instance, name, parts)
