"""The figures of the explorer page, drawn from the committed results; needs matplotlib (extra ``benchmarks``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from examples.explorer.drawing import CLASS_COLOURS, SHAPES, figure_of, legend, ring, svg_of, without_overlap
from examples.explorer.figures_of_cost import energy_figure, tick_figure
from examples.explorer.rows import load, mapped_rows

__all__ = ["FIGURES", "draw"]

Row = dict[str, Any]


def problem_figure() -> Figure:
    """DSR1's rows: cores against first response, and against sampling frequency."""
    found = load("dsr1")
    rows = mapped_rows(found)
    figure, (left, right) = figure_of(9.2, 4.1, 2, sharey=True)
    spread = max(r["cores"] for r in rows) - min(r["cores"] for r in rows)
    ms = found["tick_seconds"] * 1e3
    for axes, x_of, step in (
        (left, lambda r: r["first_ticks"] * ms, 0.1),
        (right, lambda r: r["period_ticks"] * ms, 0.1),
    ):
        rows.sort(key=lambda r: (x_of(r), r["cores"], r["class"], r["pattern"]))
        points = [(x_of(r), r["cores"]) for r in rows]
        x = without_overlap(points, step, spread / 40)
        _points(axes, rows, x)
        front = [k for k, r in enumerate(rows) if r["on_front"]]
        ring(axes, [x[k] for k in front], [rows[k]["cores"] for k in front])
        axes.set_xticks(sorted({p for p, _ in points}))
    left.set_xlabel("first response [ms = ticks] from stimulus onset")
    right.set_xlabel("frame period [ms = ticks]; sampling frequency = 1 / period")
    left.set_ylabel("cores")
    left.yaxis.get_major_locator().set_params(integer=True)
    entries = [
        {"marker": SHAPES[execution], "label": execution, "markersize": 6} for execution in ("windowed", "pipelined")
    ]
    entries.append({"marker": "o", "markersize": 11, "markerfacecolor": "none", "markeredgecolor": "black",
                    "label": "on the front of all classes"})  # fmt: skip
    legend(left, [*entries, *_class_entries(rows)], loc="center left", bbox_to_anchor=(0.0, 0.5))
    return figure


def _points(axes: Any, rows: list[Row], x: list[float]) -> None:
    for k, row in enumerate(rows):
        axes.plot(
            [x[k]], [row["cores"]], marker=SHAPES[row["execution"]], markersize=5.5, linestyle="",
            markerfacecolor=CLASS_COLOURS[row["class"] - 1], markeredgecolor="white", markeredgewidth=0.4, zorder=3,
        )  # fmt: skip


def _class_entries(rows: list[Row]) -> list[dict[str, Any]]:
    entries = []
    for number in sorted({row["class"] for row in rows}):
        names = {row["pattern"] for row in rows if row["class"] == number} & {"streaming", "sequential"}
        label = f"class {number}" + (f" ({names.pop()})" if names else "")
        entries.append({"marker": "D", "color": CLASS_COLOURS[number - 1], "markersize": 5, "label": label})
    return entries


def classes_figure() -> Figure:
    """Curves of what each class of DSR1 can do over the frame period, with the windowed patterns."""
    found = load("curves-dsr1")
    # the number that a class has in Figure 1: at P = 1 each has its own pair of responses
    known = {
        (row["first_ticks"], row["full_ticks"]): row["class"]
        for row in mapped_rows(load("dsr1"))
        if row["period_ticks"] == 1
    }
    classes = sorted((known[tuple(part["curve"][0][1:])], part) for part in found["classes"])
    figure, axes = figure_of(9.2, 3.4, len(classes), sharey=True)
    for one, (number, part) in zip(axes, classes, strict=True):
        periods = [point[0] for point in part["curve"]]
        for place, (what, dashes, colour) in enumerate(
            (("first response", "-", CLASS_COLOURS[0]), ("full response", "--", CLASS_COLOURS[1]))
        ):
            shift = 0.09 * (2 * place - 1)
            one.plot(periods, [p[1 + place] for p in part["curve"]], dashes, color=colour, linewidth=1.4, label=what)
            sizes: dict[tuple[int, int], int] = {}
            for dot in part["windowed"]:
                key = (dot[0], dot[1 + place])
                sizes[key] = sizes.get(key, 0) + dot[3]
            one.scatter(
                [p + shift for p, _ in sizes], [y for _, y in sizes], s=[9 * n for n in sizes.values()],
                marker=SHAPES["windowed"], color=colour, alpha=0.75, linewidths=0, zorder=3,
                label=f"{what}, windowed",
            )  # fmt: skip
        of = f" ({part['names'][0]})" if part["names"] else ""
        one.set_title(f"class {number}{of}: {part['patterns']} patterns", fontsize=8.5, loc="left")
        one.set_xticks(periods)
        one.set_xlabel("frame period P [update steps]")
    axes[0].set_ylabel("from stimulus onset [update steps]")
    axes[0].set_ylim(3, 16.9)
    axes[0].legend(frameon=False, fontsize=7.5, loc="upper left")
    return figure


def exact_figure() -> Figure:
    """Small networks: every row, mapped or excluded by a bound, and the front."""
    names = ("digits-ff", "digits-s", "digits-sr", "sr")
    figure, axes = figure_of(9.2, 3.5, len(names))
    for one, name in zip(axes, names, strict=True):
        found = load(name)
        rows = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
        for row in rows:
            row["height"] = row["core_bound"] if row["cores"] is None else row["cores"]
        rows.sort(key=lambda r: (r["period_ticks"], r["height"], r["class"], r["execution"], r["pattern"]))
        heights = [r["height"] for r in rows]
        x = without_overlap([(r["period_ticks"], r["height"]) for r in rows], 0.13, (max(heights) - 0.5) / 12)
        for k, row in enumerate(rows):
            mapped = row["cores"] is not None
            one.plot(
                [x[k]], [row["height"]], linestyle="", markersize=6, marker=SHAPES[row["execution"]] if mapped else "^",
                color=CLASS_COLOURS[row["class"] - 1], markerfacecolor=None if mapped else "none", zorder=3,
            )  # fmt: skip
        front = [k for k, row in enumerate(rows) if row["on_front"]]
        ring(one, [x[k] for k in front], [heights[k] for k in front])
        one.axhline(found["gap"]["core_bound"], color="black", linewidth=0.9, linestyle=(0, (5, 3)))
        one.set_ylim(0, max(heights) * 1.22)
        one.yaxis.get_major_locator().set_params(integer=True)
        one.set_xticks(sorted({r["period_ticks"] for r in rows}))
        one.set_xlim(0.5, 3.5)
        one.set_title(f"{found['network']}: {found['valid_patterns']} patterns", fontsize=8.5, loc="left")
        one.set_xlabel("frame period [ms = ticks]")
    axes[0].set_ylabel("cores")
    legend(
        axes[3],
        [
            {"marker": SHAPES["windowed"], "label": "windowed, mapped"},
            {"marker": SHAPES["pipelined"], "label": "pipelined, mapped"},
            {"marker": "^", "markerfacecolor": "none", "label": "excluded: its bound"},
            {"marker": "o", "markersize": 10, "markerfacecolor": "none", "markeredgecolor": "black", "label": "front"},
            {"linestyle": (0, (5, 3)), "color": "black", "linewidth": 0.9, "label": "bound of all patterns"},
        ],
        loc="lower left", bbox_to_anchor=(0.02, 0.27), fontsize=7.5,
    )  # fmt: skip
    return figure


def large_figure() -> Figure:
    """DSR6: where its windowed patterns lie, and cores found against the proven bound."""
    counted, found = load("heat-dsr6"), load("dsr6")
    rows = mapped_rows(found)
    figure, (left, right) = figure_of(9.2, 4.0, 2)
    periods = sorted({row[0] for row in counted["rows"]})
    firsts = sorted({row[1] for row in counted["rows"]})
    cells = [[0] * (max(periods) + 1) for _ in range(max(firsts) + 1)]
    for period, first, _, number in counted["rows"]:
        cells[first][period] += number
    shown = [[n or float("nan") for n in line] for line in cells]
    left.grid(False)
    image = left.imshow(shown, origin="lower", aspect="auto", cmap="Blues", norm=LogNorm(1, 1e6))
    left.set_xlim(0.5, max(periods) + 0.5)
    left.set_ylim(min(firsts) - 0.5, max(firsts) + 0.5)
    bar = figure.colorbar(image, ax=left)
    bar.set_label("windowed patterns")
    for row in rows:
        left.plot([row["period_ticks"]], [row["first_ticks"]], linestyle="", marker=SHAPES[row["execution"]],
                  markersize=8, color=CLASS_COLOURS[1], markeredgecolor="white", zorder=3)  # fmt: skip
    left.xaxis.get_major_locator().set_params(integer=True)
    left.yaxis.get_major_locator().set_params(integer=True)
    left.set_xlabel("frame period [ms = ticks]")
    left.set_ylabel("first response [ms = ticks] from stimulus onset")
    entries = [
        {"marker": SHAPES[e], "color": CLASS_COLOURS[1], "markersize": 7, "label": f"mapped, {e}"}
        for e in ("windowed", "pipelined")
        if any(row["execution"] == e for row in rows)
    ]
    legend(left, entries, loc="upper left")
    rows.sort(key=lambda r: (r["cores"], r["pattern"]))
    for k, row in enumerate(rows):
        right.plot([row["core_bound"], row["cores"]], [k, k], color="#999999", linewidth=1.2)
        right.plot([row["core_bound"]], [k], marker="^", markersize=7, color="#555555", markerfacecolor="none")
        right.plot([row["cores"]], [k], marker=SHAPES[row["execution"]], markersize=7, color=CLASS_COLOURS[1])
    right.axvline(found["gap"]["core_bound"], color="black", linewidth=0.9, linestyle=(0, (5, 3)))
    right.axvline(4096, color=CLASS_COLOURS[0], linewidth=0.9)
    right.set_yticks(range(len(rows)), [_short(row) for row in rows], fontsize=8)
    right.set_ylim(-0.6, len(rows) + 0.9)
    right.set_xlim(0, 4300)
    right.set_xlabel("cores")
    legend(
        right,
        [
            {"marker": "o", "color": CLASS_COLOURS[1], "label": "found"},
            {"marker": "^", "markerfacecolor": "none", "label": "bound of the row"},
            {"linestyle": (0, (5, 3)), "color": "black", "linewidth": 0.9, "label": "bound of all patterns"},
            {"linestyle": "-", "color": CLASS_COLOURS[0], "linewidth": 0.9, "label": "cores of the chip"},
        ],
        loc="upper left", ncols=2, fontsize=7.5,
    )  # fmt: skip
    return figure


def _short(row: Row) -> str:
    name = row["pattern"]
    if set(name) <= {"0", "1"}:
        name = f"{name.count('1')} of {len(name)} edges stream"
    return f"{name},\n{row['execution']}, P = {row['period_ticks']}"


FIGURES: Mapping[str, Callable[[], Figure]] = {
    "explorer-problem": problem_figure,
    "explorer-classes": classes_figure,
    "explorer-exact": exact_figure,
    "explorer-large": large_figure,
    "explorer-energy": energy_figure,
    "explorer-tick": tick_figure,
}
"""Every figure by the name of its file in docs/img."""


def draw(name: str) -> bytes:
    """Draw a figure as SVG.

    Parameters
    ----------
    name : str
        Of ``FIGURES``.

    Returns
    -------
    bytes
        Equal results give equal bytes, with one version of matplotlib.
    """
    return svg_of(FIGURES[name])
