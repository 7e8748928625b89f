"""How fast routers are, in router cycles, and in seconds where the chip file says it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from neuromap.errors import InputError
from neuromap.hardware.chip import ChipSpec

__all__ = ["RouterClock"]

_MOST_CYCLES = 2**31
"""Of a hop, a port or a boundary; sums of them over a board stay inside 64 bits."""
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
            if value is not None and not 1 <= value <= _MOST_CYCLES:
                raise InputError(f"router clock: {name} = {value}; must be 1 to {_MOST_CYCLES}")
        if self.cycle_seconds is not None and not self.cycle_seconds > 0:
            raise InputError(f"router clock: cycle_seconds = {self.cycle_seconds}; must be above 0")

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
        figures = chip.router
        rate, hop = figures.get("link_spikes_per_second"), figures.get("hop_seconds")
        if not rate or hop is None:
            return cls()
        port, boundary = figures.get("boundary_spikes_per_second"), figures.get("boundary_seconds")
        return cls(
            cycle_seconds=1.0 / rate,
            hop_cycles=_whole(hop * rate),
            port_cycles=_whole(rate / port) if port else None,
            boundary_cycles=None if boundary is None else _whole(boundary * rate),
        )

    @property
    def crossing_cycles(self) -> int:
        """Cycles that a spike takes over a link between two chips."""
        return self.hop_cycles if self.boundary_cycles is None else self.boundary_cycles

    def seconds(self, cycles: int) -> float | None:
        """Give cycles as seconds, ``None`` where the length of a cycle is not known."""
        return None if self.cycle_seconds is None else cycles * self.cycle_seconds


def _whole(cycles: float) -> int:
    return max(1, math.ceil(cycles * (1 - _ROUNDING)))
