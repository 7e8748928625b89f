"""All figures of a report, for the page and as separate files."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError
from neuromap.files.argument_checks import path_given
from neuromap.files.messages import counted
from neuromap.files.whole_file import write_all
from neuromap.render.numbers import ordinal
from neuromap.render.svg import PHONE, drawing, element, label, names_width, number, shorten, standalone, with_pdf
from neuromap.render.value import form
from neuromap.report.drawings.draw_accuracy import draw_accuracy
from neuromap.report.drawings.draw_chip import COLOURS, MOST_TOOLTIPS, BoardGrid, Key, board_grid, draw_chip, draw_links
from neuromap.report.drawings.draw_network import MOST_EDGES, draw_network, window_of
from neuromap.report.drawings.draw_timeline import draw_overview, draw_timeline
from neuromap.report.figures.latency_report import LatencyReport
from neuromap.report.figures.row import CoreMap, ReportRow, SpikeRaster
from neuromap.report.text import distinct_rows

# Kinds of figures of patterns and rows: endings of their file names.
KINDS = ("network", "window", "timeline", "chip", "neurons", "copies", "spikes", "links", "raster")
_ALONE = ("overview", "accuracy", "faults")
_SUFFIXES = (".svg", ".pdf")


@contextmanager
def figure_folder(folder: str | Path | None, names: Iterable[str] = ()) -> Iterator[None]:
    """Make a folder if it is missing, and remove it with its figures if the block fails."""
    # folder: ``None`` for none
    made = None
    if folder is not None and not (place := check_figure_folder(folder)).exists():
        try:
            place.mkdir()
        except OSError as error:
            raise InputError(f"{folder}: cannot be made ({error.strerror or error})") from None
        made = place
    try:
        yield
    except BaseException:
        if made is not None:
            with suppress(OSError):  # the first error is to be seen, and no other file there is touched
                for name in names:
                    (made / name).unlink(missing_ok=True)
                made.rmdir()
        raise


def check_figure_folder(folder: str | Path) -> Path:
    """Refuse a path that is not a folder and cannot become one."""
    place = path_given("save_figures", folder)
    try:
        if not str(folder):
            raise InputError(f"{str(folder)!r}: is not a folder; give it a name")
        if "\0" in str(folder):
            raise InputError(f"{str(folder)!r}: is not a folder (the name holds a null character)")
        if place.exists() and not place.is_dir():
            raise InputError(f"{folder}: is a file; give the name of a folder")
        if not place.exists() and not place.parent.is_dir():
            raise InputError(f"{folder}: cannot be made, folder {place.parent} does not exist; create it first")
    except (OSError, ValueError) as error:
        raise InputError(f"{folder}: is not a folder ({error})") from None
    return place


def check_no_figure(path: str | Path, folder: str | Path) -> None:
    """Refuse a file that a figure may overwrite; checked before it is known which figures there will be."""
    try:
        place, figures = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    except (OSError, ValueError):  # not a path; whoever opens it reports that
        return
    stem, suffix = place.stem.casefold(), place.suffix.casefold()
    may_be = suffix in _SUFFIXES and (stem in _ALONE or stem.endswith(tuple(f"-{kind}" for kind in KINDS)))
    if place.parent == figures and may_be:
        raise InputError(
            f"{path}: may be the name of a figure in {folder}; give a file in another folder, or one whose name ends "
            f"in another way than {place.name!r}"
        )


# All figures of a report, for the page and as separate files, SVG and PDF.


def draw_row(row: ReportRow, heading: str = "", *, narrow: bool = False) -> dict[str, str]:
    """Draw a row on the chip: an ``<svg>`` element for every kind of figure; none if nothing is mapped."""
    if row.cores is None or row.activity is None or row.raster is None:
        return {}

    def head(what: str) -> str:
        return f"{heading}: {what}" if heading else ""

    cores, sent = row.cores, "message" if row.verification is not None and row.verification.is_graded else "spike"
    ticks = max(1, row.raster.n_ticks)
    in_use, of_raster = 100 * cores.neurons / cores.places, row.raster.core_spikes / ticks
    shades = {
        "neurons": CoreFigure("neurons in use", in_use, " %", f"of {cores.places} of a core"),
        "copies": CoreFigure("neurons with copies", cores.copied, "", "on this core or others"),
        "spikes": CoreFigure(f"{sent}s per tick", of_raster, "", f"mean over the first {ticks} ticks"),
    }
    return {
        "chip": draw_chip(cores, head("cores in use by node"), narrow=narrow),
        **{
            kind: draw_shade(cores, figure, head(f"cores by {figure.name}"), narrow=narrow)
            for kind, figure in shades.items()
        },
        "links": draw_links(cores, row.activity.traffic.peak_loads, head("load of links"), sent=sent, narrow=narrow),
        "raster": draw_raster(row.raster, head(f"{sent}s over ticks"), sent=sent, narrow=narrow),
    }


def figure_files(report: LatencyReport) -> dict[str, str]:
    """Make all figures of a report as SVG files."""
    found = {
        "overview.svg": draw_overview(report, f"{report.network.name} on {report.chip.name}"),
        "accuracy.svg": draw_accuracy(distinct_rows(report)),
        "faults.svg": None if report.faults is None else str(form(report.faults, "drawing")),
    }
    drawn = set[tuple[object, ...]]()
    taken = {name.casefold() for name in found}
    can_be_drawn = len(report.network.edges) <= MOST_EDGES
    for place, row in enumerate(report.rows, start=1):
        key = (row.pattern, row.streaming_edges, row.bridging_edges)
        if can_be_drawn and key not in drawn:
            drawn.add(key)
            pattern = row.pattern_of(report.network)
            figures = {"network": draw_network(report.network, pattern), "window": window_of(pattern)}
            found |= _named(_slug(row.pattern), place, figures, taken)
        heading = f"{report.network.name} on {report.chip.name}, {row.pattern}, {row.execution}"
        kinds: dict[str, str | None] = {**draw_row(row, heading)}
        if can_be_drawn and not report.network.is_spiking and row.status == "mapped":
            kinds["timeline"] = draw_timeline(row, report.chip)
        found |= _named(f"{_slug(row.pattern)}-{_slug(row.execution)}", place, kinds, taken)
    return {name: standalone(picture) for name, picture in found.items() if picture is not None}


def _named(name: str, number: int, figures: Mapping[str, str | None], taken: set[str]) -> dict[str, str | None]:
    """Give files names that are unique, even on case-insensitive file systems."""
    stem = name
    while any(f"{stem}-{kind}.svg".casefold() in taken for kind in KINDS):
        stem = f"{name}-{number}"
        number += 1
    found = {f"{stem}-{kind}.svg": picture for kind, picture in figures.items()}
    taken |= {file.casefold() for file in found}
    return found


def save_figures(report: LatencyReport, folder: str | Path) -> list[Path]:
    """Write all figures of a report, all or none: as SVG, and as PDF where the extra ``pages`` is installed.

    Parameters
    ----------
    report : LatencyReport
        The report.
    folder : str or Path
        Destination; created if only its last part is missing.

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
    """Make a part of a file name: letters and digits of any script, else hyphens; at most 60 characters."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:60] or "pattern"


# Spikes over ticks, a band for every node.
_TOP, _GAP = 34.0, 8.0
# Width of the ticks, and of the labels to their right.
_WIDTH, _RATE_WIDTH = 820.0, 110.0
_LOWEST, _HIGHEST = 26.0, 112.0
# Height of a neuron's line where there is room.
_NEURON = 2.4


def draw_raster(raster: SpikeRaster, heading: str = "", *, sent: str = "spike", narrow: bool = False) -> str:
    """Draw spikes, or messages, of neurons over ticks, and mark the ticks in which a node has a frame."""
    left = names_width(raster.names)
    beside, least = (48.0, 2.0) if narrow else (_RATE_WIDTH, 4.0)
    top = _TOP + (22 if heading else 0)
    wide = PHONE - left - beside if narrow else _WIDTH
    step = max(least, min(28.0, wide / max(1, raster.n_ticks) if narrow else round(wide / max(1, raster.n_ticks))))
    right = left + step * raster.n_ticks
    parts = [label(8, 18, heading, "heading", anchor="start")] if heading else []
    parts.append(label(left - 12, top - 8, "tick", "small", anchor="end"))
    every = next(k for k in (1, 2, 5, 10, 20, 50) if k * step >= 26)
    for tick in range(0, raster.n_ticks, every):
        parts.append(label(left + step * (tick + 0.5), top - 8, str(tick), "small"))
    y = top
    for k, name in enumerate(raster.names):
        height = min(_HIGHEST, max(_LOWEST, _NEURON * -(-raster.sizes[k] // raster.every[k])))
        parts += _band(raster, k, name, y, height, step, left, sent, narrow)
        y += height + _GAP
    description = f"{sent.capitalize()}s of {counted(len(raster.names), 'node')} in {counted(raster.n_ticks, 'tick')}"
    return drawing(right + beside, y, parts, description)


def _band(
    raster: SpikeRaster, k: int, name: str, y: float, height: float, step: float, left: float, sent: str, narrow: bool
) -> Iterator[str]:
    mine, right = raster.node == k, left + step * raster.n_ticks
    rows = -(-raster.sizes[k] // raster.every[k])
    line = height / rows
    ticks, lines = raster.tick[mine], raster.neuron[mine] // raster.every[k]
    yield element("rect", x=left, y=y, width=right - left, height=height, class_="band")
    columns = raster.samples[k]
    if np.diff(columns).max(initial=1) > 1:
        box = f"{number(y)}h{number(step)}v{number(height)}h-{number(step)}z"
        boxes = "".join(f"M{number(left + step * t)} {box}" for t in columns.tolist())
        yield element("path", d=boxes, class_="sampled")
    marks = "".join(
        f"M{number(left + step * t + 1)} {number(round(y + line * (n + 0.5), 1))}h{number(max(1.0, step - 2))}"
        for t, n in zip(ticks.tolist(), lines.tolist(), strict=True)
    )
    shown = counted(raster.sizes[k], "neuron")
    if raster.every[k] > 1:
        shown = f"every {ordinal(raster.every[k])} of {shown}"
    tip = f"{name}: {shown}, {counted(len(ticks), sent)} in {counted(raster.n_ticks, 'tick')}"
    shade = " pale" if k // COLOURS % 2 else ""
    width = min(6.0, max(1.0, 0.8 * line))
    if marks:
        class_ = f"spike colour-{k % COLOURS + 1}{shade}"
        yield element("path", d=marks, class_=class_, title=tip, stroke_width=width)
    middle = y + height / 2
    yield label(left - 12, middle + 4.5, shorten(name, 10), "name", anchor="end", title=tip)
    rate = np.float64(len(ticks)) / max(1, rows * raster.n_ticks)
    written = f"{100 * rate:.2g} %" if narrow else f"{100 * rate:.3g} %"
    for y, text in ((middle - 2, written), *([] if narrow else [(middle + 13, f"{sent} per tick")])):
        yield label(right + 6, y, text, "small", anchor="start", title=_RATE.format(sent))


_RATE = "part of the neurons that are shown which send a {} in a tick, on average over these ticks"


# The cores in use, shaded by a figure: neurons, copies, spikes.
# Shades of the scale; cores with 0 have one more.
SHADES = 6


class CoreFigure(NamedTuple):
    """A figure with a value for every core in use."""

    name: str  # such as ``"neurons in use"``
    values: NDArray[Any]  # (C,): 0 or more
    unit: str  # suffix of a value, such as ``" %"``
    of: str  # note of a few words below the key


def draw_shade(cores: CoreMap, figure: CoreFigure, heading: str = "", *, narrow: bool = False) -> str:
    """Draw the used part of a board with its cores shaded by a figure."""
    grid = board_grid(cores.region, cores.board, cores.cores, heading=bool(heading), narrow=narrow)
    values = np.asarray(figure.values, np.float64)
    place = (cores.coordinates - (grid.x, grid.y)) // grid.block
    square, each = np.unique(place[:, 1].astype(np.int64) * grid.columns + place[:, 0], return_inverse=True)
    mean = np.bincount(each, values) / np.bincount(each) if len(values) else values
    most = float(mean.max(initial=0.0))
    levels = np.ceil(SHADES * mean / most * (1 - 1e-12)).astype(np.int64) if most else np.zeros(len(mean), np.int64)
    parts, key = _squares(square, mean, levels, grid, figure), _key(figure, levels, most, grid)
    return grid.picture(heading, parts, key, f"Cores in use by {figure.name}")


def _squares(
    square: NDArray[np.int64], mean: NDArray[np.float64], levels: NDArray[np.int64], grid: BoardGrid, figure: CoreFigure
) -> Iterator[str]:
    gap = min(1.0, grid.side / 12)
    side = number(grid.side - 2 * gap)
    paths: dict[int, list[str]] = defaultdict(list)
    for k, value, level in zip(square.tolist(), mean.tolist(), levels.tolist(), strict=True):
        column, row = k % grid.columns, k // grid.columns
        left, top = grid.corner(column, row)
        path = f"M{number(left + gap)} {number(top + gap)}h{side}v{side}h-{side}z"
        if len(square) > MOST_TOOLTIPS:
            paths[level].append(path)
            continue
        tip = f"core {grid.place(column, row)}: {value:.4g}{figure.unit} {figure.name}"
        yield element("path", d=path, class_=f"core shade-{level}", title=tip)
    for k in sorted(paths):
        yield element("path", d="".join(paths[k]), class_=f"core shade-{k}")


def _key(figure: CoreFigure, levels: NDArray[np.int64], most: float, grid: BoardGrid) -> Key:
    key = Key(grid)
    key.write(f"{figure.name},", figure.of)
    key.y += 2
    for level in sorted(set(levels.tolist()), reverse=True):
        low, high = most * (level - 1) / SHADES, most * level / SHADES
        text = f"above {low:.3g} to {high:.3g}{figure.unit}" if level else f"0{figure.unit}"
        key.square(f"core shade-{level}", text)
    if grid.block > 1:
        key.write(f"a square: mean of up to {grid.block} × {grid.block} cores")
    return key


to_figures = save_figures
