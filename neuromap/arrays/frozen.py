"""Read-only arrays: what a frozen dataclass holds cannot change under it, nor hide values under a mask."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NeuromapError

__all__ = ["freeze_arrays", "frozen", "refuse_masked"]

_T = TypeVar("_T", bound=np.generic)


def frozen(array: NDArray[_T], what: str = "array") -> NDArray[_T]:
    """Give a read-only array of the same values.

    Parameters
    ----------
    array : ndarray
        Not touched: the caller may go on writing to it.
    what : str
        How the message calls it.

    Returns
    -------
    ndarray
        ``array`` itself if it is read-only and nobody else can write to its memory; else a locked copy, as of a view
        of an array that can be written to, or of a file that is mapped into memory.

    Raises
    ------
    InputError
        If the array is masked.
    """
    refuse_masked(array, what, InputError)
    if _is_locked(array):
        return array
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def freeze_arrays(instance: object) -> None:
    """Replace every array in the fields of a frozen dataclass by a read-only one; for ``__post_init__``.

    Parameters
    ----------
    instance : object
        Its fields may be arrays or tuples of arrays; other values stay as they are.

    Raises
    ------
    InputError
        If an array is masked.
    """
    for name, value in list(vars(instance).items()):
        what = f"{type(instance).__name__}.{name}"
        if isinstance(value, np.ndarray):
            object.__setattr__(instance, name, frozen(value, what))
        elif isinstance(value, tuple) and any(isinstance(part, np.ndarray) for part in value):
            parts = tuple(frozen(part, what) if isinstance(part, np.ndarray) else part for part in value)
            object.__setattr__(instance, name, parts)


def refuse_masked(values: Any, what: str, error: type[NeuromapError]) -> None:
    """Refuse a masked array, or a list of them: NumPy drops masks silently, and with them what they mean.

    Parameters
    ----------
    values : object
        What was given where an array is taken.
    what : str
        How the message calls it, such as ``weights``.
    error : type of NeuromapError
        What is raised.

    Raises
    ------
    NeuromapError
        Of that type.
    """
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise error(f"{what}: found a masked array; masks have no meaning here, give plain values (array.filled(0))")


def _is_locked(array: NDArray[Any]) -> bool:
    """Whether memory is read-only down to who owns it: an array, or bytes; not a file, whose owner may change it."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return owner is None or isinstance(owner, bytes)
