"""An immutable mapping for frozen values, which can be pickled and copied like any other value."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar

_K = TypeVar("_K")
_V = TypeVar("_V")


class ReadOnlyMapping(Mapping[_K, _V]):
    """A mapping that cannot be changed.

    It copies its entries, so later changes of the original dictionary do not matter. It is shown like a dictionary and
    equals one with the same entries. ``types.MappingProxyType`` can be neither pickled nor copied, so values that hold
    one could not be sent to other processes.

    Parameters
    ----------
    entries : mapping
        Entries, in this order.
    """

    __slots__ = ("_entries",)

    def __init__(self, entries: Mapping[_K, _V]) -> None:
        self._entries: dict[_K, _V] = dict(entries)

    def __getitem__(self, key: _K) -> _V:
        return self._entries[key]

    def __iter__(self) -> Iterator[_K]:
        return iter(self._entries)

    def __reversed__(self) -> Iterator[_K]:
        return reversed(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def keys(self) -> KeysView[_K]:
        """Keys in their order; a view of the inner dictionary, and as fast."""
        return self._entries.keys()

    def values(self) -> ValuesView[_V]:
        """Values in the order of their keys."""
        return self._entries.values()

    def items(self) -> ItemsView[_K, _V]:
        """Pairs of key and value."""
        return self._entries.items()

    def __repr__(self) -> str:
        return repr(self._entries)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._entries,)
