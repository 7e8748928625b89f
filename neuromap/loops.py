"""Loops that run interpreted for little work, and compiled where that pays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_Int = TypeVar("_Int", bound=np.integer[Any])
R = TypeVar("R")
# Number of items up to which the plain loop is faster than loading compiled code.
INTERPRETED = 30_000
# The same if Numba is not imported yet, which takes half a second; an item takes about half a microsecond.
WITHOUT_COMPILER = 1_000_000
# The same for a loop in two forms: limits up to which the plain form and the array form are fastest.
PLAIN, BY_ARRAYS = 300_000, 20_000_000


def compiled_for(function: Callable[..., R], work: int) -> Callable[..., R]:
    """Return a loop, compiled if that pays."""
    return always_compiled(function) if pays(work) else function


def pays(work: int, *, without_compiler: int = WITHOUT_COMPILER) -> bool:
    """Return whether it pays to compile a loop over ``work`` items, or to load it compiled."""
    return work > (INTERPRETED if "numba" in sys.modules else without_compiler)


class TwoForms(Generic[R]):
    """A loop in two equivalent forms, plain and over arrays; the total work decides which is fastest."""

    # Calls come by the hundred and none alone is worth a compiler, so their total work counts.

    def __init__(self, plain: Callable[..., R], by_arrays: Callable[..., R]) -> None:
        self._plain, self._by_arrays, self._work = plain, by_arrays, 0

    def form_for(self, work: int) -> Callable[..., R]:
        """Choose the form for a call over ``work`` items, and add them to the total."""
        self._work += work
        if self._work > PLAIN and not pays(self._work, without_compiler=BY_ARRAYS):
            return self._by_arrays
        return compiled_for(self._plain, self._work)


@cache
def always_compiled(function: Callable[..., R]) -> Callable[..., R]:
    """Return a loop, compiled."""
    from neuromap.compiling import cached

    return cached(function)  # type: ignore[no-any-return]


def read_only(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return read-only views of arrays that a loop only reads: for writeable arrays it would be compiled again."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


# Items of rows that stay together.


def join_items(
    indptr: Ints, items: NDArray[_Int], unit_of: Ints, n_units: int, n_items: int
) -> tuple[Ints, NDArray[_Int]]:
    """Collect the distinct items of each unit of neurons that stay together."""
    # shapes: unit_of (n,)
    neurons = np.argsort(unit_of, kind="stable")
    neurons = neurons[np.searchsorted(unit_of[neurons], 0) :]
    joined, begin = np.empty(len(items), items.dtype), np.zeros(n_units + 1, np.int64)
    stamp = np.full(n_items, -1, np.int64)
    count = compiled_for(_join, len(items))(*read_only(indptr, items, neurons, unit_of), joined, begin, stamp)
    return begin, joined[:count].copy()


def _join(indptr: Any, items: Any, neurons: Any, unit_of: Any, joined: Any, begin: Any, stamp: Any) -> int:
    """Fill ``joined`` and ``begin``; return the number of items."""
    count, now = 0, 0
    for n in neurons:
        unit = unit_of[n]
        while now <= unit:
            begin[now] = count
            now += 1
        for k in range(indptr[n], indptr[n + 1]):
            item = items[k]
            if stamp[item] != unit:
                stamp[item] = unit
                joined[count] = item
                count += 1
    while now < len(begin):
        begin[now] = count
        now += 1
    return count
