"""The route of one spike, hop by hop: along x first, then along y."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["xy_route"]


def xy_route(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """Walk from one core to another."""
    x, y = start
    yield x, y
    while x != end[0]:
        x += 1 if end[0] > x else -1
        yield x, y
    while y != end[1]:
        y += 1 if end[1] > y else -1
        yield x, y
