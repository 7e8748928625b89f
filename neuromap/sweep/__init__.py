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
    "load_sweep": "spec_file",
    "runs_over": "grouped_runs",
    "sweep_mappings": "map_each",
}

FORMS = {
    "ChipSweep": {
        "csv": "csv_sweep.to_csv",
        "dict": "json_sweep.to_dict",
        "html": "text.to_html",
        "json": "json_sweep.to_json",
        "notebook": "text.to_notebook",
        "text": "text.render_text",
    },
    "RunTable": {
        "csv": "parquet_runs.to_csv",
        "dict": "parquet_runs.to_dict",
        "json": "parquet_runs.to_json",
        "parquet": "parquet_runs.to_parquet",
        "text": "grouped_runs.render_text",
    },
    "RunsOver": {
        "svg": "draw_runs.to_svg",
        "text": "grouped_runs.render_over",
    },
}

if TYPE_CHECKING:
    from neuromap.sweep.chip_sweep import ChipSweep as ChipSweep
    from neuromap.sweep.chip_sweep import SweepRow as SweepRow
    from neuromap.sweep.grouped_runs import runs_over as runs_over
    from neuromap.sweep.map_each import sweep_mappings as sweep_mappings
    from neuromap.sweep.run_table import RunTable as RunTable
    from neuromap.sweep.run_table import load_runs as load_runs
    from neuromap.sweep.spec_file import load_sweep as load_sweep
    from neuromap.sweep.sweep_spec import SweepSpec as SweepSpec

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
