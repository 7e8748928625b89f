"""Kinds of weights that a chip's axons can hold, and how many axons of a core a source takes with each."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.forms.card import Card

__all__ = ["WEIGHT_KINDS", "WeightKind"]


@dataclass(frozen=True)
class WeightKind(Card):
    """Integers that the weights of an edge are trained to."""

    name: str  # as it is asked for
    axons: int  # axons of a core that a source takes, at most: k axons of k types give it the sums of k values
    # low, high: bounds of the latent weights
    low: float
    high: float
    levels: int  # the integer at the latent value 1


WEIGHT_KINDS = {
    "ternary": WeightKind("ternary", 2, -1.0, 1.0, 1),
    "sign-fixed": WeightKind("sign-fixed", 1, 0.0, 1.0, 1),
    "4-bit": WeightKind("4-bit", 4, -8 / 7, 1.0, 7),
}
"""``ternary``: -1, 0, 1. ``sign-fixed``: 0 or the sign of the source, 1 for even and -1 for odd features of its node.
``4-bit``: -8 to 7, the sums of -8, 4, 2 and 1."""
