"""Sums held against what they usually are: normalised while training, folded into thresholds afterwards."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["folded", "normalised", "running", "within"]

_MOMENTUM = 0.02
"""Share of a batch in the running mean and variance of sums: they are those of the last fifty batches."""
_SMALLEST_VARIANCE = 0.01


def normalised(sums: Tensor, mean: Tensor, variance: Tensor, offset: Tensor) -> Tensor:
    """Give (s - mean) / deviation + offset, by the mean and variance of these sums; running ones take them in."""
    # shapes: sums (..., n)
    rows = sums.reshape(-1, offset.numel())
    several = len(rows) > 1  # one row, as of a batch of one image, has no variance: it is held against the running one
    found = functional.batch_norm(
        rows, mean.view(-1), variance.view(-1), None, offset.view(-1), several, _MOMENTUM, _SMALLEST_VARIANCE
    )
    return found.view_as(sums)


def folded(mean: Tensor, variance: Tensor, offset: Tensor) -> Tensor:
    """Give the threshold that a sum reaches iff its normalised value is 0 or more, as float64."""
    # (s - mean) / deviation + offset >= 0 iff s >= mean - offset * deviation.
    return mean.detach().double() - offset.detach().double() * _deviation(variance)


def within(mean: Tensor, variance: Tensor, offset: Tensor, thresholds: tuple[int, int]) -> None:
    """Move an offset, in place, to where the integer threshold of :func:`folded` is between two bounds."""
    low, high = thresholds  # halves below them: rounding cannot carry a threshold over a bound
    least, most = ((mean.detach().double() - (bound - 0.5)) / _deviation(variance) for bound in (high, low))
    offset.data.copy_(offset.detach().double().clamp(least, most))


def _deviation(variance: Tensor) -> Tensor:
    return (variance.detach().double() + _SMALLEST_VARIANCE).sqrt()


def running(shape: tuple[int, ...]) -> tuple[nn.Parameter, nn.Parameter]:
    """Give the running mean and variance with which training begins; no optimiser changes them."""
    return nn.Parameter(torch.zeros(shape), requires_grad=False), nn.Parameter(torch.ones(shape), requires_grad=False)
