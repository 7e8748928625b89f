"""Draw the figures of the paper that no page of the documentation has: paper/img.

    python -m paper.draw

The others are pictures of the documentation. Figures come from numbers.json and from the library; a test holds that the
files are what this draws.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from neuromap.files.whole_file import write_whole
from neuromap.render.plot import Panel, Plot, Point, draw_panels, log_ends, round_top
from neuromap.render.svg import drawing, element, for_paper, standalone
from paper.make_numbers import NUMBERS, PERIODS, THREE, over_cores

IMAGES = Path(__file__).parent / "img"
NARROW, WIDE = (150.0, 130.0), (250.0, 150.0)
"""Sizes of panels of a column, and of both columns."""


def which_rollout(numbers: Mapping[str, Any]) -> str:
    """Draw first response and frame period of the digits network over cores; ``numbers`` has some of them."""
    over = over_cores(None)
    panels = []
    for figure, title in (("first", "first response [µs]"), ("period", "frame period [µs]")):
        lines = {
            row.name.replace(", windowed", "").replace(", pipelined:3", ""): [
                Point(str(n), getattr(one, figure) * 1e6, row.name)
                for n, one in zip(over.cores, row.figures, strict=True)
            ]
            for row in over.rows[:4]
        }
        values = [point.figure for line in lines.values() for point in line if point.figure is not None]
        bottom, top = log_ends(min(values), max(values))
        panels.append(Panel(title, lines, top, bottom=bottom))
    return for_paper(standalone(draw_panels(Plot("cores", panels, "rollout", WIDE), "Seconds over cores")))


def held(numbers: Mapping[str, Any]) -> str:
    """Draw the neurons that hold values over the frame period."""
    panels = []
    for pattern in ("sequential", "streaming"):
        lines = {
            name.upper(): [
                Point(str(period), figure / 1000, f"{figure} neurons")
                for period, figure in zip(PERIODS, curves[pattern], strict=True)
            ]
            for name, curves in numbers["executions"]["held"].items()
            if name in ("dsr0", "dsr2", "dsr4", "dsr6")
        }
        panels.append(Panel("thousands of neurons", lines, 800.0, heading=pattern))
    plot = Plot("frame period P [update steps]", panels, "network", NARROW)
    return for_paper(standalone(draw_panels(plot, "Neurons that hold values over the frame period")))


def graded(numbers: Mapping[str, Any]) -> str:
    """Draw times of the publication's CIFAR networks on Loihi 2 over their depth."""
    rows = [row for row in numbers["seconds"]["graded"] if row["network"][:3] == "dsr" and " " not in row["network"]]
    panels = []
    for figure, title in (("first", "first response [ms]"), ("full", "full response [ms]")):
        lines = {
            pattern: [
                Point(row["network"].upper(), row[f"{figure}_seconds"] * 1e3, f"{row[f'{figure}_ticks']} ticks")
                for row in rows
                if row["pattern"] == pattern
            ]
            for pattern in THREE
        }
        panels.append(Panel(title, lines, round_top(max(row[f"{figure}_seconds"] for row in rows) * 1e3)))
    plot = Plot("", panels, "pattern", WIDE)
    return for_paper(standalone(draw_panels(plot, "Responses over the depth of the network")))


def depth(numbers: Mapping[str, Any]) -> str:
    """Draw accuracies at the first sequential response over the depth of the network, with the published points."""
    lines: dict[str, list[Point]] = {}
    for row in numbers["trained"]["depth"]:
        name = row["network"]
        low, high = row["accuracy"] - row["error"], row["accuracy"] + row["error"]
        lines.setdefault(row["pattern"], []).append(Point(name, row["accuracy"], "two runs", low, high))
        lines.setdefault(f"{row['pattern']}, published", []).append(Point(name, row["published"], "published"))
    ordered = {
        name: lines[name] for name in ("streaming", "sequential", "streaming, published", "sequential, published")
    }
    panel = Panel("accuracy of a single frame", ordered, 0.6)
    plot = Plot("narrow networks: ours; full ones: published", [panel], "pattern", (340.0, 190.0))
    return for_paper(standalone(draw_panels(plot, "Accuracy at the first sequential response")))


def tiles(numbers: Mapping[str, Any]) -> str:
    """Cut an image of positions into the tiles of the theorem."""
    found = numbers["cores"]["tile"]
    positions, columns, tallest = found["positions"], found["columns"], found["tallest"]
    rest = positions - (columns - 1) * tallest
    wide, high, side = 18, 10, 20.0
    places = [(x, y) for x in range(columns) for y in range(tallest if x < columns - 1 else rest)]
    parts = [element("style", _STYLE)]
    for x in range(wide):
        for y in range(high):
            one, two = _tile_of(x, y, places, columns, tallest, rest, positions)
            shade = f"shade{(one + 2 * two) % 3}"
            parts.append(element("rect", x=x * side, y=y * side, width=side, height=side, class_=shade))
    parts.extend(_borders(wide, high, side, lambda x, y: _tile_of(x, y, places, columns, tallest, rest, positions)))
    return for_paper(standalone(drawing(wide * side, high * side, parts, "Tiles of a convolution")))


_STYLE = (
    ".shade0{fill:#dbe9f6} .shade1{fill:#fdebd0} .shade2{fill:#e2f0e0} .cut{stroke:#1c2430;stroke-width:1.6;fill:none}"
)
Tile = tuple[int, int]


def _tile_of(
    x: int, y: int, places: Sequence[tuple[int, int]], columns: int, tallest: int, rest: int, positions: int
) -> Tile:
    """Find the translation by sums of (columns - 1, rest) and (-1, tallest) whose tile holds a position."""
    for dx, dy in places:
        one = (x - dx) * tallest + (y - dy)
        two = (columns - 1) * (y - dy) - rest * (x - dx)
        if one % positions == 0 and two % positions == 0:
            return one // positions, two // positions
    raise AssertionError(f"position {x}, {y} is in no tile")


def _borders(wide: int, high: int, side: float, tile: Callable[[int, int], Tile]) -> Iterator[str]:
    """Draw the lines between places of different tiles."""
    for x in range(wide):
        for y in range(high):
            if x and tile(x - 1, y) != tile(x, y):
                yield element("path", d=f"M{x * side:g} {y * side:g}v{side:g}", class_="cut")
            if y and tile(x, y - 1) != tile(x, y):
                yield element("path", d=f"M{x * side:g} {y * side:g}h{side:g}", class_="cut")


FIGURES: Sequence[Callable[[Mapping[str, Any]], str]] = (which_rollout, held, graded, depth, tiles)


def drawn() -> dict[str, str]:
    """Give every figure by the name of its file."""
    numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return {f"{draw.__name__.replace('_', '-')}.svg": draw(numbers) for draw in FIGURES}


def main() -> None:
    """Write the figures."""
    IMAGES.mkdir(exist_ok=True)
    for name, document in drawn().items():
        write_whole(IMAGES / name, document)


if __name__ == "__main__":
    main()
