"""Weights of another layout than the transform's: refused when they are given, with the permutation that helps."""

from __future__ import annotations

from itertools import permutations

from neuromap.errors import NetworkError
from neuromap.network.transforms.limits import show_shape
from neuromap.network.transforms.weights import StoredWeights, WeightSource

__all__ = ["check_layout", "layout_hint"]

_LAYOUTS: dict[tuple[int, ...], str] = {
    (2, 3, 1, 0): "(out, in, height, width)",
    (1, 2, 3, 0): "(out, height, width, in)",
    (2, 3, 0, 1): "(in, out, height, width)",
    (0, 1, 3, 2): "(height, width, out, in)",
    (1, 0): "(n_source, n_target)",
    (0, 2, 1): "(groups, n_source, n_target)",
}
"""What other frameworks write, by the order of axes that makes it the layout of conv or dense; the likely first."""


def check_layout(weights: WeightSource | None, shape: tuple[int, ...]) -> None:
    """Refuse stored weights of another shape than their transform's."""
    if isinstance(weights, StoredWeights) and weights.array.shape != shape:
        found = weights.array.shape
        raise NetworkError(
            f"weights: found shape {show_shape(found)}; the transform takes {show_shape(shape)}"
            + layout_hint(found, shape)
        )


def layout_hint(found: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Say how weights become those of a transform, if another order of their axes is all that it takes."""
    # gives the end of a message; empty where no order of the axes gives the shape
    if sorted(found) != sorted(shape):
        return ""
    orders = [*_LAYOUTS, *permutations(range(len(shape)))]
    fits = (order for order in orders if len(order) == len(shape) and tuple(found[k] for k in order) == shape)
    order = next(fits)
    looks = f"this looks like {_LAYOUTS[order]}: " if order in _LAYOUTS else ""
    return f"; {looks}use weights.transpose({', '.join(map(str, order))})"
