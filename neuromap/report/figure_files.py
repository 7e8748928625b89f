"""All figures of a report: for the page, and as files of their own, SVG and PDF."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from neuromap.files.whole_file import write_all
from neuromap.forms.formed import form
from neuromap.forms.pdf import with_pdf
from neuromap.forms.standalone_svg import standalone
from neuromap.report.drawings.draw_accuracy import draw_accuracy
from neuromap.report.drawings.draw_chip import draw_chip
from neuromap.report.drawings.draw_links import draw_links
from neuromap.report.drawings.draw_network import draw_network
from neuromap.report.drawings.draw_overview import draw_overview
from neuromap.report.drawings.draw_raster import draw_raster
from neuromap.report.drawings.draw_shade import CoreFigure, draw_shade
from neuromap.report.drawings.draw_timeline import draw_timeline
from neuromap.report.drawings.draw_window import draw_window
from neuromap.report.figure_folder import KINDS, check_figure_folder, figure_folder
from neuromap.report.figures.core_map import CoreMap
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.figures.spike_raster import SpikeRaster
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["MOST_EDGES", "WINDOW", "RowFigures", "draw_row", "figure_files", "row_pattern", "save_figures"]

MOST_EDGES = 150
"""Networks with more edges are not drawn: nobody could read it."""
WINDOW = 3
"""Size of the rollout window that is drawn."""


class RowFigures(NamedTuple):
    """What is drawn of the chip in one row, each an ``<svg>`` element."""

    chip: str  # the cores in use, by node
    # neurons, copies, spikes: the same, by a figure of each core; the spikes are of the raster
    neurons: str
    copies: str
    spikes: str
    links: str  # the most spikes in a tick, link by link
    raster: str  # spikes of the first ticks


def draw_row(row: ReportRow, heading: str = "") -> RowFigures | None:
    """Draw what a row does on the chip."""
    # gives ``None`` where nothing was mapped
    if row.cores is None or row.activity is None or row.raster is None:
        return None

    def head(what: str) -> str:
        return f"{heading}: {what}" if heading else ""

    cores = row.cores
    neurons, copies, spikes = (
        draw_shade(cores, figure, head(f"cores by {figure.name}")) for figure in _core_figures(cores, row.raster)
    )
    return RowFigures(
        draw_chip(cores, head("cores in use by node")),
        neurons,
        copies,
        spikes,
        draw_links(cores, row.activity.traffic.peak_loads, head("load of links")),
        draw_raster(row.raster, head("spikes over ticks")),
    )


def _core_figures(cores: CoreMap, raster: SpikeRaster) -> Iterator[CoreFigure]:
    yield CoreFigure("neurons in use", 100 * cores.neurons / cores.places, " %", f"of {cores.places} of a core")
    yield CoreFigure("neurons with copies", cores.copied, "", "on this core or others")
    ticks = max(1, raster.n_ticks)
    yield CoreFigure("spikes per tick", raster.core_spikes / ticks, "", f"mean over the first {ticks} ticks")


def row_pattern(report: LatencyReport, row: ReportRow) -> RolloutPattern:
    """Give the pattern of a row of a report."""
    return RolloutPattern.from_streaming_edges(
        report.network, row.streaming_edges, row.pattern, bridging=dict(row.bridging_edges)
    )


def figure_files(report: LatencyReport) -> dict[str, str]:
    """Make all figures of a report as SVG files."""
    found = {
        "overview.svg": draw_overview(report, f"{report.network.name} on {report.chip.name}"),
        "accuracy.svg": draw_accuracy(report),
        "faults.svg": None if report.faults is None else str(form(report.faults, "drawing")),
    }
    drawn: dict[tuple[object, ...], None] = {}
    names = _Names(found)
    can_be_drawn = len(report.network.edges) <= MOST_EDGES
    for number, row in enumerate(report.rows, start=1):
        key = (row.pattern, row.streaming_edges, row.bridging_edges)
        if can_be_drawn and key not in drawn:
            drawn[key] = None
            found |= names.of(_slug(row.pattern), number, _pattern_figures(report, row))
        figures = draw_row(row, f"{report.network.name} on {report.chip.name}, {row.pattern}, {row.execution}")
        kinds = {} if figures is None else dict(figures._asdict())
        if can_be_drawn and not report.network.is_spiking and row.status == "mapped":
            kinds["timeline"] = draw_timeline(row, report.chip.tick_seconds)
        found |= names.of(f"{_slug(row.pattern)}-{_slug(row.execution)}", number, kinds)
    return {name: standalone(picture) for name, picture in found.items() if picture is not None}


def _pattern_figures(report: LatencyReport, row: ReportRow) -> dict[str, str | None]:
    pattern = row_pattern(report, row)
    has_window = pattern.is_valid and not report.network.is_spiking
    return {
        "network": draw_network(report.network, pattern),
        "window": draw_window(report.network, pattern, WINDOW) if has_window else None,
    }


class _Names:
    """File names that differ, also where a file system knows only one case."""

    def __init__(self, taken: Mapping[str, object]) -> None:
        self._taken = {name.casefold() for name in taken}

    def of(self, name: str, number: int, figures: Mapping[str, str | None]) -> dict[str, str | None]:
        stem = name
        while any(f"{stem}-{kind}.svg".casefold() in self._taken for kind in KINDS):
            stem = f"{name}-{number}"
            number += 1
        found = {f"{stem}-{kind}.svg": picture for kind, picture in figures.items()}
        self._taken |= {file.casefold() for file in found}
        return found


def save_figures(report: LatencyReport, folder: str | Path) -> list[Path]:
    """Write all figures of a report, all or none: as SVG, and as PDF where the extra ``pages`` is installed.

    Parameters
    ----------
    report : LatencyReport
        The report.
    folder : str or Path
        Where to; it is made if only its last part is missing.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        If the folder cannot be made, or a file cannot be written.
    """
    place = check_figure_folder(folder)
    files = [(place / name, content) for name, content in with_pdf(figure_files(report)).items()]
    with figure_folder(place, [path.name for path, _ in files]):
        write_all(files)
    return [path for path, _ in files]


def _slug(name: str) -> str:
    """Make a part of a file name: letters and digits of any script, else hyphens; at most 60 of them."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "pattern"
