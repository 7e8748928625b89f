"""Sweeps: what a network takes on every chip of several; and many runs, by their spec and in their store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "ChipSweep": "chip_sweep",
    "RunTable": "run_table",
    "SweepRow": "chip_sweep",
    "SweepSpec": "sweep_spec",
    "load_runs": "run_table",
    "load_sweep": "sweep_spec",
    "runs_over": "grouped_runs",
    "sweep_mappings": "map_each",
}

if TYPE_CHECKING:
    from neuromap.sweep.chip_sweep import ChipSweep as ChipSweep
    from neuromap.sweep.chip_sweep import SweepRow as SweepRow
    from neuromap.sweep.grouped_runs import runs_over as runs_over
    from neuromap.sweep.map_each import sweep_mappings as sweep_mappings
    from neuromap.sweep.run_table import RunTable as RunTable
    from neuromap.sweep.run_table import load_runs as load_runs
    from neuromap.sweep.sweep_spec import SweepSpec as SweepSpec
    from neuromap.sweep.sweep_spec import load_sweep as load_sweep

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
