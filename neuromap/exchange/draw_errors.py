"""What putting a float network into integers cost, node by node, as a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from neuromap.quantise.forms import error_percent
from neuromap.quantise.quantisation import Quantisation
from neuromap.render.numbers import plain
from neuromap.render.svg import drawing, element, label, number, shorten

MOST_ROWS = 30
"""Nodes that are drawn; of more those with the greatest errors."""

_LEFT, _ROW, _WIDTH, _EXACT = 150.0, 34.0, 520.0, 84.0
_TRAINS, _BAR = 44.0, 130.0
"""Distance of the bars right of the plot, and what stands for the distance of silence."""
_MOST_DECADES = 8


class _Kind(NamedTuple):
    """One kind of error: its name, the class of its mark, and whether the mark is a circle or a polygon."""

    name: str
    class_: str
    points: tuple[tuple[float, float], ...]


_KINDS = (
    _Kind("weights that it reads", "dot0", ()),
    _Kind("time constant", "dot1", ((-5, -5), (5, -5), (5, 5), (-5, 5))),
    _Kind("time constants of currents", "dot2", ((0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0))),
    _Kind("threshold", "dot3", ((0, -6), (6, 5), (-6, 5))),
)


def draw_errors(found: Quantisation) -> str:
    """Draw errors of every node on a logarithmic axis, and how far its spike trains are from the float original's."""
    # found: of a network with one node at least
    rows = _rows(found)
    low, high = _decades([value for _, values in rows for value in values if value])
    trains = {distance.node: distance for distance in found.distances if distance.of_silence > 0}
    top = 62.0
    floor = top + _ROW * len(rows)
    scale = _WIDTH / (high - low)
    parts = [*_key(), *_axis(low, high, scale, top, floor)]
    at = _LEFT + _EXACT + _WIDTH + _TRAINS
    if trains:
        parts.append(label(at, 44, "spike trains: distance, of silence", "small", anchor="start"))
    for k, (node, values) in enumerate(rows):
        y = top + _ROW * (k + 0.5)
        parts.append(label(_LEFT - 12, y + 4.5, shorten(node, 14), "name", "end", node))
        for kind, value in zip(_KINDS, values, strict=True):
            if value is not None:
                place = math.log10(max(100 * value, 10.0**low)) - low
                x = _LEFT + 14 if value == 0 else _LEFT + _EXACT + scale * place
                parts.append(_mark(kind, x, y, f"{node}, {kind.name}: {error_percent(value)}"))
        if node in trains:
            row = trains[node]
            share = row.distance / row.of_silence
            tip = f"{node}: {row.spikes} spikes, {row.original_spikes} in the original"
            parts.append(element("rect", x=at, y=y - 6, width=_BAR, height=12, class_="band", title=tip))
            length = max(1.5, _BAR * min(1.0, share)) if share else 0
            parts.append(element("rect", x=at, y=y - 6, width=length, height=12, class_="bar", title=tip))
            text = f"{plain(row.distance)} of {plain(row.of_silence)}"
            parts.append(label(at + _BAR + 8, y + 4.5, text, "figure", anchor="start"))
    width = at + (_BAR + 150 if trains else -_TRAINS + 24)
    return drawing(width, floor + 12, parts, f"Errors of {len(rows)} nodes in the integers of {found.chip}")


def _rows(found: Quantisation) -> list[tuple[str, tuple[float | None, ...]]]:
    """Give errors of every node in the order of kinds; None where a node has nothing of the kind."""
    worst: dict[str, float] = {}
    for edge in found.edges:
        target = edge.edge.rpartition(" -> ")[2]
        worst[target] = max(worst.get(target, 0.0), edge.weight_error)
    rows: list[tuple[str, tuple[float | None, ...]]] = [
        (
            node.node,
            (
                worst.get(node.node),
                node.tau_error,
                max(node.synapse_tau_errors, default=None),
                node.threshold_error,
            ),
        )
        for node in found.nodes
    ]
    if len(rows) <= MOST_ROWS:
        return rows
    greatest = sorted(rows, key=lambda row: -max(value or 0.0 for value in row[1]))[:MOST_ROWS]
    return [row for row in rows if row in greatest]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Choose whole decades of % around errors; what lies below stands at the lower end."""
    if not values:
        return -3, 0
    high = math.ceil(math.log10(100 * max(values)) - 1e-9)
    low = math.floor(math.log10(100 * min(values)) + 1e-9)
    low = max(low, high - _MOST_DECADES)
    return min(low, high - 1), high


def _axis(low: int, high: int, scale: float, top: float, floor: float) -> list[str]:
    parts = [label(_LEFT - 12, 44, "error", "small", anchor="end"), label(_LEFT + 14, 44, "exact", "small")]
    for decade in range(low, high + 1):
        x = _LEFT + _EXACT + scale * (decade - low)
        parts.append(label(x, 44, f"{10.0**decade:.{max(0, -decade)}f} %", "small"))
        parts.append(element("path", d=f"M{number(x)} {number(top - 10)}V{number(floor)}", class_="grid"))
    x = _LEFT + 14
    parts.append(element("path", d=f"M{number(x)} {number(top - 10)}V{number(floor)}", class_="grid"))
    return parts


def _key() -> list[str]:
    parts, x = [], _LEFT
    for kind in _KINDS:
        parts.append(_mark(kind, x + 6, 12, ""))
        parts.append(label(x + 18, 16.5, kind.name, "small", anchor="start"))
        x += 40 + 6.6 * len(kind.name)
    return parts


def _mark(kind: _Kind, x: float, y: float, title: str) -> str:
    if not kind.points:
        return element("circle", cx=x, cy=y, r=5.5, class_=kind.class_, title=title)
    points = " ".join(f"{number(x + a)},{number(y + b)}" for a, b in kind.points)
    return element("polygon", points=points, class_=kind.class_, title=title)
