"""Spikes over ticks, a band for every node."""

from __future__ import annotations

import numpy as np

from neuromap.files.messages import counted
from neuromap.forms.svg import drawing, element, label, number, shorten
from neuromap.report.drawings.draw_chip import COLOURS
from neuromap.report.figures.spike_raster import SpikeRaster

__all__ = ["draw_raster"]

_LEFT, _TOP, _GAP = 96.0, 34.0, 8.0
_WIDTH = 820.0
_LOWEST, _HIGHEST = 26.0, 112.0
_NEURON = 2.4
"""Height of a neuron's line where there is room."""


def draw_raster(raster: SpikeRaster, heading: str = "") -> str:
    """Draw spikes of neurons over ticks, with the ticks in which a node has a frame."""
    top = _TOP + (22 if heading else 0)
    step = max(4.0, min(28.0, round(_WIDTH / max(1, raster.n_ticks))))
    right = _LEFT + step * raster.n_ticks
    parts = [label(8, 18, heading, "heading", anchor="start")] if heading else []
    parts.append(label(_LEFT - 12, top - 8, "tick", "small", anchor="end"))
    every = next(k for k in (1, 2, 5, 10, 20, 50) if k * step >= 26)
    for tick in range(0, raster.n_ticks, every):
        parts.append(label(_LEFT + step * (tick + 0.5), top - 8, str(tick), "small"))
    y = top
    for k, name in enumerate(raster.names):
        height = min(_HIGHEST, max(_LOWEST, _NEURON * -(-raster.sizes[k] // raster.every[k])))
        parts += _band(raster, k, name, y, height, step, right)
        y += height + _GAP
    description = f"Spikes of {counted(len(raster.names), 'node')} in {counted(raster.n_ticks, 'tick')}"
    return drawing(right + 110, y, parts, description)


def _band(raster: SpikeRaster, k: int, name: str, y: float, height: float, step: float, right: float) -> list[str]:
    mine = raster.node == k
    rows = -(-raster.sizes[k] // raster.every[k])
    line = height / rows
    ticks, lines = raster.tick[mine], raster.neuron[mine] // raster.every[k]
    parts = [element("rect", x=_LEFT, y=y, width=right - _LEFT, height=height, class_="band")]
    columns = raster.samples[k]
    if np.diff(columns).max(initial=1) > 1:
        boxes = "".join(f"M{number(_LEFT + step * t)} {number(y)}h{number(step)}v{number(height)}h-{number(step)}z"
                        for t in columns.tolist())  # fmt: skip
        parts.append(element("path", d=boxes, class_="sampled"))
    marks = "".join(
        f"M{number(_LEFT + step * t + 1)} {number(round(y + line * (n + 0.5), 1))}h{number(step - 2)}"
        for t, n in zip(ticks.tolist(), lines.tolist(), strict=True)
    )
    shown = counted(raster.sizes[k], "neuron")
    if raster.every[k] > 1:
        shown = f"every {_ordinal(raster.every[k])} of {shown}"
    tip = f"{name}: {shown}, {counted(len(ticks), 'spike')} in {counted(raster.n_ticks, 'tick')}"
    shade = " pale" if k // COLOURS % 2 else ""
    width = min(6.0, max(1.0, 0.8 * line))
    if marks:
        parts.append(
            element("path", d=marks, class_=f"spike colour-{k % COLOURS + 1}{shade}", title=tip, stroke_width=width)
        )
    middle = y + height / 2
    parts.append(label(_LEFT - 12, middle + 4.5, shorten(name, 10), "name", anchor="end", title=tip))
    rate = np.float64(len(ticks)) / max(1, rows * raster.n_ticks)
    parts.append(label(right + 10, middle - 2, f"{100 * rate:.3g} %", "small", anchor="start", title=_RATE))
    parts.append(label(right + 10, middle + 13, "spike per tick", "small", anchor="start", title=_RATE))
    return parts


_RATE = "part of the neurons that are shown which spike in a tick, on average over these ticks"


def _ordinal(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"
