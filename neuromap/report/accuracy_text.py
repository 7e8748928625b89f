"""Accuracy over ticks, as cells and sentences for the table in the terminal and the HTML page."""

from __future__ import annotations

from bisect import bisect_right

from neuromap.accuracy.accuracy import Accuracy
from neuromap.report.figures.latency_report import LatencyReport

__all__ = ["accuracy_at", "accuracy_cells", "accuracy_line", "accuracy_ticks"]

_MOST_TICKS = 12


def accuracy_at(found: Accuracy, tick: int) -> float | None:
    """Give the accuracy of the last frame that is known at a tick since the onset; ``None`` before the first."""
    known = bisect_right([frame.tick for frame in found.frames], tick)
    return found.frames[known - 1].accuracy if known else None


def accuracy_ticks(report: LatencyReport) -> list[int]:
    """Choose the ticks of the table: the first at which any row is known, and those after it, while all rows go on."""
    found = [row.accuracy for row in report.rows if row.accuracy is not None]
    if not found:
        return []
    last = max(min(f.frames[-1].tick for f in found), max(f.frames[0].tick for f in found))
    ticks = sorted({frame.tick for f in found for frame in f.frames if frame.tick <= last})
    return ticks[:_MOST_TICKS]


def accuracy_cells(report: LatencyReport) -> list[list[str]]:
    """Write pattern, execution, and the accuracy at every tick of :func:`accuracy_ticks`, for rows that have one."""
    ticks = accuracy_ticks(report)
    return [
        [row.pattern, row.execution, *(_shown(accuracy_at(row.accuracy, tick)) for tick in ticks)]
        for row in report.rows
        if row.accuracy is not None
    ]


def accuracy_line(report: LatencyReport) -> str | None:
    """Say what the table holds for; ``None`` where there is none."""
    found = next((row.accuracy for row in report.rows if row.accuracy is not None), None)
    if found is None:
        return None
    return (
        f"accuracy: fraction of {found.n_images:,} {found.part} images of {found.data} that the last frame of "
        f"{found.output} known at a tick names rightly, alone; ticks since the onset of the image (-: no frame yet). "
        "The class with most spikes is named, the lowest of equals."
    )


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
