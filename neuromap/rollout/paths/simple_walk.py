"""All paths that visit no node twice, depth first: the loop that long searches spend their time in, to be compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

__all__ = ["walk_compiled"]


def walk_compiled(
    out: Sequence[Sequence[tuple[int, int]]], entering: Sequence[int], none: int, steps: int
) -> tuple[list[int], int]:
    """Try all paths from every node that something enters, the best first, for some steps.

    Parameters
    ----------
    out : sequence of sequences of (int, int)
        For every node the nodes after it and the weights of the edges to them.
    entering : sequence of int
        For every node the value with which a path may begin there.
    none : int
        The value of a path that does not exist.
    steps : int
        Edges that may be looked at.

    Returns
    -------
    best : list of int
        For every node the best value of a path of one edge or more that ends there, of those that were tried.
    left : int
        Steps left; below 0 if there were too few.
    """
    begin = np.cumsum([0, *map(len, out)], dtype=np.int64)
    edges = np.array([edge for after in out for edge in after], np.int64).reshape(-1, 2)
    starts = np.array(sorted(range(len(out)), key=lambda v: -entering[v]), np.int64)
    best = np.full(len(out), none, np.int64)
    left = _compiled()(begin, edges, np.array(entering, np.int64), starts, none, steps, best)
    return best.tolist(), int(left)


@cache
def _compiled() -> Callable[..., int]:
    from neuromap.compiling.numba_cache import cached

    return cached(_walk)  # type: ignore[no-any-return]


def _walk(begin: Any, edges: Any, entering: Any, starts: Any, none: int, steps: int, best: Any) -> int:
    """Fill ``best``; return the steps left."""
    n = len(best)
    visited = np.zeros(n, np.bool_)
    trail, value, at = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    for start in starts:
        if entering[start] == none:
            break
        visited[start] = True
        trail[0], value[0], at[0] = start, entering[start], begin[start]
        depth = 0
        while depth >= 0:
            u = trail[depth]
            if at[depth] == begin[u + 1]:
                visited[u] = False
                depth -= 1
                continue
            v, weight = edges[at[depth], 0], edges[at[depth], 1]
            at[depth] += 1
            if visited[v]:
                continue
            steps -= 1
            if steps < 0:
                return steps
            best[v] = max(best[v], value[depth] + weight)
            visited[v] = True
            value[depth + 1] = value[depth] + weight
            depth += 1
            trail[depth], at[depth] = v, begin[v]
    return steps
