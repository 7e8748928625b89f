"""How fast routers are, in router cycles, and in seconds where the chip file says it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.chip.router_cycles import MAX_ROUTER_CYCLES, router_cycles

__all__ = ["RouterClock"]

_ROUNDING = 1e-9
"""Relative error of the figures' quotients that is no reason for another cycle."""


@dataclass(frozen=True)
class RouterClock:
    """Times of the mesh in router cycles: a link passes one spike per cycle.

    Attributes
    ----------
    cycle_seconds : float or None
        Length of a router cycle; ``None`` where the chip file lacks ``link_spikes_per_second`` or ``hop_seconds``.
    hop_cycles : int
        Cycles that a spike takes over a link between two routers, 1 or more; those between router and core take one.
    port_cycles : int or None
        Cycles in which the ports of a chip pass one spike; ``None`` where it is not known, then they pass any number.
    boundary_cycles : int or None
        Cycles that a spike takes over a link between two chips; ``None`` where it is not known, then as any other.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    cycle_seconds: float | None = None
    hop_cycles: int = 1
    port_cycles: int | None = None
    boundary_cycles: int | None = None

    def __post_init__(self) -> None:
        for name in ("hop_cycles", "port_cycles", "boundary_cycles"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= MAX_ROUTER_CYCLES:
                raise InputError(f"router clock: {name} = {value}; must be 1 to {MAX_ROUTER_CYCLES}")
        if self.cycle_seconds is not None and not 0 < self.cycle_seconds < math.inf:
            raise InputError(f"router clock: cycle_seconds = {self.cycle_seconds}; must be above 0 and finite")

    @classmethod
    def of(cls, chip: ChipSpec) -> Self:
        """Clock of a chip.

        Times are rounded up to whole cycles, so that arrivals in seconds are never too early.

        Parameters
        ----------
        chip : ChipSpec
            ``router`` is used: ``link_spikes_per_second`` and ``hop_seconds``; without both of them times are in
            cycles only, with a hop of one cycle. With them also ``boundary_spikes_per_second`` (of all ports of a chip
            together) and ``boundary_seconds``.

        Returns
        -------
        RouterClock

        Raises
        ------
        InputError
            If one of the figures is that of more cycles than a clock may have.
        """
        cycles = {key: _whole(value) for key, value in router_cycles(chip.router).items()}
        if not cycles:
            return cls()
        return cls(
            cycle_seconds=1.0 / chip.router["link_spikes_per_second"],
            hop_cycles=cycles["hop_seconds"],
            port_cycles=cycles.get("boundary_spikes_per_second"),
            boundary_cycles=cycles.get("boundary_seconds"),
        )

    @property
    def crossing_cycles(self) -> int:
        """Cycles that a spike takes over a link between two chips."""
        return self.hop_cycles if self.boundary_cycles is None else self.boundary_cycles

    def seconds(self, cycles: int) -> float | None:
        """Give cycles as seconds, ``None`` where the length of a cycle is not known."""
        return None if self.cycle_seconds is None else cycles * self.cycle_seconds


def _whole(cycles: float) -> int:
    # what is far out of range, or infinite, is refused all the same, and an infinite number has no ceiling
    return max(1, math.ceil(min(cycles, 2.0 * MAX_ROUTER_CYCLES) * (1 - _ROUNDING)))
