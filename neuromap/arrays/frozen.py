"""Read-only arrays: the contents of a frozen dataclass cannot change, nor hide values under a mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError, NeuromapError

_T = TypeVar("_T", bound=np.generic)

# Size in bytes up to which a copy is stored in immutable ``bytes``, which is faster than making an owner.
_SMALL = 2**16


class _Owner:
    """Owner of memory that nobody can unlock: NumPy exposes it read-only, whatever happens to flags."""

    # The owner of an array can lock and unlock it at will, so a locked one proves nothing; one whose owner is of this
    # class was locked here.

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        interface = array.__array_interface__
        interface["data"] = (interface["data"][0], True)
        self.__array_interface__ = interface


# Owners whose memory NumPy exposes read-only: nobody can unlock an array there.
_LOCKS = (_Owner, bytes)
# Types without arrays, and types that are not mappings.
_PLAIN = frozenset([int, float, str, bool, type(None)])
_NO_MAPPING = _PLAIN | {np.ndarray, tuple, ReadOnlyMapping}


def frozen(array: NDArray[_T], what: str = "array") -> NDArray[_T]:
    """Return a read-only array of the same values."""
    # returns ``array`` itself if nobody can write to its memory, now or later: it came from here, or lies in bytes.
    # Else a copy, as of an array whose owner may unlock it, a view of a writeable array, or a memory-mapped file
    if type(array) is not np.ndarray:
        refuse_masked(array, what, InputError)
    if _is_locked(array):
        return array
    if array.nbytes <= _SMALL and array.flags.c_contiguous and not array.dtype.hasobject:
        return np.ndarray(array.shape, array.dtype, array.tobytes())
    return adopted(np.array(array))


def adopted(array: NDArray[_T]) -> NDArray[_T]:
    """Lock an array permanently, without a copy; for code that has just made it."""
    return np.asarray(_Owner(array))


class ReadOnly:
    """Base of frozen dataclasses with immutable arrays and mappings."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for name, value in vars(self).items():
            if type(value) in _NO_MAPPING:  # most are: checking the abstract class costs as much as all else here
                continue
            if isinstance(value, Mapping) and not isinstance(value, ReadOnlyMapping):
                object.__setattr__(self, name, ReadOnlyMapping(value))


def freeze_arrays(instance: object) -> None:
    """Replace every array in the fields of a frozen dataclass by a read-only one; for ``__post_init__``."""
    # Mapping makes hundreds of thousands of such objects, most with locked arrays: these are skipped first.
    for name, value in list(vars(instance).items()):
        kind = type(value)
        if kind in _PLAIN or (kind is np.ndarray and isinstance(value.base, _LOCKS)):
            continue
        what = f"{type(instance).__name__}.{name}"
        if isinstance(value, np.ndarray):
            object.__setattr__(instance, name, frozen(value, what))
        elif isinstance(value, tuple) and any(isinstance(part, np.ndarray) for part in value):
            parts = tuple(frozen(part, what) if isinstance(part, np.ndarray) else part for part in value)
            object.__setattr__(instance, name, parts)
        elif hasattr(value, "indptr") and hasattr(value, "indices"):
            # a new sparse array with read-only parts; recognised by its parts, so that SciPy is not needed here
            locked = (frozen(value.data, what), frozen(value.indices, what), frozen(value.indptr, what))
            object.__setattr__(instance, name, type(value)(locked, shape=value.shape, copy=False))


def refuse_masked(values: Any, what: str, error: type[NeuromapError]) -> None:
    """Refuse a masked array, or a list with one: NumPy drops masks, and their meaning, silently."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise error(f"{what}: found a masked array; masks have no meaning here, give plain values (array.filled(0))")


def _is_locked(array: NDArray[Any]) -> bool:
    """Return whether memory is read-only down to its owner, and the owner is one that cannot unlock it."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return isinstance(owner, _LOCKS)
