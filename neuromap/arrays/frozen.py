"""Read-only arrays: what a frozen dataclass holds cannot change under it, nor hide values under a mask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import InputError, NeuromapError

_T = TypeVar("_T", bound=np.generic)

# Bytes up to which a copy lies in ``bytes``, which nobody can write to: quicker to make than an owner.
_SMALL = 2**16


class _Owner:
    """Holds the memory of an array that nobody can unlock: NumPy lends it read-only, whatever becomes of flags."""

    # Who owns an array may lock and unlock it at will, so a locked one proves nothing; one whose owner is of this class
    # was locked here.

    __slots__ = ("__array_interface__", "_array")

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array
        interface = array.__array_interface__
        interface["data"] = (interface["data"][0], True)
        self.__array_interface__ = interface


# Whose memory NumPy lends read-only: an array that lies there can be unlocked by nobody.
_LOCKS = (_Owner, bytes)
# What holds no array, and what is no mapping.
_PLAIN = frozenset([int, float, str, bool, type(None)])
_NO_MAPPING = _PLAIN | {np.ndarray, tuple, ReadOnlyMapping}


def frozen(array: NDArray[_T], what: str = "array") -> NDArray[_T]:
    """Give a read-only array of the same values."""
    # gives ``array`` itself if nobody can write to its memory, now or later: it came from here, or lies in bytes. Else
    # a copy of which that holds, as of an array that its owner locked and may unlock, of a view of an array that can be
    # written to, or of a file that is mapped into memory
    if type(array) is not np.ndarray:
        refuse_masked(array, what, InputError)
    if _is_locked(array):
        return array
    if array.nbytes <= _SMALL and array.flags.c_contiguous and not array.dtype.hasobject:
        return np.ndarray(array.shape, array.dtype, array.tobytes())
    return adopted(np.array(array))


def adopted(array: NDArray[_T]) -> NDArray[_T]:
    """Lock an array for good, without a copy; for those who have just made it."""
    return np.asarray(_Owner(array))


class ReadOnly:
    """Base of frozen dataclasses whose arrays and mappings nobody can change."""

    def __post_init__(self) -> None:
        freeze_arrays(self)
        for name, value in vars(self).items():
            if type(value) in _NO_MAPPING:  # most are: asking for the abstract class costs as much as all else here
                continue
            if isinstance(value, Mapping) and not isinstance(value, ReadOnlyMapping):
                object.__setattr__(self, name, ReadOnlyMapping(value))


def freeze_arrays(instance: object) -> None:
    """Replace every array in the fields of a frozen dataclass by a read-only one; for ``__post_init__``."""
    # Mappings make hundreds of thousands of such objects, most of arrays that are locked: those are passed over first.
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
            object.__setattr__(instance, name, _frozen_sparse(value, what))


def refuse_masked(values: Any, what: str, error: type[NeuromapError]) -> None:
    """Refuse a masked array, or a list of them: NumPy drops masks silently, and with them what they mean."""
    parts = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(part, np.ma.MaskedArray) for part in parts):
        raise error(f"{what}: found a masked array; masks have no meaning here, give plain values (array.filled(0))")


def _frozen_sparse(matrix: Any, what: str) -> Any:
    """Give a sparse array of its own with read-only parts; known by them, so that SciPy is not needed here."""
    parts = (frozen(matrix.data, what), frozen(matrix.indices, what), frozen(matrix.indptr, what))
    return type(matrix)(parts, shape=matrix.shape, copy=False)


def _is_locked(array: NDArray[Any]) -> bool:
    """Whether memory is read-only down to who owns it, and that is nobody who could unlock it."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return isinstance(owner, _LOCKS)
