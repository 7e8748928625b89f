"""A sweep as CSV: one line per row; columns name their units."""

from __future__ import annotations

from neuromap.forms.documents import csv_text
from neuromap.hardware.chip.chip_file import figure_text
from neuromap.sweep.chip_sweep import ChipSweep


def to_csv(sweep: ChipSweep) -> str:
    """Write a sweep as CSV (RFC 4180)."""
    return csv_text(
        [
            {
                **dict(zip(sweep.parameters, map(figure_text, row.values), strict=True)),
                **dict(zip(sweep.label_titles, row.labels, strict=True)),
                "fits": row.fits,
                "reason": row.reason,
                **sweep.documented(row),
            }
            for row in sweep.rows
        ]
    )
