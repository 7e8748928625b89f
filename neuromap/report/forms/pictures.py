"""The two pictures of a row, chip map and link load: for the HTML page, and as files of their own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from neuromap.errors import InputError
from neuromap.files.whole_file import write_all
from neuromap.forms.standalone_svg import standalone
from neuromap.report.drawings.draw_chip import draw_chip
from neuromap.report.drawings.draw_links import draw_links
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import ReportRow

__all__ = [
    "RowPictures",
    "check_no_picture",
    "check_picture_folder",
    "draw_row",
    "picture_files",
    "picture_folder",
    "save_pictures",
]

_ENDINGS = ("-chip.svg", "-links.svg")
"""Of all files that pictures are written to."""


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


@contextmanager
def picture_folder(folder: str | Path | None, names: Iterable[str] = ()) -> Iterator[None]:
    """Make a folder where it is missing, and take it away again with its pictures if what follows fails.

    Parameters
    ----------
    folder : str, Path or None
        ``None`` for none.
    names : iterable of str
        Of the pictures: a file that is written after them may fail.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    made = None
    if folder is not None and not (place := check_picture_folder(folder)).exists():
        try:
            place.mkdir()
        except OSError as error:
            raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from None
        made = place
    try:
        yield
    except BaseException:
        if made is not None:
            with suppress(OSError):  # what failed is to be heard of, and nothing else that lies there is touched
                for name in names:
                    (made / name).unlink(missing_ok=True)
                made.rmdir()
        raise


def check_picture_folder(folder: str | Path) -> Path:
    """Refuse what is no folder and cannot become one.

    Raises
    ------
    InputError
        If it is a file, or lies in a folder that does not exist.
    """
    place = Path(folder)
    try:
        if not str(folder):
            raise InputError(f"{str(folder)!r}: is no folder; give it a name")
        if "\0" in str(folder):
            raise InputError(f"{str(folder)!r}: is no folder (the name holds a null character)")
        if place.exists() and not place.is_dir():
            raise InputError(f"{folder}: is a file; give the name of a folder")
        if not place.exists() and not place.parent.is_dir():
            raise InputError(f"{folder}: cannot be made, folder {place.parent} does not exist; create it first")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: is no folder ({error})") from None
    return place


def check_no_picture(path: str | Path, folder: str | Path) -> None:
    """Refuse a file that a picture may be written over; asked before it is known which pictures there will be.

    Parameters
    ----------
    path : str or Path
        The file.
    folder : str or Path
        Where pictures are written to.

    Raises
    ------
    InputError
        If it lies in the folder and its name ends as those of pictures do.
    """
    try:
        place, pictures = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    except (OSError, ValueError):  # no path; whoever opens it says so
        return
    if place.parent == pictures and place.name.casefold().endswith(_ENDINGS):
        raise InputError(
            f"{path}: may be the name of a picture in {folder}; give a file in another folder, or one whose name ends "
            f"neither in {_ENDINGS[0]} nor in {_ENDINGS[1]}"
        )


def _slug(name: str) -> str:
    """Make a part of a file name: letters and digits of any script, else hyphens; at most 60 of them."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "pattern"
