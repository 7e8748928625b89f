"""A dictionary that nobody changes, as frozen values carry it; it is pickled and copied like any other value."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

__all__ = ["ReadOnlyMapping"]

_K = TypeVar("_K")
_V = TypeVar("_V")


class ReadOnlyMapping(dict[_K, _V]):
    """A dictionary that refuses to be changed.

    It holds its own entries: what becomes of the dictionary that it was made from does not matter. It is shown like a
    dictionary and equal to one of the same entries; ``types.MappingProxyType`` would do all that too, but can be
    neither pickled nor copied, so values that hold one could not go to other processes.

    Raises
    ------
    TypeError
        On every attempt to change it.
    """

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("this mapping is read-only; dict(mapping) gives a copy that can be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)
