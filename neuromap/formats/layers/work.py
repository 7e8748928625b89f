"""Multiply-accumulates of operators; additions, comparisons and functions count none."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["conv_work", "dense_work", "known_shape", "transposed_work"]

Shape = Sequence[int] | None


def known_shape(shape: Sequence[object] | None) -> bool:
    """Tell whether every axis has a length."""
    return shape is not None and all(isinstance(n, int) and n >= 0 for n in shape)


def conv_work(target: Shape, weight: Shape) -> int | None:
    """Count those of a convolution: for every element of its target, a kernel over the features of a group.

    Parameters
    ----------
    target : sequence of int or None
        Shape of what it makes, the batch first; ``None`` where it is not known, and so is the work.
    weight : sequence of int or None
        Shape of its weights: (features, features of the source / groups, kernel).
    """
    if target is None or weight is None:
        return None
    return math.prod(target) * math.prod(weight[1:])


def transposed_work(source: Shape, weight: Shape) -> int | None:
    """Count those of a transposed convolution: for every element of its source, a kernel over the features of a group.

    Parameters
    ----------
    source : sequence of int or None
        Shape of what it reads.
    weight : sequence of int or None
        Shape of its weights: (features of the source, features / groups, kernel).
    """
    return conv_work(source, weight)


def dense_work(target: Shape, summed: int | None) -> int | None:
    """Count those of a product of matrices: for every element of the result, the axis that is summed over.

    Parameters
    ----------
    target : sequence of int or None
        Shape of the result.
    summed : int or None
        Length of that axis.
    """
    return None if target is None or summed is None else math.prod(target) * summed
