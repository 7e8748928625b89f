"""Steps that gradients pass: rounded weights and firing neurons.

Rounding has the derivative 0 almost everywhere, so training keeps a real-valued *latent* weight, uses the rounded one,
and takes the gradient of the rounded one for that of the latent one (Bengio, Léonard, Courville 2013): straight
through. A neuron that fires or not has a triangle around its threshold instead of a derivative, a surrogate gradient
(Esser et al. 2016, "Convolutional networks for fast, energy-efficient neuromorphic computing"): straight through, which
is 1 everywhere, would also move neurons whose sums are far from the threshold, where a small change changes no spike.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["fire", "rounded"]


class _Rounded(torch.autograd.Function):
    """Rounding whose gradient is that of no rounding."""

    @staticmethod
    def forward(ctx: Any, scaled: Tensor) -> Tensor:
        del ctx
        return torch.round(scaled)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        del ctx
        return gradients[0]


class _Fire(torch.autograd.Function):
    """1 where a distance from the threshold is 0 or more; its surrogate gradient is a triangle of half width 1."""

    @staticmethod
    def forward(ctx: Any, distance: Tensor) -> Tensor:
        ctx.save_for_backward(distance)
        return (distance >= 0).to(distance.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (distance,) = ctx.saved_tensors
        return gradients[0] * (1 - distance.abs()).clamp_(min=0)


def rounded(scaled: Tensor) -> Tensor:
    """Round to integers; gradients pass."""
    found: Tensor = _Rounded.apply(scaled)
    return found


def fire(distance: Tensor) -> Tensor:
    """Fire, 1 or 0, by the distance of sums from their thresholds in standard deviations of the sums."""
    found: Tensor = _Fire.apply(distance)
    return found
