"""Sources of neurons that lie in several groups of channels, from those of one group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["shared_out"]

Ints = NDArray[np.int64]


def shared_out(of_positions: Ints, features: int, groups: int) -> Ints:
    """Share n neurons out among groups that have no source in common, in the best way."""
    # of_positions: sources that p neurons of one feature read at least, in any group
    # features: features of a group, at most; n of its neurons lie at n / features positions or more
    # gives sources that n neurons read at least
    # shapes: of_positions (m + 1,); returns (m + 1,)
    n = np.arange(len(of_positions))
    least: Ints = np.maximum.accumulate(of_positions[-(-n // features)])
    if groups > 1:
        for k in range(2, len(least)):
            least[k] = min(int(least[k]), int((least[1:k] + least[k - 1 : 0 : -1]).min()))
    return least
