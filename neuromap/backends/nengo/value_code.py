"""Values as spikes: integers, one spike for every bit that is set, so that a tick carries a whole value.

A value is rounded to n units, -2^12 <= n < 2^12, which is sent as n = low + 2^11 high: a spike for each of the 11 bits
of low, and for high, which is -2 to 1, spikes that are worth 2^10 or -2^10 each. The chip's weights reach no further
than 2^10 times the least one.
"""

from __future__ import annotations

import numpy as np

from neuromap.arrays.array_types import Bools, Floats, Ints

_LOW_BITS = 11
GREATEST_POWER = _LOW_BITS - 1
"""Power of 2 of the greatest weight, in units."""
LOWEST, HIGHEST = -(2 << _LOW_BITS), (2 << _LOW_BITS) - 1
"""Bounds of the integers."""
_UP, _DOWN = 2, 4
"""Spikes of the high part, upwards and downwards."""
CODE_SIZE = _LOW_BITS + _UP + _DOWN
"""Spikes that one value can take."""


class _Binary:
    """The code as a :class:`~neuromap.backends.nengo.crossbar_network.ValueCode`."""

    lowest, highest = np.asarray(LOWEST), np.asarray(HIGHEST)

    def extra(self, tick: int) -> Floats:
        return np.zeros(())

    def size(self, n_values: int) -> int:
        return n_values * CODE_SIZE

    def spikes(self, numbers: Ints) -> Bools:
        return as_spikes(numbers).reshape(-1)


BINARY = _Binary()
"""The code of chips with synapse lists."""


def unit_of(limit: Floats) -> Floats:
    """Give the unit in which values up to ``limit`` are sent."""
    return limit / -LOWEST


def code_weights() -> Ints:
    """Say what every spike of a value is worth in units, shape (CODE_SIZE,)."""
    half = 1 << (_LOW_BITS - 1)
    return np.concatenate([1 << np.arange(_LOW_BITS), np.full(_UP, half), np.full(_DOWN, -half)])


def as_spikes(values: Ints) -> Bools:
    """Say which spikes stand for integers between ``LOWEST`` and ``HIGHEST``."""
    # shapes: values (m,); returns (m, CODE_SIZE)
    bits = (values[:, None] >> np.arange(_LOW_BITS) & 1).astype(np.bool_)
    high = 2 * (values >> _LOW_BITS)[:, None]
    return np.concatenate([bits, np.arange(_UP) < high, np.arange(_DOWN) < -high], axis=1)
