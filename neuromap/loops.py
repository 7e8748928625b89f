"""Loops that run as they stand where there is little to do, and are compiled where that pays."""

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
# Items looked at up to which the plain loop is quicker than loading what was compiled.
INTERPRETED = 30_000
# The same where Numba has not been imported, which takes half a second; an item takes about half a microsecond.
WITHOUT_COMPILER = 1_000_000
# The same of a loop in two forms: up to which the plain one is quicker, and up to which the one over arrays is.
PLAIN, BY_ARRAYS = 300_000, 20_000_000


def compiled_for(function: Callable[..., R], work: int) -> Callable[..., R]:
    """Compile a loop, if that pays."""
    return _compiled(function) if pays(work) else function


def pays(work: int, *, without_compiler: int = WITHOUT_COMPILER) -> bool:
    """Whether compiling a loop pays that looks at so many items, or loading what was compiled."""
    return work > (INTERPRETED if "numba" in sys.modules else without_compiler)


class TwoForms(Generic[R]):
    """A loop in two forms that do the same, plain and over arrays; it counts what it looks at, to take the quickest."""

    # Calls come by the hundred, none of which alone is worth a compiler: what counts is what they take together.

    def __init__(self, plain: Callable[..., R], by_arrays: Callable[..., R]) -> None:
        self._plain, self._by_arrays, self._work = plain, by_arrays, 0

    def form_for(self, work: int) -> Callable[..., R]:
        """Choose the form for a call that looks at so many items, which are counted."""
        self._work += work
        if self._work > PLAIN and not pays(self._work, without_compiler=BY_ARRAYS):
            return self._by_arrays
        return compiled_for(self._plain, self._work)


@cache
def _compiled(function: Callable[..., R]) -> Callable[..., R]:
    from neuromap.compiling import cached

    return cached(function)  # type: ignore[no-any-return]


def read_only(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """View what a loop only reads as read-only: for arrays that may be written to it is compiled again."""
    views = tuple(array.view() for array in arrays)
    for view in views:
        view.flags.writeable = False
    return views


# Items of rows that stay together.


def join_items(
    indptr: Ints, items: NDArray[_Int], unit_of: Ints, n_units: int, n_items: int
) -> tuple[Ints, NDArray[_Int]]:
    """Join the items of neurons that stay together."""
    # shapes: unit_of (n,)
    neurons = np.argsort(unit_of, kind="stable")
    neurons = neurons[np.searchsorted(unit_of[neurons], 0) :]
    joined, begin = np.empty(len(items), items.dtype), np.zeros(n_units + 1, np.int64)
    stamp = np.full(n_items, -1, np.int64)
    count = compiled_for(_join, len(items))(*read_only(indptr, items, neurons, unit_of), joined, begin, stamp)
    return begin, joined[:count].copy()


def _join(indptr: Any, items: Any, neurons: Any, unit_of: Any, joined: Any, begin: Any, stamp: Any) -> int:
    """Fill ``joined`` and ``begin``; return how many items there are."""
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
