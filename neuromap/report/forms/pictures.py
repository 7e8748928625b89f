"""The two pictures of a row, chip map and link load: for the HTML page, and as files of their own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from neuromap.files.whole_file import write_all
from neuromap.forms.standalone_svg import standalone
from neuromap.report.drawings.draw_chip import draw_chip
from neuromap.report.drawings.draw_links import draw_links
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow
from neuromap.report.forms.picture_folder import check_picture_folder, picture_folder

__all__ = ["RowPictures", "draw_row", "picture_files", "save_pictures"]


class RowPictures(NamedTuple):
    """Pictures of one row, each an ``<svg>`` element.

    Attributes
    ----------
    chip : str
        The cores in use, by node.
    links : str
        The most spikes in a tick, link by link.
    """

    chip: str
    links: str


def draw_row(row: ReportRow, heading: str = "") -> RowPictures | None:
    """Draw a row.

    Parameters
    ----------
    row : ReportRow
        The row.
    heading : str
        What the pictures are of, where they stand alone.

    Returns
    -------
    RowPictures or None
        ``None`` where nothing was mapped.
    """
    if row.cores is None or row.activity is None:
        return None
    chip, links = (f"{heading}: {what}" if heading else "" for what in ("cores in use by node", "load of links"))
    return RowPictures(draw_chip(row.cores, chip), draw_links(row.cores, row.activity.traffic.peak_loads, links))


def picture_files(report: LatencyReport) -> dict[str, str]:
    """Make the pictures of all rows as files.

    Parameters
    ----------
    report : LatencyReport
        The report.

    Returns
    -------
    dict of str to str
        File names, ``PATTERN-EXECUTION-chip.svg`` and ``PATTERN-EXECUTION-links.svg``, and the SVG documents. What
        may not stand in a file name becomes a hyphen; names that are then equal, in whatever case, get the number of
        their row, or the next that is free.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()  # in one case, as some file systems know only one
    for number, row in enumerate(report.rows, start=1):
        drawn = draw_row(row, f"{report.network.name} on {report.chip.name}, {row.pattern}, {row.execution}")
        if drawn is None:
            continue
        stem = name = f"{_slug(row.pattern)}-{_slug(row.execution)}"
        while stem.casefold() in taken:
            stem = f"{name}-{number}"
            number += 1
        taken.add(stem.casefold())
        for what, picture in zip(RowPictures._fields, drawn, strict=True):
            found[f"{stem}-{what}.svg"] = standalone(picture)
    return found


def save_pictures(report: LatencyReport, folder: str | Path) -> list[Path]:
    """Write the pictures of all rows, all or none.

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
    place = check_picture_folder(folder)
    files = [(place / name, text) for name, text in picture_files(report).items()]
    with picture_folder(place, [path.name for path, _ in files]):
        write_all(files)
    return [path for path, _ in files]


def _slug(name: str) -> str:
    """Make a part of a file name: letters and digits of any script, else hyphens; at most 60 of them."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "pattern"
