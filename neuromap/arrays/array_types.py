"""Types of arrays by their elements; shapes stand beside what has them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
# Words of bits.
Words: TypeAlias = NDArray[np.uint64]
