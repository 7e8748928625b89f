"""Values from the host as spikes on lines: as many as the value is long, and some more where it is 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value

__all__ = ["LineCode"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LineCode(Value):
    """The code of m values; a :class:`~neuromap.backends.nengo.plan.chip_network.ValueCode`."""

    rest: int  # spikes at the value 0
    lines: Ints  # (m,): lines of each value
    # (ticks, m): spikes of the first ticks that links have not brought yet, which the host sends in their place
    missing: Floats
    bias_axons: int  # lines behind all others that spike in every tick

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def lowest(self) -> Ints:
        """Least numbers, shape (m,)."""
        return np.full(len(self.lines), -self.rest)

    @property
    def highest(self) -> Ints:
        """Greatest numbers, shape (m,)."""
        return self.lines - self.rest

    def extra(self, tick: int) -> Floats:
        """Spikes that a tick adds, shape (m,)."""
        return self.missing[tick] if tick < len(self.missing) else np.zeros(len(self.lines))

    def size(self, n_values: int) -> int:
        """All lines."""
        return int(self.lines.sum()) + self.bias_axons

    def spikes(self, numbers: Ints) -> NDArray[np.bool_]:
        """Say which lines spike: of each value the first ones."""
        wanted = numbers + self.rest
        values = [np.arange(lines) < n for lines, n in zip(self.lines, wanted, strict=True)]
        return np.concatenate([*values, np.ones(self.bias_axons, np.bool_)])
