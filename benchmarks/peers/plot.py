"""The plot of ``benchmarks.peers``; needs matplotlib (extra ``benchmarks``). Equal figures give equal bytes."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.peers.catalogue import PEERS
from benchmarks.peers.comparison import Comparison

__all__ = ["draw"]

_STYLE = {"svg.hashsalt": "neuromap", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
_COLOURS = {
    "neuromap": "#c4271b",
    "c_kernel": "#e08a1e",
    "brian2": "#2166ac",
    "genn": "#3a8f5b",
    "nest": "#7b4fa3",
    "sanafe": "#8c6d46",
    "nengo": "#4aa3a2",
    "ranc": "#666666",
}
_NEAREST = 1.6
"""Names at the ends of curves keep this factor between them."""


def draw(found: Comparison) -> bytes:
    """Draw milliseconds per tick over cores.

    Parameters
    ----------
    found : Comparison
        What was measured.

    Returns
    -------
    bytes
        An SVG.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 4.8))
        axes = figure.subplots()
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        _curves(axes, found)
        first, last = min(found.cores), max(found.cores)
        axes.axhline(1, color="black", linewidth=0.8, linestyle=(0, (5, 3)))
        axes.annotate("real time", (last * 3.1, 1), xytext=(0, 3), textcoords="offset points", ha="right", fontsize=8)
        for cores in found.cores:
            if (limit := found.limit_ms(cores)) is not None:
                axes.plot([cores / 1.3, cores * 1.3], [limit, limit], color="black", linewidth=1)
                axes.annotate(
                    "memory alone", (cores, limit), xytext=(0, -10), textcoords="offset points", ha="center", fontsize=7
                )
        axes.set_xlim(first / 1.4, last * 3.2)
        axes.set_xticks(found.cores, [f"{cores:,}" for cores in found.cores])
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()
        axes.set_xlabel("cores of 256 neurons, all active, 20 Hz")
        axes.set_ylabel("milliseconds per tick, CPU time, one thread")
        axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(f"{found.machine['cpu']}, one thread, {found.date}", fontsize=8, loc="left")
        figure.tight_layout()
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return file.getvalue()


def _curves(axes: Any, found: Comparison) -> None:
    ends = []
    for peer in PEERS:
        points = [(cores, m.ms) for cores in found.cores if (m := found.of(peer.name, cores)) is not None]
        if not points:
            continue
        ours, colour = peer.name == "neuromap", _COLOURS[peer.name]
        x, y = zip(*points, strict=True)
        axes.plot(x, y, marker="o", markersize=4, color=colour, linewidth=2.2 if ours else 1.3, zorder=3 if ours else 2)
        ends.append((y[-1], x[-1], peer.title, colour, "bold" if ours else "normal"))
    # Names that would lie on each other are pushed up; above its end stands that of a curve that ends early.
    highest: dict[float, float] = {}
    for y_end, x_end, title, colour, weight in sorted(ends):
        at = max(y_end, highest.get(x_end, 0.0) * _NEAREST)
        highest[x_end] = at
        early = x_end < max(found.cores)
        axes.annotate(
            title,
            (x_end, at),
            xytext=(0, 7) if early else (7, 0),
            textcoords="offset points",
            va="bottom" if early else "center",
            ha="center" if early else "left",
            color=colour,
            fontweight=weight,
        )
