"""Array types by element type; shapes are given where arrays are declared."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
# 64-bit words.
Words: TypeAlias = NDArray[np.uint64]
