"""The load of links: how many spikes every link of the mesh carries in its busiest tick."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.files.messages import counted
from neuromap.render.svg import Point, drawing, element, label, number
from neuromap.report.drawings.draw_chip import MOST_TOOLTIPS, BoardGrid, board_grid
from neuromap.report.figures.row import CoreMap
from neuromap.simulation.noc.loads import DIRECTIONS, LinkName

LOAD_CLASSES = 6
"""Colours of the scale."""

_STEPS = ((1, 0), (-1, 0), (0, -1), (0, 1))  # on paper, where y grows downwards
_LINE = 20.0
_ASIDE = 0.14
_ARROW_SIDE = 18.0
"""Side of a square from which on links have heads."""


def load_bounds(most: int) -> list[int]:
    """Share loads 1 to ``most`` out over at most :data:`LOAD_CLASSES` classes of equal width."""
    # gives greatest load of every class, ascending; the last one is ``most``
    count = min(LOAD_CLASSES, most)
    return [-(-most * (k + 1) // count) for k in range(count)]


def draw_links(
    cores: CoreMap, peaks: NDArray[Any], heading: str = "", *, sent: str = "spike", narrow: bool = False
) -> str:
    """Draw every link of the used part of a board, coloured by the most spikes that it carries in a tick."""
    # shapes: peaks (6, rows, columns)
    grid = board_grid(cores.region, cores.board, cores.cores, heading=bool(heading), narrow=narrow)
    loads = _of_squares(np.asarray(peaks), grid)
    most = int(loads[:4].max(initial=0))
    bounds = load_bounds(most)
    above = [label(grid.left, 20, heading, "heading", anchor="start")] if heading else []
    parts = grid.frame(squares=grid.side >= _ARROW_SIDE)
    parts += _routers(cores, loads, grid)
    parts += _links(loads, grid, bounds)
    busiest = _busiest(np.asarray(peaks)) if most else None
    if busiest is not None:
        parts += _mark(busiest, most, grid)
    key, bottom = _key(bounds, busiest, most, grid)
    parts = [part.replace("spike", sent) for part in (*parts, *key)]  # no name of a user is among them
    description = f"Load of links: most {sent}s in one tick"
    return drawing(grid.width, grid.height(bottom - grid.top), [*above, *parts], description)


def _of_squares(peaks: NDArray[Any], grid: BoardGrid) -> NDArray[np.int64]:
    """Cut the part that is shown out of the board; the greatest load where a square holds several routers."""
    width, height = grid.columns * grid.block, grid.rows * grid.block
    part = peaks[:, grid.y : grid.y + height, grid.x : grid.x + width].astype(np.int64)
    if grid.block == 1:
        return part
    part = np.pad(part, ((0, 0), (0, height - part.shape[1]), (0, width - part.shape[2])))
    found: NDArray[np.int64] = part.reshape(6, grid.rows, grid.block, grid.columns, grid.block).max(axis=(2, 4))
    return found


def _routers(cores: CoreMap, loads: NDArray[np.int64], grid: BoardGrid) -> list[str]:
    half = (0.17 if grid.side >= _ARROW_SIDE else 0.1) * grid.side
    used = np.zeros((grid.rows, grid.columns), np.bool_)
    square = (cores.coordinates - (grid.x, grid.y)) // grid.block
    used[square[:, 1], square[:, 0]] = True
    alone = used.size <= MOST_TOOLTIPS
    parts: list[str] = []
    pieces: dict[str, list[str]] = {"router used": [], "router": []}
    for row, column in np.argwhere(used | (grid.side >= _ARROW_SIDE)).tolist():
        x, y = grid.centre(column, row)
        size = number(2 * half)
        path = f"M{number(x - half)} {number(y - half)}h{size}v{size}h-{size}z"
        class_ = "router used" if used[row, column] else "router"
        if not alone:
            pieces[class_].append(path)
            continue
        into, out = int(loads[4, row, column]), int(loads[5, row, column])
        what = f"from its core {into}, into its core {counted(out, 'spike')} per tick, most in one tick"
        tip = f"router {grid.place(column, row)}: {what}" if used[row, column] else f"router {grid.place(column, row)}"
        parts.append(element("path", d=path, class_=class_, title=tip))
    return parts + [element("path", d="".join(many), class_=class_) for class_, many in pieces.items() if many]


def _links(loads: NDArray[np.int64], grid: BoardGrid, bounds: list[int]) -> list[str]:
    """Draw the links, the least loads first: few of them each with a tooltip, many as one path per class."""
    reach = _within(loads.shape, grid)
    alone = int((loads[:4] > 0).sum()) <= MOST_TOOLTIPS
    classes = np.where(loads[:4] > 0, np.searchsorted(bounds or [0], loads[:4]) + 1, 0)
    parts: list[str] = []
    for level in range(_lowest(grid), len(bounds) + 1):
        paths: dict[str, list[str]] = defaultdict(list)
        for direction, row, column in np.argwhere((classes == level) & reach).tolist():
            path = _line(direction, column, row, level, grid)
            if level and alone:
                load = int(loads[direction, row, column])
                where = f"{grid.place(column, row)} {DIRECTIONS[direction]}"
                tip = f"{where}: {counted(load, 'spike')} per tick, most in one tick"
                parts.append(
                    element("path", d=path, class_=_class(level, bounds, grid), title=tip, **_stroke(level, grid))
                )
            else:
                paths["link"].append(path)
        if paths:
            low = 1 if level == 1 else bounds[level - 2] + 1 if level else 0
            tip = f"{_range(low, bounds[level - 1])} spikes per tick, most in one tick" if level else "never used"
            class_ = _class(level, bounds, grid)
            parts.append(element("path", d="".join(paths["link"]), class_=class_, title=tip, **_stroke(level, grid)))
    return parts


def _lowest(grid: BoardGrid) -> int:
    """Give the lowest class that is drawn: unused links only where there is room."""
    return 0 if grid.side >= _ARROW_SIDE else 1


def _class(level: int, bounds: list[int], grid: BoardGrid | None = None) -> str:
    """Spread the classes over the whole scale of colours, so that the greatest load is always the strongest one."""
    shape = " arrow" if grid is not None and grid.side >= _ARROW_SIDE else ""
    return f"link{shape} load-{-(-level * LOAD_CLASSES // max(1, len(bounds)))}"


def _within(shape: tuple[int, ...], grid: BoardGrid) -> NDArray[np.bool_]:
    """Tell the links between two squares of the picture; of squares of several cores, all of them."""
    inside = np.ones((4, *shape[1:]), np.bool_)
    if grid.block == 1:
        inside[0, :, -1] = inside[1, :, 0] = inside[2, -1] = inside[3, 0] = False
    return inside


def _line(direction: int, column: int, row: int, level: int, grid: BoardGrid) -> str:
    """Draw one link: an arrow where there is room for its head, else a line."""
    (x, y), (dx, dy) = grid.centre(column, row), _STEPS[direction]
    aside = _ASIDE * grid.side
    gap = (0.2 if grid.side >= _ARROW_SIDE else 0.1) * grid.side
    length = grid.side - 2 * gap if grid.block == 1 else grid.side / 2 - gap
    x, y = x + dx * gap - dy * aside, y + dy * gap + dx * aside  # to the right of the way
    if grid.side < _ARROW_SIDE:
        return f"M{number(x)} {number(y)}" + (f"h{number(dx * length)}" if dx else f"v{number(dy * length)}")
    half, head = _width(level, grid) / 2, 0.1 * grid.side
    turns = ((0, half), (length - head, half), (length - head, head), (length, 0))
    outline = [*turns, *((along, -across) for along, across in reversed(turns[:3]))]
    points = [f"{number(x + u * dx - v * dy)} {number(y + u * dy + v * dx)}" for u, v in outline]
    return f"M{'L'.join(points)}z"


def _width(level: int, grid: BoardGrid) -> float:
    widest = min(8.0, (0.16 if grid.side >= _ARROW_SIDE else 0.22) * grid.side)
    return max(0.6, widest * (0.2 + 0.8 * level / LOAD_CLASSES)) if level else 0.6


def _stroke(level: int, grid: BoardGrid) -> dict[str, float]:
    return {} if grid.side >= _ARROW_SIDE else {"stroke_width": _width(level, grid)}


def _busiest(peaks: NDArray[Any]) -> LinkName:
    direction, y, x = (int(k) for k in np.unravel_index(int(peaks[:4].argmax()), peaks[:4].shape))
    return LinkName(x, y, DIRECTIONS[direction])


def _mark(busiest: LinkName, most: int, grid: BoardGrid) -> list[str]:
    x, y = _middle(busiest, grid)
    radius = max(6.0, min(18.0, 0.34 * grid.side))
    at = min(max(x, grid.left + 36), max(grid.right - 36, grid.left + 36))
    above = y - radius - 5
    return [
        element("circle", cx=x, cy=y, r=radius, class_="busiest", title=_name(busiest)),
        label(at, above if above > 12 else y + radius + 14, f"busiest: {most}", "small halo", title=_name(busiest)),
    ]


def _middle(link: LinkName, grid: BoardGrid) -> Point:
    x, y = grid.centre((link.x - grid.x) // grid.block, (link.y - grid.y) // grid.block)
    dx, dy = _STEPS[DIRECTIONS.index(link.direction)]
    along = grid.side / (2 if grid.block == 1 else 4)
    aside = _ASIDE * grid.side
    return x + dx * along - dy * aside, y + dy * along + dx * aside


def _name(link: LinkName) -> str:
    return f"({link.x}, {link.y}) {link.direction}"


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _key(bounds: list[int], busiest: LinkName | None, most: int, grid: BoardGrid) -> tuple[list[str], float]:
    """Draw the scale; return its lower edge too."""
    left, y = grid.key
    parts = [
        label(left, y + 11.5, "spikes per tick,", "small", "start"),
        label(left, y + 27.5, "most in one tick of the run", "small", "start"),
    ]
    y += 38
    if busiest is None:
        parts.append(label(left, y + 11.5, "no spike crosses a link", "small", "start"))
        return parts, y + _LINE
    for level in range(len(bounds), _lowest(grid) - 1, -1):
        low = 1 if level == 1 else bounds[level - 2] + 1 if level else 0
        text = _range(low, bounds[level - 1]) if level else "0 (never used)"
        line = f"M{number(left)} {number(y + 7)}h26"
        width = 1.2 + 0.8 * level if level else 0.8
        parts.append(element("path", d=line, class_=_class(level, bounds), stroke_width=width))
        parts.append(label(left + 36, y + 11.5, text, "small", "start"))
        y += _LINE
    parts.append(element("circle", cx=left + 13, cy=y + 8, r=7, class_="busiest"))
    parts.append(label(left + 36, y + 11.5, f"busiest: {_name(busiest)}", "small", "start"))
    parts.append(label(left + 36, y + 27.5, f"{counted(most, 'spike')} in one tick", "small", "start"))
    y += _LINE + 16
    if grid.block > 1:
        text = f"a square: up to {grid.block} × {grid.block} cores;"
        parts.append(label(left, y + 11.5, text, "small", "start"))
        parts.append(label(left, y + 27.5, "a line: the most of its links", "small", "start"))
        y += _LINE + 16
    return parts, y
