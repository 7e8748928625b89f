"""Sizes that the kernels are compiled for: short ones are known to the compiler, long ones are not."""

from __future__ import annotations

LONGEST = 64
"""Longest loops that are compiled for their length: 2048 neurons, 4096 axons."""


def as_extent(n: int) -> tuple[int, ...] | int:
    """Give a size in the form that the kernels are compiled for."""
    return (0,) * n if n <= LONGEST else n


def extent(size: tuple[int, ...] | int) -> int:
    """Give a size as an integer; compiled code has this function too."""
    return size if isinstance(size, int) else len(size)
