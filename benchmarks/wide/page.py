"""Tables and picture of the page on wide neurons."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from neuromap.render.svg import drawing, element, label, standalone

__all__ = ["PATTERNS", "picture", "with_paper", "with_tables"]

PATTERNS = ("streaming", "sequential")
_WIDTH, _HEIGHT, _LEFT, _TOP = 300, 300, 56, 64
_STYLE = """
.axis { stroke: var(--soft); fill: none; }
.grid { stroke: var(--rule); fill: none; }
.streaming { stroke: var(--streaming); fill: none; stroke-width: 1.8; }
.sequential { stroke: var(--sequential); fill: none; stroke-width: 1.8; stroke-dasharray: 5 3; }
.mark { fill: var(--panel); stroke-dasharray: none; }
.whole { fill: var(--ink); stroke: none; }
text { font-size: 11px; fill: var(--ink); }
.title { font-size: 13px; font-weight: 600; }
.small { font-size: 10px; fill: var(--soft); }
"""


def with_tables(page: str, found: dict[str, Any]) -> str:
    """Put the tables between the marks of the page."""
    text = "\n\n".join(_table(name, rows) for name, rows in _by_network(found).items())
    begin, end = "<!-- begin tables -->", "<!-- end tables -->"
    inner = f"{begin}\n{text}\n\nMeasured {found['date']}.\n{end}"
    return re.sub(f"{begin}.*{end}", lambda _: inner, page, flags=re.DOTALL)


def with_paper(page: str, rows: list[dict[str, Any]]) -> str:
    """Put the table of the paper's networks between its marks of the page."""
    lines = [
        "| network | neurons | synapses | parts of sums | cores | chips | P / first [ticks] |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        counts = " | ".join(f"{row[key]:,}" for key in ("neurons", "synapses", "parts", "cores", "chips"))
        far = "" if row.get("reach", True) else " *"
        lines.append(f"| {row['network'].upper()}{far} | {counts} | {row['period']} / {row['first']} |")
    begin, end = "<!-- begin paper -->", "<!-- end paper -->"
    inner = "\n".join([begin, *lines, end])
    return re.sub(f"{begin}.*{end}", lambda _: inner, page, flags=re.DOTALL)


def _by_network(found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    networks: dict[str, list[dict[str, Any]]] = {}
    for row in found["rows"]:
        networks.setdefault(row["network"], []).append(row)
    return networks


def _table(name: str, rows: list[dict[str, Any]]) -> str:
    lines = [
        f"**{name}**:",
        "",
        "| axons of a core | ticks of a sum | cores | streaming: P / first | sequential: P / first |",
        "|---:|---:|---:|---:|---:|",
    ]
    pairs: dict[tuple[int, int | None], dict[str, dict[str, Any]]] = {}
    for row in rows:
        pairs.setdefault((row["axons"], row["ticks"]), {})[row["pattern"]] = row
    for (axons, ticks), pair in pairs.items():
        one, two = (pair[pattern] for pattern in PATTERNS)
        if "refused" in one or "refused" in two:
            lines.append(f"| {axons} | - | refused | - | - |")
            continue
        sums = "all" if ticks is None and one["parts"] else "-" if ticks is None else str(ticks)
        cores = f"{one['cores']:,}" if one["cores"] == two["cores"] else f"{one['cores']:,} / {two['cores']:,}"
        times = " | ".join(f"{row['period']} / {_first(row)}" for row in (one, two))
        lines.append(f"| {axons} | {sums} | {cores} | {times} |")
    return "\n".join(lines)


def _first(row: dict[str, Any]) -> str:
    same = row["predicted_first"] == row["measured_first"]
    return (
        str(row["predicted_first"]) if same else f"{row['predicted_first']} predicted, {row['measured_first']} measured"
    )


def picture(found: dict[str, Any]) -> str:
    """Draw cores against first response, a panel per network, both on logarithmic axes."""
    parts = [element("style", _STYLE)]
    networks = _by_network(found)
    for k, (name, rows) in enumerate(networks.items()):
        known = [row for row in rows if "refused" not in row]
        parts.append(element("g", *_panel(name, known), transform=f"translate({k * (_WIDTH + _LEFT + 20)} 0)"))
    width, height = len(networks) * (_WIDTH + _LEFT + 20), _HEIGHT + _TOP + 56
    return standalone(drawing(width, height, parts, "Cores against first response, by ticks of partial sums"))


def _panel(name: str, rows: list[dict[str, Any]]) -> list[str]:
    ticks = [row["predicted_first"] for row in rows]
    cores = [row["cores"] for row in rows]
    x = _scale(min(ticks), max(ticks), _LEFT, _LEFT + _WIDTH)
    y = _scale(min(cores), max(cores), _TOP + _HEIGHT, _TOP)
    drawn = [label(_LEFT, 18, name, "title", "start")]
    drawn.append(label(_LEFT, 36, "parts of sums: streaming full, sequential dashed", "small", "start"))
    drawn.append(label(_LEFT, 49, "dots: whole sums on cores that are wide enough", "small", "start"))
    for value in _decades(min(ticks), max(ticks)):
        drawn.append(element("path", d=f"M{x(value):.1f} {_TOP}V{_TOP + _HEIGHT}", class_="grid"))
        drawn.append(label(x(value), _TOP + _HEIGHT + 16, f"{value:g}"))
    for value in _decades(min(cores), max(cores)):
        drawn.append(element("path", d=f"M{_LEFT} {y(value):.1f}H{_LEFT + _WIDTH}", class_="grid"))
        drawn.append(label(_LEFT - 6, y(value) + 4, f"{value:g}", anchor="end"))
    drawn.append(element("path", d=f"M{_LEFT} {_TOP}V{_TOP + _HEIGHT}H{_LEFT + _WIDTH}", class_="axis"))
    drawn.append(label(_LEFT + _WIDTH / 2, _TOP + _HEIGHT + 34, "first response [ticks]"))
    drawn.append(label(_LEFT - 6, _TOP - 4, "cores", anchor="end"))
    for pattern in PATTERNS:
        cut = [row for row in rows if row["pattern"] == pattern and row["parts"]]
        points = [(x(row["predicted_first"]), y(row["cores"])) for row in cut]
        way = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
        drawn.append(element("path", d=way, class_=pattern))
        for (a, b), row in zip(points, cut, strict=True):
            sums = "all ticks" if row["ticks"] is None else f"T = {row['ticks']}"
            said = f"{pattern}, {sums}: {row['cores']} cores, first response {row['predicted_first']} ticks"
            drawn.append(element("circle", title=said, cx=a, cy=b, r=4, class_=f"{pattern} mark"))
        for row in rows:
            if row["pattern"] == pattern and not row["parts"]:
                said = f"{pattern}, cores of {row['axons']} axons: {row['cores']} cores, {row['predicted_first']} ticks"
                drawn.append(
                    element(
                        "circle", title=said, cx=x(row["predicted_first"]), cy=y(row["cores"]), r=3.5, class_="whole"
                    )
                )
    return drawn


def _scale(low: float, high: float, begin: float, end: float) -> Callable[[float], float]:
    a, b = math.log(low * 0.8), math.log(high * 1.25)
    return lambda value: begin + (math.log(value) - a) / (b - a) * (end - begin)


def _decades(low: float, high: float) -> list[float]:
    steps = [m * 10.0**k for k in range(6) for m in (1, 2, 5)]
    return [step for step in steps if low * 0.8 <= step <= high * 1.25]
