"""Figures of what rows cost: energy, and the tick that the network-on-chip allows."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from examples.explorer.drawing import CLASS_COLOURS, SHAPES, figure_of, legend
from examples.explorer.rows import load, mapped_rows

__all__ = ["energy_figure", "tick_figure"]

NETWORKS = (("digits-sr", "digits SR"), ("sr", "SR"), ("dsr1", "DSR1"), ("dsr6", "DSR6"))
STATIC_WATTS = 64.4e-3


def energy_figure() -> Figure:
    """Energy per frame against sampling frequency; terms apart for one row of SR and one of DSR1."""
    figure, (left, right) = figure_of(9.2, 3.9, 2)
    frequencies = np.geomspace(80, 1250, 50)
    left.plot(frequencies, STATIC_WATTS / frequencies * 1e6, color="black", linewidth=0.9)
    entries: list[dict[str, Any]] = [
        {"linestyle": "-", "color": "black", "linewidth": 0.9, "label": "64.4 mW × period: static power alone"}
    ]
    for number, (name, title) in enumerate(NETWORKS):
        found = load(name)
        rows = mapped_rows(found)
        for row in rows:
            left.plot(
                [1 / (row["period_ticks"] * found["tick_seconds"])], [row["energy_joules"] * 1e6], linestyle="",
                marker=SHAPES[row["execution"]], markersize=7, markerfacecolor="none",
                color=CLASS_COLOURS[number], zorder=3,
            )  # fmt: skip
        entries.append(
            {"marker": "o", "markerfacecolor": "none", "color": CLASS_COLOURS[number],
             "label": f"{title}, {len(rows)} rows"}
        )  # fmt: skip
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xticks([100, 200, 500, 1000], ["100", "200", "500", "1000"])
    left.set_yticks([50, 100, 200, 500], ["50", "100", "200", "500"])
    left.minorticks_off()
    left.set_ylim(25, 900)
    left.set_xlabel("sampling frequency [Hz]")
    left.set_ylabel("energy per frame [µJ]")
    legend(left, entries, loc="lower left")
    _terms(right)
    return figure


def _terms(axes: Any) -> None:
    """Terms of energy per frame of two streaming rows, side by side on a logarithmic scale."""
    rows = load("ticks")["rows"]
    chosen = [next(r for r in rows if r["network"] == n and "0" not in r["pattern"]) for n in ("sr", "dsr1")]
    titles = [title for title, _, _ in chosen[0]["terms"]]
    for place, (row, colour) in enumerate(zip(chosen, (CLASS_COLOURS[1], CLASS_COLOURS[2]), strict=True)):
        for k, (_, included, joules) in enumerate(row["terms"]):
            if not joules:
                continue
            height = len(titles) - 1 - k + (0.19 if place == 0 else -0.19)
            hollow = included is not None
            axes.barh(
                [height], [joules * 1e9], height=0.36, color="none" if hollow else colour, edgecolor=colour,
                linewidth=1, zorder=3,
            )  # fmt: skip
            axes.annotate(_energy(joules), (joules * 1e9, height), xytext=(4, 0), textcoords="offset points",
                          va="center", fontsize=8)  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(1, 2e6)
    axes.set_yticks(range(len(titles)), [fill(title.replace(" x ", " × "), 22) for title in titles[::-1]])
    axes.set_ylim(-0.6, len(titles) - 0.1)
    axes.set_xlabel("energy per frame [nJ], streaming")
    legend(
        axes,
        [
            {"marker": "s", "color": CLASS_COLOURS[1], "label": "SR"},
            {"marker": "s", "color": CLASS_COLOURS[2], "label": "DSR1"},
            {"marker": "s", "markerfacecolor": "none", "label": "within the terms above, not added"},
        ],
        loc="upper right", ncols=3, fontsize=7.5, columnspacing=0.9, borderaxespad=0,
    )  # fmt: skip


def _energy(joules: float) -> str:
    nano = joules * 1e9
    return f"{nano / 1e3:.3g} µJ" if nano >= 1000 else f"{nano:.3g} nJ"


def tick_figure() -> Figure:
    """Shortest ticks of rows, and first responses if every row ran at its own shortest tick."""
    rows = load("ticks")["rows"]
    figure, (left, right) = figure_of(9.2, 3.9, 2)
    for row in rows:
        colour = CLASS_COLOURS[1] if row["network"] == "sr" else CLASS_COLOURS[2]
        full = _kind(row)
        options = {"linestyle": "", "marker": full, "color": colour, "markersize": 7, "zorder": 3,
                   "markerfacecolor": colour if _named(row) else "none"}  # fmt: skip
        left.plot([row["period_ticks"]], [row["shortest_tick_cycles"]], **options)
        right.plot([row["first_ticks"]], [row["first_ticks"] * row["shortest_tick_cycles"]], **options)
    left.set_xlabel("frame period [ticks]")
    left.set_ylabel("shortest tick of the run [router cycles]")
    left.set_ylim(bottom=0)
    left.xaxis.get_major_locator().set_params(integer=True)
    right.set_xlabel("first response [ticks] from stimulus onset")
    right.set_ylabel("first response [router cycles]\nat the row's own shortest tick")
    right.set_ylim(bottom=0)
    right.xaxis.get_major_locator().set_params(integer=True)
    legend(
        right,
        [
            {"marker": "s", "color": CLASS_COLOURS[1], "label": "SR"},
            {"marker": "s", "color": CLASS_COLOURS[2], "label": "DSR1"},
            {"marker": "D", "label": "streaming"},
            {"marker": "s", "label": "sequential, windowed"},
            {"marker": "o", "label": "sequential, pipelined"},
            {"marker": "s", "markerfacecolor": "none", "label": "other patterns, windowed"},
        ],
        loc="upper left", ncols=2, fontsize=7.5,
    )  # fmt: skip
    top = max(row["first_ticks"] * row["shortest_tick_cycles"] for row in rows)
    right.set_ylim(0, top * 1.5)
    return figure


def _named(row: dict[str, Any]) -> bool:
    return row["name"] in ("streaming", "sequential")


def _kind(row: dict[str, Any]) -> str:
    return "D" if row["name"] == "streaming" else SHAPES[row["execution"]]
