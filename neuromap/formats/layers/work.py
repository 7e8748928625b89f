"""Multiply-accumulates of operators; additions, comparisons and functions count none."""

from __future__ import annotations

import math
from collections.abc import Sequence

Shape = Sequence[int] | None


def conv_work(target: Shape, weight: Shape) -> int | None:
    """Count those of a convolution: for every element of its target, a kernel over the features of a group."""
    # target: shape of what it makes, the batch first; ``None`` where it is not known, and so is the work
    if target is None or weight is None:
        return None
    return math.prod(target) * math.prod(weight[1:])


def transposed_work(source: Shape, weight: Shape) -> int | None:
    """Count those of a transposed convolution: for every element of its source."""
    # A kernel over the features of a group.
    return conv_work(source, weight)


def dense_work(target: Shape, summed: int | None) -> int | None:
    """Count those of a product of matrices: for every element of the result, the axis that is summed over."""
    return None if target is None or summed is None else math.prod(target) * summed
