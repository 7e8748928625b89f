"""Optimisers and the learning rate of every step."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import nn

from neuromap.training.asked.training_options import TrainingOptions

__all__ = ["learning_rate", "make_optimiser"]


def make_optimiser(parameters: Iterable[nn.Parameter], options: TrainingOptions) -> torch.optim.Optimizer:
    """Make the optimiser that is asked for; RMSprop has the constants of the paper's framework (0.9, 1e-7)."""
    rate = options.learning_rate
    if options.optimiser == "rmsprop":
        return torch.optim.RMSprop(parameters, rate, alpha=0.9, eps=1e-7)
    if options.optimiser == "adam":
        return torch.optim.Adam(parameters, rate)
    return torch.optim.SGD(parameters, rate)


def learning_rate(options: TrainingOptions, step: int, steps: int) -> float:
    """Give the learning rate of a step."""
    if options.schedule == "cosine":
        return options.learning_rate * 0.5 * (1 + math.cos(math.pi * step / steps))
    return options.learning_rate / (1 + options.decay * step)
