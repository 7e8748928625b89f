"""The chip map: the cores in use, coloured by the node that they hold."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from neuromap.files.messages import counted
from neuromap.forms.svg import drawing, element, label, number, shorten
from neuromap.report.drawings.board_grid import BoardGrid, board_grid
from neuromap.report.figures.core_map import CoreMap

__all__ = ["COLOURS", "MOST_TOOLTIPS", "draw_chip"]

COLOURS = 12
"""Colours of nodes; the next as many nodes have them in a paler shade, and from there on they repeat."""
MOST_TOOLTIPS = 400
"""Cores up to which each is an element with a tooltip of its own; beyond, all of a node are one path."""

_MOST_NAMED = 24
_LINE = 20.0
_NAMED_SIDE = 30.0


def draw_chip(cores: CoreMap, heading: str = "") -> str:
    """Draw the used part of a board, core by core."""
    # gives one ``<svg>`` element. A core has the colour of the node with most neurons in it, and in its lower corner
    # that of the next one; a bar marks relays, a diamond splitters. A part of more than
    # :data:`neuromap.report.drawings.board_grid.MOST_SQUARES` cores is drawn in squares of several cores, each with the
    # node that most of its cores hold
    grid = board_grid(cores.region, cores.board, cores.cores, heading=bool(heading))
    parts = [label(grid.left, 20, heading, "heading", anchor="start")] if heading else []
    parts += grid.frame()
    parts += _blocks(cores, grid) if grid.block > 1 else _cores(cores, grid)
    parts += _dead(cores, grid)
    key, bottom = _key(cores, grid)
    inset, bottom = grid.inset(bottom + 14)
    return drawing(grid.width, grid.height(bottom - grid.top), [*parts, *key, *inset], "Chip map: cores in use by node")


def node_class(node: int) -> str:
    """Give the class that a node's colour hangs on; -1 is a core without labels."""
    if node < 0:
        return "core unlabelled"
    return f"core colour-{node % COLOURS + 1}" + (" pale" if node // COLOURS % 2 else "")


def _cores(cores: CoreMap, grid: BoardGrid) -> list[str]:
    parts: list[str] = []
    paths: dict[int, list[str]] = defaultdict(list)
    marks: dict[str, list[str]] = {"relay-mark": [], "splitter-mark": []}
    gap = min(1.0, grid.side / 12)
    side = grid.side - 2 * gap
    alone = len(cores.coordinates) <= MOST_TOOLTIPS
    for k, (x, y) in enumerate(cores.coordinates.tolist()):
        left, top = grid.corner(x - grid.x, y - grid.y)
        left, top = left + gap, top + gap
        main, second = int(cores.main[k]), int(cores.second[k])
        square = f"M{number(left)} {number(top)}h{number(side)}v{number(side)}h{number(-side)}z"
        corner = f"M{number(left + side)} {number(top + 0.3 * side)}v{number(0.7 * side)}h{number(-0.7 * side)}z"
        if not alone:
            paths[main].append(square)
            if second >= 0:  # over the square: drawn after all of them
                paths[-2 - second].append(corner)
        else:
            inside = [element("path", d=square, class_=node_class(main))]
            if second >= 0:
                inside.append(element("path", d=corner, class_=node_class(second)))
            if grid.side >= _NAMED_SIDE and main >= 0:
                at = (left + side / 2, top + side / 2 - 1) if second < 0 else (left + side / 2 - 3, top + side / 2 - 4)
                inside.append(label(*at, shorten(cores.names[main], int(side / 8.5)), "cell on-colour"))
            parts.append(element("g", *inside, title=_tooltip(cores, k, x, y)))
        if cores.relays[k]:
            length = min(12.0, 0.34 * side)
            bar = f"M{number(left + 0.14 * side)} {number(top + 0.84 * side)}h{number(length)}"
            marks["relay-mark"].append(bar)
        if cores.splitters[k]:
            marks["splitter-mark"].append(_diamond(left + 0.82 * side, top + 0.18 * side, min(5.0, 0.15 * side)))
    for node in sorted(paths, key=lambda n: (n < -1, n)):
        shown = node if node >= -1 else -2 - node
        tip = "" if shown < 0 else cores.names[shown]
        parts.append(element("path", d="".join(paths[node]), class_=node_class(shown), title=tip))
    for class_, pieces in marks.items():
        if pieces:
            width = {"stroke_width": min(2.6, max(0.8, 0.1 * side))} if class_ == "relay-mark" else {}
            parts.append(element("path", d="".join(pieces), title="", class_=class_, **width))
    return parts


def _blocks(cores: CoreMap, grid: BoardGrid) -> list[str]:
    """Draw squares of several cores each: the node that most of their cores hold."""
    n_nodes = len(cores.names) + 1
    square = (cores.coordinates - (grid.x, grid.y)) // grid.block
    place = square[:, 1].astype(np.int64) * grid.columns + square[:, 0]
    held = np.bincount(place * n_nodes + cores.main + 1, minlength=grid.columns * grid.rows * n_nodes)
    held = held.reshape(-1, n_nodes)
    paths: dict[int, list[str]] = defaultdict(list)
    for k in np.flatnonzero(held.sum(axis=1)):
        left, top = grid.corner(int(k) % grid.columns, int(k) // grid.columns)
        side = number(grid.side)
        paths[int(held[k].argmax()) - 1].append(f"M{number(left)} {number(top)}h{side}v{side}h-{side}z")
    return [
        element("path", d="".join(pieces), class_=node_class(node), title="" if node < 0 else cores.names[node])
        for node, pieces in sorted(paths.items())
    ]


def _dead(cores: CoreMap, grid: BoardGrid) -> list[str]:
    pieces = []
    for x, y in cores.dead:
        column, row = (x - grid.x) // grid.block, (y - grid.y) // grid.block
        if grid.block == 1 and 0 <= column < grid.columns and 0 <= row < grid.rows:
            (left, top), side = grid.corner(column, row), grid.side
            a, b = number(0.25 * side), number(0.5 * side)
            pieces.append(f"M{number(left + 0.25 * side)} {number(top + 0.25 * side)}l{b} {b}m0 -{b}l-{b} {b}m{a} 0")
    return [element("path", d="".join(pieces), class_="dead-mark", title="dead core")] if pieces else []


def _tooltip(cores: CoreMap, k: int, x: int, y: int) -> str:
    main, second = int(cores.main[k]), int(cores.second[k])
    if main < 0:
        return f"core ({x}, {y}): neurons without labels"
    text = f"core ({x}, {y}): {cores.names[main]} ({counted(cores.main_neurons[k], 'neuron')})"
    if second >= 0:
        text += f", {cores.names[second]} ({counted(cores.second_neurons[k], 'neuron')})"
    if (more := int(cores.n_nodes[k]) - 2) > 0:
        text += f" and {more} more node" + "s" * (more > 1)
    notes = [
        f"{n} {what}"
        for n, what in (
            (cores.relays[k], "relays"),
            (cores.splitters[k], "splitters"),
            (cores.parts[k], "parts of sums"),
        )
        if n
    ]
    return text + ("; of them " + " and ".join(notes) if notes else "")


def _key(cores: CoreMap, grid: BoardGrid) -> tuple[list[str], float]:
    """Draw the key; return its lower edge too."""
    left, y = grid.key
    nodes = [-1] * bool((cores.main < 0).any()) + np.flatnonzero(cores.cores_of_node).tolist()
    parts = []
    for node in nodes[:_MOST_NAMED]:
        name = "without labels" if node < 0 else cores.names[node]
        count = int((cores.main < 0).sum() if node < 0 else cores.cores_of_node[node])
        text = f"{shorten(name, 18)}: {count} core{'s' * (count != 1)}"
        parts.append(element("rect", x=left, y=y, width=14, height=14, class_=node_class(node)))
        parts.append(label(left + 22, y + 11.5, text, "small", "start", f"{name}: neurons in {counted(count, 'core')}"))
        y += _LINE
    if len(nodes) > _MOST_NAMED:
        parts.append(label(left, y + 11.5, f"and {len(nodes) - _MOST_NAMED} more nodes", "small", "start"))
        y += _LINE
    if grid.block > 1:
        text = f"a square: up to {grid.block} × {grid.block} cores,"
        parts.append(label(left, y + 11.5, text, "small", "start"))
        parts.append(label(left, y + 11.5 + 16, "coloured by the node of most of them", "small", "start"))
        return parts, y + _LINE + 16
    notes = []
    if (cores.second >= 0).any():
        square = element("rect", x=0, y=-7, width=14, height=14, class_="core unlabelled")
        corner = element("path", d="M14 -3v10h-10z", class_="core shared-key")
        notes.append((square + corner, "shared by nodes (two colours)"))
    if cores.relays.any():
        notes.append((element("path", d="M2 0h10", class_="relay-mark key", stroke_width=2.4), "with relays"))
    if cores.splitters.any():
        notes.append((element("path", d=_diamond(7, 0, 4.5), class_="splitter-mark key"), "with splitters"))
    if cores.dead:
        notes.append((element("path", d="M3 -4l8 8m0 -8l-8 8", class_="dead-mark"), "dead core"))
    for mark, text in notes:
        parts.append(element("g", mark, transform=f"translate({number(left)} {number(y + 7)})"))
        parts.append(label(left + 22, y + 11.5, text, "small", "start"))
        y += _LINE
    return parts, y


def _diamond(x: float, y: float, r: float) -> str:
    return f"M{number(x)} {number(y - r)}l{number(r)} {number(r)}l{number(-r)} {number(r)}l{number(-r)} {number(-r)}z"
