"""The cores in use, shaded by a figure: neurons, copies, spikes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.forms.svg import drawing, element, label, number
from neuromap.report.drawings.board_grid import BoardGrid, board_grid
from neuromap.report.drawings.draw_chip import MOST_TOOLTIPS
from neuromap.report.figures.core_map import CoreMap

__all__ = ["SHADES", "CoreFigure", "draw_shade"]

SHADES = 6
"""Shades of the scale; cores with 0 have one more."""

_LINE = 20.0


class CoreFigure(NamedTuple):
    """A figure that every core in use has."""

    name: str  # such as ``"neurons in use"``
    values: NDArray[Any]  # (C,): 0 or more
    unit: str  # what is written behind a value, such as ``" %"``
    of: str  # what it is a figure of, in a few words below the key


def draw_shade(cores: CoreMap, figure: CoreFigure, heading: str = "") -> str:
    """Draw the used part of a board with its cores shaded by a figure."""
    grid = board_grid(cores.region, cores.board, cores.cores, heading=bool(heading))
    values = np.asarray(figure.values, np.float64)
    place = (cores.coordinates - (grid.x, grid.y)) // grid.block
    square, each = np.unique(place[:, 1].astype(np.int64) * grid.columns + place[:, 0], return_inverse=True)
    mean = np.bincount(each, values) / np.bincount(each) if len(values) else values
    most = float(mean.max(initial=0.0))
    levels = np.ceil(SHADES * mean / most * (1 - 1e-12)).astype(np.int64) if most else np.zeros(len(mean), np.int64)
    parts = [label(grid.left, 20, heading, "heading", anchor="start")] if heading else []
    parts += grid.frame()
    parts += _squares(square, mean, levels, grid, figure)
    key, bottom = _key(figure, levels, most, grid)
    inset, bottom = grid.inset(bottom + 14)
    return drawing(grid.width, grid.height(bottom - grid.top), [*parts, *key, *inset], f"Cores in use by {figure.name}")


def _squares(
    square: NDArray[np.int64], mean: NDArray[np.float64], levels: NDArray[np.int64], grid: BoardGrid, figure: CoreFigure
) -> list[str]:
    gap = min(1.0, grid.side / 12)
    side = number(grid.side - 2 * gap)
    parts: list[str] = []
    paths: dict[int, list[str]] = defaultdict(list)
    for k, value, level in zip(square.tolist(), mean.tolist(), levels.tolist(), strict=True):
        column, row = k % grid.columns, k // grid.columns
        left, top = grid.corner(column, row)
        path = f"M{number(left + gap)} {number(top + gap)}h{side}v{side}h-{side}z"
        if len(square) > MOST_TOOLTIPS:
            paths[level].append(path)
            continue
        tip = f"core {grid.place(column, row)}: {value:.4g}{figure.unit} {figure.name}"
        parts.append(element("path", d=path, class_=f"core shade-{level}", title=tip))
    return parts + [element("path", d="".join(paths[k]), class_=f"core shade-{k}") for k in sorted(paths)]


def _key(figure: CoreFigure, levels: NDArray[np.int64], most: float, grid: BoardGrid) -> tuple[list[str], float]:
    """Draw the scale; return its lower edge too."""
    left, y = grid.key
    parts = [
        label(left, y + 11.5, figure.name + ",", "small", "start"),
        label(left, y + 27.5, figure.of, "small", "start"),
    ]
    y += 38
    for level in sorted(set(levels.tolist()), reverse=True):
        low, high = most * (level - 1) / SHADES, most * level / SHADES
        text = f"above {low:.3g} to {high:.3g}{figure.unit}" if level else f"0{figure.unit}"
        parts.append(element("rect", x=left, y=y, width=14, height=14, class_=f"core shade-{level}"))
        parts.append(label(left + 22, y + 11.5, text, "small", "start"))
        y += _LINE
    if grid.block > 1:
        parts.append(
            label(left, y + 11.5, f"a square: mean of up to {grid.block} × {grid.block} cores", "small", "start")
        )
        y += _LINE
    return parts, y
