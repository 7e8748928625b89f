"""Functions of single elements that are computed as the frameworks compute them, and whether they rise or fall.

Arrays are float32 or float64, and so are results. Constants are arrays that fit their tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.read_only_mapping import ReadOnlyMapping

Array = NDArray[Any]


def _rising(*_: Array) -> int:
    return 1


def _falling(*_: Array) -> int:
    return -1


def _by_sign(factor: Array, *_: Array) -> Array:
    return np.sign(factor)


def _normalised(x: Array, mean: Array, variance: Array, scale: Array, shift: Array, epsilon: Array) -> Array:
    """Normalise a batch with kept means and variances, in the order in which PyTorch computes it."""
    one = x.dtype.type
    factor = (scale / np.sqrt(variance + epsilon.astype(x.dtype))).astype(x.dtype)
    result: Array = x * factor + (shift - mean * factor).astype(one)
    return result


def _normal_slope(mean: Array, variance: Array, scale: Array, shift: Array, epsilon: Array) -> Array:
    del mean, variance, shift, epsilon
    return np.sign(scale)


def _float(found: Array, like: Array) -> Array:
    return found.astype(like.dtype)


@dataclass(frozen=True)
class PointFunction:
    """A function of single elements."""

    compute: Callable[..., Array]  # of an array and constants
    # of the constants: 1 where it never falls, -1 where it never rises, 0 where it is constant; a number or an array
    slope: Callable[..., Any]
    linear: bool = False  # whether it only scales and shifts


FUNCTIONS: Mapping[str, PointFunction] = ReadOnlyMapping(
    {
        "same": PointFunction(lambda x: x, _rising, linear=True),
        "negative": PointFunction(lambda x: -x, _falling, linear=True),
        "plus": PointFunction(lambda x, c: x + c, _rising, linear=True),
        "minus": PointFunction(lambda x, c: x - c, _rising, linear=True),
        "from": PointFunction(lambda x, c: c - x, _falling, linear=True),
        "times": PointFunction(lambda x, c: x * c, _by_sign, linear=True),
        "divided_by": PointFunction(lambda x, c: x / c, _by_sign, linear=True),
        "batch_norm": PointFunction(_normalised, _normal_slope, linear=True),
        "greater": PointFunction(lambda x, c: _float(x > c, x), _rising),
        "greater_or_equal": PointFunction(lambda x, c: _float(x >= c, x), _rising),
        "less": PointFunction(lambda x, c: _float(x < c, x), _falling),
        "less_or_equal": PointFunction(lambda x, c: _float(x <= c, x), _falling),
        "not": PointFunction(lambda x: _float(x == 0, x), _falling),
        "where": PointFunction(
            lambda x, yes, no: np.where(x != 0, yes, no).astype(x.dtype), lambda a, b: np.sign(a - b)
        ),
        "sign": PointFunction(np.sign, _rising),
        "heaviside": PointFunction(lambda x, at: np.heaviside(x, at).astype(x.dtype), _rising),
        "relu": PointFunction(lambda x: np.maximum(x, 0), _rising),
        "clip": PointFunction(lambda x, low, high: np.clip(x, low, high), _rising),
        "floor": PointFunction(np.floor, _rising),
        "ceil": PointFunction(np.ceil, _rising),
        "round": PointFunction(np.round, _rising),
        "truncate": PointFunction(np.trunc, _rising),
        "sigmoid": PointFunction(lambda x: 1 / (1 + np.exp(-x)), _rising),
        "tanh": PointFunction(np.tanh, _rising),
    }
)
"""By the name that operators give them. Truth values are 0 and 1; ``where`` takes them."""
