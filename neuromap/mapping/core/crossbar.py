"""The figures of a crossbar core: axons of few types, neurons with one weight per type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

__all__ = ["AMPLE", "Crossbar"]

AMPLE = 2**20
"""Axons of the imagined core on which a demand is counted."""
WIDE = 63
"""Potential bits of the imagined core that has no rails."""


@dataclass(frozen=True)
class Crossbar:
    """What a crossbar core has room for."""

    name: str  # name of the chip, for messages
    # axons, neurons, axon_types: of the core
    axons: int
    neurons: int
    axon_types: int
    weight_range: tuple[int, int]  # least and greatest weight of one axon type
    leak_limit: int  # greatest amount that a leak can take away in a tick
    # greatest threshold of the chip under which a neuron that is silent is left with nothing: 1, or 0 where the chip
    # has no threshold 1 (docs/mapping.md)
    highest_alpha: int
    potential_bits: int  # width of the potential, the sign included (two's complement)

    @property
    def highest_potential(self) -> int:
        """Upper rail of the potential; the lower one reaches one farther."""
        return int(2 ** (self.potential_bits - 1)) - 1

    @property
    def free_threshold(self) -> int:
        """Greatest theta that a neuron holds without bias axons."""
        return self.leak_limit + self.highest_alpha

    def with_neurons(self, neurons: int) -> Self:
        """Return the same core with so many neurons."""
        return replace(self, neurons=neurons)

    def with_ample_axons(self) -> Self:
        """Return the same core with as many axons as one could wish for: ``AMPLE``."""
        return replace(self, axons=AMPLE)

    def without_rails(self) -> Self:
        """Return the same core with a potential that holds every sum."""
        return replace(self, potential_bits=WIDE)

    def with_axon_types(self, axon_types: int) -> Self:
        """Return the same core with so many axon types."""
        return replace(self, axon_types=axon_types)
