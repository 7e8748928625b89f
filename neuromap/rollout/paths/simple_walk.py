"""All paths that visit no node twice, depth first: one loop, run as it stands for few steps and compiled for many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

__all__ = ["SimpleWalk"]


class SimpleWalk:
    """The paths of one graph."""

    def __init__(self, out: Sequence[Sequence[tuple[int, int]]], none: int) -> None:
        self._none, self._size = none, len(out)
        self._begin = [0]
        for after in out:
            self._begin.append(self._begin[-1] + len(after))
        self._target = [v for after in out for v, _ in after]
        self._weight = [weight for after in out for _, weight in after]

    def best(self, entering: Sequence[int], steps: int, *, compiled: bool = False) -> tuple[list[int], int]:
        """Try all paths from every node that something enters, the best first, for some steps."""
        starts = sorted(range(self._size), key=lambda v: -entering[v])
        given = [self._begin, self._target, self._weight, list(entering), starts]
        blank = [[0] * self._size for _ in range(4)]  # visited; along the path: nodes, values, edges to go on with
        best = [self._none] * self._size
        if not compiled:
            everything: list[Any] = [*given, *blank, self._none, steps, best]
            return best, _walk(*everything)
        arrays = [np.array(values, np.int64) for values in (*given, *blank)]
        found = np.array(best, np.int64)
        left = _compiled()(*arrays, self._none, steps, found)
        return found.tolist(), int(left)


@cache
def _compiled() -> Callable[..., int]:
    from neuromap.compiling.numba_cache import cached

    return cached(_walk)  # type: ignore[no-any-return]


def _walk(
    begin: Any,
    target: Any,
    weight: Any,
    entering: Any,
    starts: Any,
    visited: Any,
    trail: Any,
    value: Any,
    at: Any,
    none: int,
    steps: int,
    best: Any,
) -> int:
    """Fill ``best``; return the steps left."""
    for start in starts:
        if entering[start] == none:
            break
        visited[start] = 1
        trail[0], value[0], at[0] = start, entering[start], begin[start]
        depth = 0
        while depth >= 0:
            edge = at[depth]
            if edge == begin[trail[depth] + 1]:
                visited[trail[depth]] = 0
                depth -= 1
                continue
            at[depth] = edge + 1
            v = target[edge]
            if visited[v]:
                continue
            steps -= 1
            if steps < 0:
                return steps
            reached = value[depth] + weight[edge]
            best[v] = max(best[v], reached)
            visited[v] = 1
            depth += 1
            trail[depth], value[depth], at[depth] = v, reached, begin[v]
    return steps
