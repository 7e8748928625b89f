"""Sweeps over figures of a chip: what a network takes on every chip of several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"ChipSweep": "chip_sweep", "SweepRow": "chip_sweep", "sweep_mappings": "map_each"}

if TYPE_CHECKING:
    from neuromap.sweep.chip_sweep import ChipSweep as ChipSweep
    from neuromap.sweep.chip_sweep import SweepRow as SweepRow
    from neuromap.sweep.map_each import sweep_mappings as sweep_mappings

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
