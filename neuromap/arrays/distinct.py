"""Numbers that occur, each once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distinct(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """List the different numbers, ascending."""
    # shapes: numbers (n,)
    ordered = np.sort(numbers)
    found: NDArray[np.int64] = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return found
