"""Where the weights of a conv or dense edge come from: an array at hand, or a seed.

Tensor layouts, rows and columns counted from the top left, neurons row-major over (row, column, feature):

- conv: ``(kernel rows, kernel columns, source features / groups, target features)``;
- dense: ``(n_target, n_source)``;
- dense with groups > 1: ``(groups, n_target / groups, n_source / groups)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import adopted
from neuromap.errors import NetworkError
from neuromap.files.messages import show
from neuromap.forms.card import Card
from neuromap.network.transforms.limits import as_integers, show_shape

__all__ = ["MAX_SEED", "MAX_VALUES", "SeededWeights", "StoredWeights", "WeightSource", "as_weight_source"]

MAX_SEED = 2**63 - 1
"""Greatest seed: the greatest integer that every TOML reader takes."""

MAX_VALUES = 2**16
"""Most values that seeded weights may be drawn from."""


_CHUNK = 2**20


class WeightSource(Protocol):
    """Gives the weight tensor of an edge."""

    def tensor(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Give the tensor of this shape, in the layout of its transform."""


@dataclass(frozen=True, eq=False)
class StoredWeights(Card):
    """Weights that are at hand."""

    array: NDArray[np.int64]  # read-only, in the layout of its transform; made from any integer array

    def __post_init__(self) -> None:
        object.__setattr__(self, "array", as_integers(self.array, "weights"))

    def tensor(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Give the array, if it has this shape."""
        if self.array.shape != shape:
            raise NetworkError(
                f"weights: found shape {show_shape(self.array.shape)}; the transform takes {show_shape(shape)}"
            )
        return self.array


@dataclass(frozen=True)
class SeededWeights(Card):
    """Weights drawn from a list of values, the same on every machine and for every NumPy version.

    The generator is Philox 4x64 with ten rounds (Salmon et al., SC 2011), key = ``seed``, as NumPy's
    ``Philox(key=seed)``: it counts from 1. Its n-th raw 64-bit output r gives the n-th weight in C order of
    the tensor: ``values[((r >> 32) * len(values)) >> 32]``. NumPy keeps the raw streams of its generators.

    Attributes
    ----------
    seed : int
        0 to 2**63 - 1. Two edges with one seed start alike.
    values : tuple of int
        Drawn with equal odds; a value given twice comes twice as often.

    Raises
    ------
    NetworkError
        If seed or values are out of range or not integers.
    """

    seed: int
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        seed: Any = self.seed
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= MAX_SEED:
            raise NetworkError(f"seed: found {show(seed)}; allowed are the integers 0 to 2**63 - 1")
        values = as_integers(self.values, "values")
        if values.ndim != 1 or not 1 <= len(values) <= MAX_VALUES:
            raise NetworkError(
                f"values: found shape {show_shape(values.shape)}; allowed is a list of 1 to {MAX_VALUES} integers"
            )
        object.__setattr__(self, "seed", int(seed))
        object.__setattr__(self, "values", tuple(values.tolist()))

    def tensor(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Draw the tensor of this shape."""
        values = np.array(self.values, dtype=np.int64)
        generator = np.random.Philox(key=self.seed)
        tensor = np.empty(math.prod(shape), dtype=np.int64)
        for start in range(0, tensor.size, _CHUNK):
            raw = generator.random_raw(min(_CHUNK, tensor.size - start))
            index = ((raw >> np.uint64(32)) * np.uint64(len(values))) >> np.uint64(32)
            tensor[start : start + _CHUNK] = values[index]
        return adopted(tensor.reshape(shape))


def as_weight_source(weights: Any) -> WeightSource | None:
    """Take ``None``, a source of weights, or an integer array as what a transform holds."""
    if weights is None or isinstance(weights, SeededWeights | StoredWeights):
        return weights
    return StoredWeights(weights)
