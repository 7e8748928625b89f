"""Sizes that are part of a type: the kernels are compiled for them, and their loops have a known length."""

from __future__ import annotations

__all__ = ["LONGEST", "as_extent", "extent"]

LONGEST = 64
"""Longest loops that are compiled for their length: 2048 neurons, 4096 axons."""


def as_extent(n: int) -> tuple[int, ...] | int:
    """Give a size in the form that the kernels are compiled for."""
    return (0,) * n if n <= LONGEST else n


def extent(size: tuple[int, ...] | int) -> int:
    """Give a size as an integer; compiled code has this function too."""
    return size if isinstance(size, int) else len(size)
