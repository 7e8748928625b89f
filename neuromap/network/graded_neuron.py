"""Graded neurons: quantised units that send integers, as quantised networks define them (``docs/graded.md``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.network.spiking_neuron import IntegerNeuron

Ints = NDArray[np.int64]
PAYLOAD = 2**24 - 1
"""Greatest magnitude of a value: sums of them times weights stay inside 64 bits."""
GREATEST_SUM = 2**31 - 1
"""Greatest magnitude of a sum: times any multiplier it stays inside 64 bits."""


@dataclass(frozen=True, eq=False)
class GradedNeuron(IntegerNeuron):
    r"""Integer neurons without memory that send values: quantised ReLU, saturating and linear units.

    In every frame i >= 1 a neuron's value is, in exact integers::

        total = sum over edges e of W_e x[i - R(e)] + bias
        x[i]  = clip(round(total * multiplier / 2**shift), low, high)

    where ``round`` takes the nearest integer, and of two the even one, as quantised ONNX and PyTorch operators do. With
    ``maximum = 1`` the total is the greatest product of a weight and a value over the neuron's synapses instead. A
    value of 0 is silence: nothing is sent. Values are counted from the zero point: a quantised graph's q is x +
    ``zero_point``, so padding and silence are both 0.

    Parameters
    ----------
    low, high : int
        Bounds of values, -(2**24 - 1) to 0 and 0 to 2**24 - 1: low = 0 is a ReLU.
    multiplier, shift : array_like of int, shape () or (size,)
        0 to 2**31 - 1 and 0 to 62: by how much a sum shrinks.
    bias : array_like of int, shape () or (size,)
        Added to the sum in frames i >= 1, in units of the sum.
    maximum : int
        1 where the greatest input counts in place of the sum (max pooling); such a node has no bias.
    zero_point : int
        What the quantised graph calls a value of 0; the network's arithmetic does not depend on it.
    scale : float, optional
        What a value of 1 stands for, a positive number; ``None``: unknown. Nothing computed depends on it.

    Raises
    ------
    NetworkError
        If a value is no integer or out of range, or a node takes the greatest input and has a bias.
    """

    model: ClassVar[str] = "graded"
    parameters: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping(
        {"multiplier": (0, 2**31 - 1), "shift": (0, 62), "bias": (-GREATEST_SUM, GREATEST_SUM)}
    )
    settings: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping(
        {"low": (-PAYLOAD, 0), "high": (0, PAYLOAD), "maximum": (0, 1), "zero_point": (-PAYLOAD, PAYLOAD)}
    )
    options: ClassVar[Mapping[str, int]] = ReadOnlyMapping(
        {"multiplier": 1, "shift": 0, "bias": 0, "maximum": 0, "zero_point": 0}
    )

    low: int
    high: int
    multiplier: Ints = 1  # type: ignore[assignment] # single numbers become arrays
    shift: Ints = 0  # type: ignore[assignment]
    bias: Ints = 0  # type: ignore[assignment]
    maximum: int = 0
    zero_point: int = 0
    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.maximum and self.bias.any():
            raise NetworkError("neuron: bias: a node that takes the greatest input has none; leave it out")
        if self.scale is not None:
            scale: object = self.scale
            if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf:
                raise NetworkError(f"neuron: scale: found {scale!r:.60}; allowed is a positive number")
            object.__setattr__(self, "scale", float(scale))

    @property
    def value_range(self) -> tuple[int, int]:
        """Least and greatest value."""
        return self.low, self.high

    def of_features(self, shape: tuple[int, int, int] | None) -> Self:
        """Give every neuron of a node the values of its feature, where there is one value for each."""
        if shape is None:
            return self
        size, features = math.prod(shape), shape[2]
        every = {
            name: np.tile(array, size // features)
            for name, array in self.arrays.items()
            if array.shape == (features,) and features != size
        }
        return self.with_arrays(every) if every else self

    def respond(self, total: Ints) -> Ints:
        """Compute values from sums that hold the bias already: the one definition of rounding.

        Parameters
        ----------
        total : ndarray of int64, shape (..., size)
            Of magnitude below 2**31.

        Returns
        -------
        ndarray of int64, shape (..., size)
        """
        return rounded(total, self.multiplier, self.shift).clip(self.low, self.high)

    def _facts(self) -> dict[str, object]:
        return super()._facts() | ({} if self.scale is None else {"scale": self.scale})


def rounded(total: Ints, multiplier: Ints, shift: Ints) -> Ints:
    """Give total * multiplier / 2**shift as the nearest integer, of two the even one."""
    product = total * multiplier
    whole = product >> shift
    left, half = product - (whole << shift), (np.int64(1) << shift) >> 1
    up = (left > half) | ((left == half) & (half > 0) & (whole & 1 > 0))
    nearest: Ints = whole + up
    return nearest


def require_exact(node: str, sums: NDArray[Any], bound: int = GREATEST_SUM) -> None:
    """Refuse sums that are not computed exactly."""
    if (greatest := int(np.abs(sums).max(initial=0))) > bound:
        raise NetworkError(
            f"node {node}: a sum of {greatest} is reached; at most {GREATEST_SUM} (31 bits) are exact, scale its "
            "weights and multiplier down alike"
        )
