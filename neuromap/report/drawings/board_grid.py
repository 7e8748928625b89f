"""The used part of a board as a grid of squares: axes, chip boundaries, and the whole board as a small inset.

x grows to the right and y upwards, so that north is up. A part with more than ``MOST_SQUARES`` cores is drawn in
squares of several cores each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from neuromap.forms.svg import Point, element, label, number

__all__ = ["MOST_SQUARES", "BoardGrid", "board_grid"]

MOST_SQUARES = 4096
"""Squares of a picture; a larger part of the board is drawn in blocks of cores."""

_SIDE = 560.0
_LARGEST, _SMALLEST = 72.0, 3.0
_LEFT, _TOP, _BOTTOM = 54.0, 14.0, 44.0
_KEY = 250.0
_INSET = 116.0


@dataclass(frozen=True)
class BoardGrid:
    """Where things lie in a picture of a board."""

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
        """Upper left corner of the place for the key."""
        return max(self.right, _LEFT + 200) + 34, self.top

    @property
    def width(self) -> float:
        """Width of the picture."""
        return self.key[0] + _KEY

    def height(self, key: float) -> float:
        """Height of a picture whose key takes ``key``."""
        return max(self.bottom + _BOTTOM, self.top + key + 12)

    def corner(self, column: int, row: int) -> Point:
        """Give the upper left corner of a square."""
        return _LEFT + self.side * column, self.bottom - self.side * (row + 1)

    def centre(self, column: int, row: int) -> Point:
        """Give the middle of a square."""
        x, y = self.corner(column, row)
        return x + self.side / 2, y + self.side / 2

    def place(self, column: int, row: int) -> str:
        """Name a square by its cores."""
        x, y = self.x + column * self.block, self.y + row * self.block
        if self.block == 1:
            return f"({x}, {y})"
        last = min(x + self.block, self.board[0]) - 1, min(y + self.block, self.board[1]) - 1
        return f"({x}, {y}) to ({last[0]}, {last[1]})"

    def frame(self, squares: bool = True) -> list[str]:
        """Draw the squares' grid or only its outline, chip boundaries and axes."""
        if squares:
            lines = self._lines()
        else:
            lines = f"M{number(self.left)} {number(self.top)}H{number(self.right)}V{number(self.bottom)}"
            lines += f"H{number(self.left)}z"
        parts = [element("path", d=lines, class_="grid fine" if squares and self.side < 10 else "grid")]
        if boundaries := self._chip_boundaries():
            parts.append(element("path", d=boundaries, class_="chip-boundary", title="boundary between two chips"))
        step = _step(26 / self.side * self.block)
        for x in _labels(self.x, self.columns * self.block, step):
            at = self.left + self.side * ((x - self.x) // self.block + 0.5)
            parts.append(label(at, self.bottom + 17, str(x), "small"))
        for y in _labels(self.y, self.rows * self.block, step):
            at = self.bottom - self.side * ((y - self.y) // self.block + 0.5)
            parts.append(label(self.left - 8, at + 4, str(y), "small", anchor="end"))
        middle = (self.left + self.right) / 2
        parts.append(label(middle, self.bottom + 36, "x (columns of cores)", "small"))
        turned = element(
            "text", "y", x=self.left - 40, y=(self.top + self.bottom) / 2 + 4, class_="small", text_anchor="middle"
        )
        return [*parts, turned]

    def _lines(self) -> str:
        return "".join(
            f"M{number(self.left + self.side * k)} {number(self.top)}V{number(self.bottom)}"
            for k in range(self.columns + 1)
        ) + "".join(
            f"M{number(self.left)} {number(self.top + self.side * k)}H{number(self.right)}"
            for k in range(self.rows + 1)
        )

    def _chip_boundaries(self) -> str:
        found = []
        for axis, (first, count, chip) in enumerate(
            ((self.x, self.columns, self.chip[0]), (self.y, self.rows, self.chip[1]))
        ):
            start = (first // chip + 1) * chip
            for k in range(start, first + count * self.block, chip):
                along = self.side * (k - first) / self.block
                found.append(
                    f"M{number(self.left + along)} {number(self.top)}V{number(self.bottom)}"
                    if axis == 0
                    else f"M{number(self.left)} {number(self.bottom - along)}H{number(self.right)}"
                )
        return "".join(found)

    def inset(self, y: float) -> tuple[list[str], float]:
        """Draw the whole board, with the part that the picture shows; return its lower edge too."""
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


def board_grid(
    region: tuple[int, int, int, int], board: tuple[int, int], chip: tuple[int, int], *, heading: bool = False
) -> BoardGrid:
    """Lay out a picture of a part of a board."""
    # gives with at most :data:`MOST_SQUARES` squares
    x, y, columns, rows = region
    block = 1
    while -(-columns // block) * -(-rows // block) > MOST_SQUARES:
        block += 1
    across, up = -(-columns // block), -(-rows // block)
    side = min(_LARGEST, max(_SMALLEST, _SIDE / max(across, up)))
    return BoardGrid(board, chip, x, y, block, across, up, side, _TOP + (30 if heading else 0))


def _labels(first: int, count: int, step: int) -> list[int]:
    """Multiples of a step among some numbers; the first number where there are none."""
    return list(range(-(-first // step) * step, first + count, step)) or [first]


def _step(least: float) -> int:
    """Find the least of 1, 2, 4, 8, ... that is not below a value: distances of labels on an axis of cores."""
    return 1 if least <= 1 else int(2 ** math.ceil(math.log2(least)))
