"""The chip map: the cores in use, coloured by the node that they hold."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.files.messages import counted
from neuromap.render.svg import PHONE, Point, drawing, element, label, number, shorten
from neuromap.report.figures.row import CoreMap, rectangle_of
from neuromap.simulation.noc.traffic import DIRECTIONS, LinkName

# Colours of nodes; as many further nodes have paler shades of them, and from there on they repeat.
COLOURS = 12
# Most cores that are elements with tooltips of their own; beyond, all cores of a node are one path.
MOST_TOOLTIPS = 400
_MOST_NAMED = 24
_LINE = 20.0
_NAMED_SIDE = 30.0


def draw_chip(cores: CoreMap, heading: str = "", *, narrow: bool = False) -> str:
    """Draw the used part of a board, core by core."""
    # returns one ``<svg>`` element. A core has the colour of the node with most neurons in it, and in its lower corner
    # that of the next one; a bar marks relays, a diamond splitters. A part of more than
    # :data:`neuromap.report.drawings.draw_chip.MOST_SQUARES` cores is drawn in squares of several cores, each with the
    # node that most of its cores hold
    grid = board_grid(cores.region, cores.board, cores.cores, heading=bool(heading), narrow=narrow)
    parts = _blocks(cores, grid) if grid.block > 1 else _cores(cores, grid)
    return grid.picture(heading, [*parts, *_dead(cores, grid)], _key(cores, grid), "Chip map: cores in use by node")


def node_class(node: int) -> str:
    """Return the CSS class of a node's colour; -1 is a core without labels."""
    if node < 0:
        return "core unlabelled"
    return f"core colour-{node % COLOURS + 1}" + (" pale" if node // COLOURS % 2 else "")


def _cores(cores: CoreMap, grid: BoardGrid) -> Iterator[str]:
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
            yield element("g", *inside, title=_tooltip(cores, k, x, y))
        if cores.relays[k]:
            length = min(12.0, 0.34 * side)
            bar = f"M{number(left + 0.14 * side)} {number(top + 0.84 * side)}h{number(length)}"
            marks["relay-mark"].append(bar)
        if cores.splitters[k]:
            marks["splitter-mark"].append(_diamond(left + 0.82 * side, top + 0.18 * side, min(5.0, 0.15 * side)))
    for node in sorted(paths, key=lambda n: (n < -1, n)):
        shown = node if node >= -1 else -2 - node
        tip = "" if shown < 0 else cores.names[shown]
        yield element("path", d="".join(paths[node]), class_=node_class(shown), title=tip)
    for class_, pieces in marks.items():
        if pieces:
            width = {"stroke_width": min(2.6, max(0.8, 0.1 * side))} if class_ == "relay-mark" else {}
            yield element("path", d="".join(pieces), title="", class_=class_, **width)


def _blocks(cores: CoreMap, grid: BoardGrid) -> list[str]:
    """Draw squares of several cores each, coloured by the node that most of their cores hold."""
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
        text += f" and {counted(more, 'more node')}"
    kinds = {"relays": cores.relays[k], "splitters": cores.splitters[k], "parts of sums": cores.parts[k]}
    notes = " and ".join(f"{n} {what}" for what, n in kinds.items() if n)
    return text + (f"; of them {notes}" if notes else "")


def _key(cores: CoreMap, grid: BoardGrid) -> Key:
    key = Key(grid)
    nodes = [-1] * bool((cores.main < 0).any()) + np.flatnonzero(cores.cores_of_node).tolist()
    for node in nodes[:_MOST_NAMED]:
        name = "without labels" if node < 0 else cores.names[node]
        count = int((cores.main < 0).sum() if node < 0 else cores.cores_of_node[node])
        text = f"{shorten(name, 18)}: {counted(count, 'core')}"
        key.square(node_class(node), text, f"{name}: neurons in {counted(count, 'core')}")
    if len(nodes) > _MOST_NAMED:
        key.write(f"and {len(nodes) - _MOST_NAMED} more nodes")
    if grid.block > 1:
        key.write(f"a square: up to {grid.block} × {grid.block} cores,", "coloured by the node of most of them")
        return key
    square = element("rect", x=0, y=-7, width=14, height=14, class_="core unlabelled")
    corner, diamond = element("path", d="M14 -3v10h-10z", class_="core shared-key"), _diamond(7, 0, 4.5)
    bar = element("path", d="M2 0h10", class_="relay-mark key", stroke_width=2.4)
    for is_shown, mark, text in (
        ((cores.second >= 0).any(), square + corner, "shared by nodes (two colours)"),
        (cores.relays.any(), bar, "with relays"),
        (cores.splitters.any(), element("path", d=diamond, class_="splitter-mark key"), "with splitters"),
        (cores.dead, element("path", d="M3 -4l8 8m0 -8l-8 8", class_="dead-mark"), "dead core"),
    ):
        if is_shown:
            key.parts.append(element("g", mark, transform=f"translate({number(key.left)} {number(key.y + 7)})"))
            key.write(text, indent=22)
    return key


def _diamond(x: float, y: float, r: float) -> str:
    return f"M{number(x)} {number(y - r)}l{number(r)} {number(r)}l{number(-r)} {number(r)}l{number(-r)} {number(-r)}z"


# The used part of a board as a grid of squares: axes, chip boundaries, and the whole board as a small inset.
#
# x grows to the right and y upwards, so that north is up. A part with more than ``MOST_SQUARES`` cores is drawn in
# squares of several cores each.


# Most squares of a picture; a larger part of the board is drawn in blocks of cores.
MOST_SQUARES = 4096
_SIDE = 560.0
_LARGEST, _SMALLEST = 72.0, 3.0
_LEFT, _TOP, _BOTTOM = 54.0, 14.0, 44.0
_KEY = 250.0
_INSET = 116.0


@dataclass(frozen=True)
class BoardGrid:
    """Layout of a picture of a board."""

    board: tuple[int, int]  # columns and rows of cores on the whole board
    chip: tuple[int, int]  # columns and rows of cores on one chip
    # x, y: core in the lower left corner
    x: int
    y: int
    block: int  # cores along one side of a square; 1 unless the part is large
    # columns, rows: squares
    columns: int
    rows: int
    side: float  # length of a square's side
    top: float = _TOP  # upper edge of the uppermost squares
    narrow: bool = False  # whether it is drawn for a phone, with the key below

    @property
    def left(self) -> float:
        """Left edge of the leftmost squares."""
        return _LEFT

    @property
    def right(self) -> float:
        """Right edge of the rightmost squares."""
        return _LEFT + self.side * self.columns

    @property
    def bottom(self) -> float:
        """Lower edge of the lowest squares."""
        return self.top + self.side * self.rows

    @property
    def key(self) -> Point:
        """Upper left corner of the key."""
        return (8.0, self.bottom + _BOTTOM + 8) if self.narrow else (max(self.right, _LEFT + 200) + 34, self.top)

    @property
    def width(self) -> float:
        """Width of the picture."""
        return PHONE if self.narrow else self.key[0] + _KEY

    def height(self, key: float) -> float:
        """Height of a picture whose key is ``key`` high."""
        return max(self.bottom + _BOTTOM, self.top + key + 12)

    def corner(self, column: int, row: int) -> Point:
        """Return the upper left corner of a square."""
        return _LEFT + self.side * column, self.bottom - self.side * (row + 1)

    def centre(self, column: int, row: int) -> Point:
        """Return the centre of a square."""
        x, y = self.corner(column, row)
        return x + self.side / 2, y + self.side / 2

    def place(self, column: int, row: int) -> str:
        """Name a square by its cores."""
        x, y = self.x + column * self.block, self.y + row * self.block
        if self.block == 1:
            return f"({x}, {y})"
        last = min(x + self.block, self.board[0]) - 1, min(y + self.block, self.board[1]) - 1
        return f"({x}, {y}) to ({last[0]}, {last[1]})"

    def picture(self, heading: str, parts: Iterable[str], key: Key, description: str) -> str:
        """Draw cores in the frame, with a key and the whole board beside them."""
        head = [label(_LEFT, 20, heading, "heading", anchor="start")] if heading else []
        inset, bottom = self.inset(key.y + 14)
        every = [*head, *self.frame(), *parts, *key.parts, *inset]
        return drawing(self.width, self.height(bottom - self.top), every, description)

    def frame(self, squares: bool = True, of: str = "cores") -> Iterator[str]:
        """Draw the squares' grid or only its outline, chip boundaries and axes."""
        left, top, right, bottom = map(number, (self.left, self.top, self.right, self.bottom))
        lines = f"M{left} {top}H{right}V{bottom}H{left}z"
        if squares:
            across, up = (range(n + 1) for n in (self.columns, self.rows))
            lines = "".join(f"M{number(self.left + self.side * k)} {top}V{bottom}" for k in across)
            lines += "".join(f"M{left} {number(self.top + self.side * k)}H{right}" for k in up)
        yield element("path", d=lines, class_="grid fine" if squares and self.side < 10 else "grid")
        columns, rows = (
            [
                self.side * (k - first) / self.block
                for k in range((first // chip + 1) * chip, first + count * self.block, chip)
            ]
            for first, count, chip in ((self.x, self.columns, self.chip[0]), (self.y, self.rows, self.chip[1]))
        )
        if columns or rows:
            boundaries = "".join(f"M{number(self.left + along)} {top}V{bottom}" for along in columns)
            boundaries += "".join(f"M{left} {number(self.bottom - along)}H{right}" for along in rows)
            yield element("path", d=boundaries, class_="chip-boundary", title="boundary between two chips")
        step = _step(26 / self.side * self.block)
        for x in _labels(self.x, self.columns * self.block, step):
            at = self.left + self.side * ((x - self.x) // self.block + 0.5)
            yield label(at, self.bottom + 17, str(x), "small")
        for y in _labels(self.y, self.rows * self.block, step):
            at = self.bottom - self.side * ((y - self.y) // self.block + 0.5)
            yield label(self.left - 8, at + 4, str(y), "small", anchor="end")
        middle = (self.left + self.right) / 2
        yield label(middle, self.bottom + 36, f"x (columns of {of})", "small")
        yield label(self.left - 40, (self.top + self.bottom) / 2 + 4, "y", "small")

    def inset(self, y: float) -> tuple[list[str], float]:
        """Draw the whole board with the part that the picture shows; also return its lower edge."""
        left = self.key[0]
        scale = _INSET / max(self.board)
        width, height = max(2.0, self.board[0] * scale), max(2.0, self.board[1] * scale)
        chips = self.board[0] // self.chip[0] * (self.board[1] // self.chip[1])
        of = f", {chips} chips" if chips > 1 else ""
        parts = [
            label(left, y + 10, f"The board: {self.board[0]} × {self.board[1]} cores{of}", "small", anchor="start"),
            element("rect", x=left, y=y + 20, width=width, height=height, class_="board"),
        ]
        lines = "".join(
            f"M{number(left + k * scale)} {number(y + 20)}v{number(height)}"
            for k in range(self.chip[0], self.board[0], self.chip[0])
        ) + "".join(
            f"M{number(left)} {number(y + 20 + height - k * scale)}h{number(width)}"
            for k in range(self.chip[1], self.board[1], self.chip[1])
        )
        if lines:
            parts.append(element("path", d=lines, class_="grid"))
        columns = min(self.columns * self.block, self.board[0] - self.x)
        rows = min(self.rows * self.block, self.board[1] - self.y)
        shown = {
            "x": left + self.x * scale,
            "y": y + 20 + height - (self.y + rows) * scale,
            "width": max(2.0, columns * scale),
            "height": max(2.0, rows * scale),
        }
        parts.append(element("rect", title="the part that is shown", class_="shown", **shown))
        return parts, y + 20 + height


class Key:
    """The key beside a picture of a board, written from top to bottom; ``y`` is where its next line begins."""

    def __init__(self, grid: BoardGrid) -> None:
        self.left, self.y = grid.key
        self.parts: list[str] = []

    def write(self, *lines: str, indent: float = 0, title: str = "") -> None:
        """Write an entry of one or more lines."""
        for k, line in enumerate(lines):
            self.parts.append(label(self.left + indent, self.y + 11.5 + 16 * k, line, "small", "start", title))
        self.y += _LINE + 16 * (len(lines) - 1)

    def square(self, class_: str, text: str, title: str = "") -> None:
        """Write an entry for a colour."""
        self.parts.append(element("rect", x=self.left, y=self.y, width=14, height=14, class_=class_))
        self.write(text, indent=22, title=title)


def board_grid(
    region: tuple[int, int, int, int],
    board: tuple[int, int],
    chip: tuple[int, int],
    *,
    heading: bool = False,
    narrow: bool = False,
) -> BoardGrid:
    """Lay out a picture of a part of a board."""
    # returns it with at most :data:`MOST_SQUARES` squares
    x, y, columns, rows = region
    block = 1
    while -(-columns // block) * -(-rows // block) > MOST_SQUARES:
        block += 1
    across, up = -(-columns // block), -(-rows // block)
    room = PHONE - _LEFT - 6 if narrow else _SIDE
    side = min(_LARGEST, max(_SMALLEST, room / max(across, up)))
    return BoardGrid(board, chip, x, y, block, across, up, side, _TOP + (30 if heading else 0), narrow)


def _labels(first: int, count: int, step: int) -> list[int]:
    """List the multiples of a step in a range; its first number if there are none."""
    return list(range(-(-first // step) * step, first + count, step)) or [first]


def _step(least: float) -> int:
    """Round up to one of 1, 2, 4, 8, ...: the distance of labels on an axis of cores."""
    return 1 if least <= 1 else int(2 ** math.ceil(math.log2(least)))


# Colours of the scale.
LOAD_CLASSES = 6

_STEPS = ((1, 0), (-1, 0), (0, -1), (0, 1))  # on paper, where y grows downwards
_ASIDE = 0.14
# Side of a square from which on links have arrowheads.
_ARROW_SIDE = 18.0


def load_bounds(most: int) -> list[int]:
    """Divide loads 1 to ``most`` into at most :data:`LOAD_CLASSES` classes of equal width."""
    # returns the greatest load of every class, ascending; the last one is ``most``
    count = min(LOAD_CLASSES, most)
    return [-(-most * (k + 1) // count) for k in range(count)]


def draw_links(
    cores: CoreMap, peaks: NDArray[Any], heading: str = "", *, sent: str = "spike", narrow: bool = False
) -> str:
    """Draw every link of the used part of a board, coloured by the most spikes that it carries in a tick."""
    # places are those of routers, which the cores of a tile share
    # shapes: peaks (6, rows, columns)
    (across, up), (columns, rows), (width, height) = cores.tile, cores.cores, cores.board
    routers = np.unique(cores.coordinates // cores.tile, axis=0)
    board, chip = (width // across, height // up), (columns // across, rows // up)
    grid = board_grid(rectangle_of(routers), board, chip, heading=bool(heading), narrow=narrow)
    loads = _of_squares(np.asarray(peaks), grid)
    most = int(loads[:4].max(initial=0))
    bounds = load_bounds(most)
    above = [label(grid.left, 20, heading, "heading", anchor="start")] if heading else []
    own, of = ("core", "cores") if cores.tile == (1, 1) else ("cores", "routers")
    frame = grid.frame(grid.side >= _ARROW_SIDE, of)
    parts = [*frame, *_routers(routers, own, loads, grid), *_links(loads, grid, bounds)]
    busiest = _busiest(np.asarray(peaks)) if most else None
    if busiest is not None:
        parts += _mark(busiest, most, grid)
    key = _key_of_links(bounds, busiest, most, grid)
    parts = [part.replace("spike", sent) for part in (*parts, *key.parts)]  # no names given by users are among them
    description = f"Load of links: most {sent}s in one tick"
    return drawing(grid.width, grid.height(key.y - grid.top), [*above, *parts], description)


def _of_squares(peaks: NDArray[Any], grid: BoardGrid) -> NDArray[np.int64]:
    """Return the loads of the part of the board that is shown; the greatest one of a square's routers."""
    width, height = grid.columns * grid.block, grid.rows * grid.block
    part = peaks[:, grid.y : grid.y + height, grid.x : grid.x + width].astype(np.int64)
    if grid.block == 1:
        return part
    part = np.pad(part, ((0, 0), (0, height - part.shape[1]), (0, width - part.shape[2])))
    found: NDArray[np.int64] = part.reshape(6, grid.rows, grid.block, grid.columns, grid.block).max(axis=(2, 4))
    return found


def _routers(routers: NDArray[np.integer], own: str, loads: NDArray[np.int64], grid: BoardGrid) -> Iterator[str]:
    half = (0.17 if grid.side >= _ARROW_SIDE else 0.1) * grid.side
    used = np.zeros((grid.rows, grid.columns), np.bool_)
    square = (routers - (grid.x, grid.y)) // grid.block
    used[square[:, 1], square[:, 0]] = True
    alone = used.size <= MOST_TOOLTIPS
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
        what = f"from its {own} {into}, into its {own} {counted(out, 'spike')} per tick, most in one tick"
        tip = f"router {grid.place(column, row)}: {what}" if used[row, column] else f"router {grid.place(column, row)}"
        yield element("path", d=path, class_=class_, title=tip)
    for class_, many in pieces.items():
        if many:
            yield element("path", d="".join(many), class_=class_)


def _links(loads: NDArray[np.int64], grid: BoardGrid, bounds: list[int]) -> Iterator[str]:
    """Draw the links, the least loads first: few of them with a tooltip each, many as one path per class."""
    reach = _within(loads.shape, grid)
    alone = int((loads[:4] > 0).sum()) <= MOST_TOOLTIPS
    classes = np.where(loads[:4] > 0, np.searchsorted(bounds or [0], loads[:4]) + 1, 0)
    for level in range(_lowest(grid), len(bounds) + 1):
        places = np.argwhere((classes == level) & reach).tolist()
        drawn = [(_line(direction, column, row, level, grid), "") for direction, row, column in places]
        per_tick = "per tick, most in one tick"
        if level and alone:
            loaded = [(f"{grid.place(x, y)} {DIRECTIONS[k]}", int(loads[k, y, x])) for k, y, x in places]
            tips = [f"{where}: {counted(load, 'spike')} {per_tick}" for where, load in loaded]
            drawn = [(path, tip) for (path, _), tip in zip(drawn, tips, strict=True)]
        elif drawn:
            tip = f"{_range(level, bounds)} spikes {per_tick}" if level else "never used"
            drawn = [("".join(path for path, _ in drawn), tip)]
        class_, stroke = _class(level, bounds, grid), _stroke(level, grid)
        for path, tip in drawn:
            yield element("path", d=path, class_=class_, title=tip, **stroke)


def _lowest(grid: BoardGrid) -> int:
    """Return the lowest class that is drawn: unused links only if there is room."""
    return 0 if grid.side >= _ARROW_SIDE else 1


def _class(level: int, bounds: list[int], grid: BoardGrid | None = None) -> str:
    """Return the CSS class of a load, spread over the whole colour scale: the greatest load has the strongest one."""
    shape = " arrow" if grid is not None and grid.side >= _ARROW_SIDE else ""
    return f"link{shape} load-{-(-level * LOAD_CLASSES // max(1, len(bounds)))}"


def _within(shape: tuple[int, ...], grid: BoardGrid) -> NDArray[np.bool_]:
    """Mark the links between two squares of the picture; all links if squares hold several cores."""
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
    x, y = x + dx * gap - dy * aside, y + dy * gap + dx * aside  # to the right of its direction
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


def _mark(busiest: LinkName, most: int, grid: BoardGrid) -> Iterator[str]:
    x, y = grid.centre((busiest.x - grid.x) // grid.block, (busiest.y - grid.y) // grid.block)
    dx, dy = _STEPS[DIRECTIONS.index(busiest.direction)]
    along, aside = grid.side / (2 if grid.block == 1 else 4), _ASIDE * grid.side
    x, y = x + dx * along - dy * aside, y + dy * along + dx * aside
    radius = max(6.0, min(18.0, 0.34 * grid.side))
    at = min(max(x, grid.left + 36), max(grid.right - 36, grid.left + 36))
    above = y - radius - 5
    yield element("circle", cx=x, cy=y, r=radius, class_="busiest", title=_name(busiest))
    yield label(at, above if above > 12 else y + radius + 14, f"busiest: {most}", "small halo", title=_name(busiest))


def _name(link: LinkName) -> str:
    return f"({link.x}, {link.y}) {link.direction}"


def _range(level: int, bounds: list[int]) -> str:
    """Format the loads of a class."""
    low, high = bounds[level - 2] + 1 if level > 1 else 1, bounds[level - 1]
    return str(low) if low == high else f"{low} to {high}"


def _key_of_links(bounds: list[int], busiest: LinkName | None, most: int, grid: BoardGrid) -> Key:
    key = Key(grid)
    key.write("spikes per tick,", "most in one tick of the run")
    key.y += 2
    if busiest is None:
        key.write("no spike crosses a link")
        return key
    for level in range(len(bounds), _lowest(grid) - 1, -1):
        text = _range(level, bounds) if level else "0 (never used)"
        line = f"M{number(key.left)} {number(key.y + 7)}h26"
        width = 1.2 + 0.8 * level if level else 0.8
        key.parts.append(element("path", d=line, class_=_class(level, bounds), stroke_width=width))
        key.write(text, indent=36)
    key.parts.append(element("circle", cx=key.left + 13, cy=key.y + 8, r=7, class_="busiest"))
    key.write(f"busiest: {_name(busiest)}", f"{counted(most, 'spike')} in one tick", indent=36)
    if grid.block > 1:
        key.write(f"a square: up to {grid.block} × {grid.block} cores;", "a line: the most of its links")
    return key
