"""The rollout window as a drawing: frames as columns, nodes as rows, the tableau in the nodes."""

from __future__ import annotations

from neuromap.network.network import Network
from neuromap.render.svg import (
    Point,
    arrow,
    drawing,
    element,
    inline_image,
    label,
    names_width,
    number,
    shorten,
    standalone,
)
from neuromap.render.table import fact_table
from neuromap.report.drawings.draw_network import MOST_EDGES, draw_network, edge_class, edge_title, layout
from neuromap.rollout.pattern import RolloutPattern

WINDOW = 3
"""Size of the rollout window that reports draw."""
_RADIUS = 14.0
_COLUMN, _ROW = 74.0, 52.0
_TOP = 40.0


def draw_window(network: Network, pattern: RolloutPattern, window: int = 3) -> str:
    """Draw the rollout window of a valid pattern with its tableau."""
    # gives one ``<svg>`` element; the numbers are update steps. Nodes bear ``data-at`` (frame and position in
    # ``network.nodes``, with a dot between) and ``data-step``, edges ``data-from`` and ``data-to``
    tableau = pattern.tableau(window)
    order = layout(network).order
    row = {name: k for k, name in enumerate(order)}
    left = names_width(order) + 4
    number_of = {name: k for k, name in enumerate(network.nodes)}

    def centre(frame: int, name: str) -> Point:
        return (left + _RADIUS + _COLUMN * frame, _TOP + _RADIUS + _ROW * row[name])

    parts = [label(left + _RADIUS + _COLUMN * frame, 18, f"frame {frame}", "heading") for frame in range(window + 1)]
    parts += [
        label(left - 22, centre(0, name)[1] + 4.5, shorten(name, 10), "name", anchor="end", title=name)
        for name in order
    ]
    for frame in range(window + 1):
        for (u, v), r in pattern.items():
            if frame + r > window:
                continue
            start, end = centre(frame, u), centre(frame + r, v)
            faint = " faint" if frame + r == 0 else ""
            path, before, tip = _line(start, end) if r else _inside(start, end, row[v] - row[u])
            ends = {"data_from": f"{frame}.{number_of[u]}", "data_to": f"{frame + r}.{number_of[v]}"}
            parts.append(arrow(path, before, tip, edge_class(r) + faint, edge_title(u, v, r), **ends))
    for (frame, name), step in tableau.items():
        x, y = centre(frame, name)
        role = "input" if name in network.inputs else "output" if name in network.outputs else "hidden"
        circle = element("circle", cx=x, cy=y, r=_RADIUS, class_="box")
        title = f"{name}, frame {frame}: known at update step {step}"
        shown = {"data_at": f"{frame}.{number_of[name]}", "data_step": str(step)}
        text = label(x, y + 4.5, str(step), "name")
        parts.append(element("g", circle, text, title=title, class_=f"node {role}", **shown))
    width = left + 2 * _RADIUS + _COLUMN * window + 16 + 5 * len(order)
    height = _TOP + 2 * _RADIUS + _ROW * (len(order) - 1) + 14
    return drawing(width, height, parts, f"Rollout window of size {window} of pattern {pattern.name} with its tableau")


def _line(start: Point, end: Point) -> tuple[str, Point, Point]:
    first, tip = _towards(start, end), _towards(end, start)
    return f"M{_pair(first)}L{_pair(tip)}", start, tip


def _inside(start: Point, end: Point, rows: int) -> tuple[str, Point, Point]:
    """Within a frame: straight to the next row, else past the rows between."""
    if abs(rows) == 1:
        return _line(start, end)
    middle = (start[0] + 20 + 9 * abs(rows), (start[1] + end[1]) / 2)
    first, tip = _towards(start, middle), _towards(end, middle)
    return f"M{_pair(first)}Q{_pair(middle)} {_pair(tip)}", middle, tip


def _towards(centre: Point, other: Point) -> Point:
    dx, dy = other[0] - centre[0], other[1] - centre[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    return (centre[0] + dx / length * (_RADIUS + 1.5), centre[1] + dy / length * (_RADIUS + 1.5))


def _pair(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def to_notebook(pattern: RolloutPattern) -> str:
    """Write picture and facts of a pattern as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    network = pattern.network
    table = fact_table(type(pattern).__name__, pattern._facts().items())
    if len(network.edges) > MOST_EDGES:
        return table
    shows_window = pattern.is_valid and not network.is_spiking
    drawn = draw_window(network, pattern, WINDOW) if shows_window else draw_network(network, pattern)
    return inline_image(standalone(drawn)) + table
