"""The plot of ``benchmarks.engine.scaling``; needs matplotlib (extra ``benchmarks``). Equal figures, equal bytes."""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

__all__ = ["draw"]

_STYLE = {"svg.hashsalt": "neuromap", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
_COLOURS = ("#c4271b", "#2166ac", "#3a8f5b", "#7b4fa3")


def draw(found: list[dict[str, Any]]) -> bytes:
    """Draw milliseconds per tick over cores and over rate.

    Parameters
    ----------
    found : list of dict
        Documents of ``neuromap bench``.

    Returns
    -------
    bytes
        An SVG.
    """
    runs = [run for document in found for run in document["runs"]]
    rate = 20.0
    largest = max(run["cores"] for run in found[0]["runs"])
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(9.2, 4.2))
        left, right = figure.subplots(1, 2, sharey=True)
        awake = [run for run in runs if run["settings"]["rate_hz"] == rate and run["settings"]["at_rest"] == 0]
        _curves(left, awake, lambda run: run["cores"], "")
        _limits(left, awake)
        left.set_xscale("log", base=2)
        left.set_xlabel(f"cores of 256 neurons, all active, {rate:g} Hz")
        left.set_ylabel("milliseconds per tick, wall clock")
        _ticks(left, [run["cores"] for run in awake])
        for at_rest, dashes in ((0.0, ""), (0.99, "99 % at rest, ")):
            chosen = [run for run in runs if run["cores"] == largest and run["settings"]["at_rest"] == at_rest]
            _curves(right, chosen, lambda run: run["settings"]["rate_hz"], dashes)
        right.set_xscale("log")
        right.set_xlabel(f"rate of the active cores [Hz], {largest:,} cores")
        _ticks(right, sorted({run["settings"]["rate_hz"] for run in runs if run["cores"] == largest}))
        for axes in (left, right):
            axes.set_yscale("log")
            axes.axhline(runs[0]["tick_seconds"] * 1e3, color="black", linewidth=0.8, linestyle=(0, (5, 3)))
            axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(frameon=False, fontsize=8)
        left.annotate(
            "real time", (0, runs[0]["tick_seconds"] * 1e3), xycoords=("axes fraction", "data"), xytext=(4, 3),
            textcoords="offset points", fontsize=8,
        )  # fmt: skip
        machine = found[0]["machine"]
        left.set_title(f"{machine['cpu']}, {machine['cpus']} CPUs, {found[0]['date'][:10]}", fontsize=8, loc="left")
        figure.tight_layout()
        stream = io.BytesIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def _curves(axes: Any, runs: list[dict[str, Any]], x_of: Any, label: str) -> None:
    """One curve for every number of threads; resting programs dashed."""
    for number, timing in enumerate(runs[0]["timings"] if runs else []):
        points = sorted((x_of(run), run["timings"][number]["wall_seconds_per_tick"]["median"] * 1e3) for run in runs)
        threads = f"{timing['threads']} thread{'s' if timing['threads'] != 1 else ''}"
        axes.plot(
            *zip(*points, strict=True), marker="o", markersize=4, color=_COLOURS[number % len(_COLOURS)],
            linestyle="--" if label else "-", label=label + threads,
        )  # fmt: skip


def _limits(axes: Any, runs: list[dict[str, Any]]) -> None:
    """Short bars at what memory alone would take for one thread."""
    label = "memory alone, first curve"
    for run in runs:
        limit = run["timings"][0]["memory_limit_seconds_per_tick"]
        if limit:
            x = run["cores"]
            axes.plot([x / 1.3, x * 1.3], [limit * 1e3] * 2, color="black", linewidth=1, label=label)
            label = "_nolegend_"


def _ticks(axes: Any, values: list[float]) -> None:
    axes.set_xticks(values, [f"{value:,g}" for value in values])
    axes.minorticks_off()
