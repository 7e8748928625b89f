"""The parts of docs/explorer-study.md that state results: tables and sentences made from the committed documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from examples.explorer.rows import load, mapped_rows

__all__ = ["BLOCKS", "PAGE", "with_blocks"]

PAGE = Path(__file__).parents[2] / "docs" / "explorer-study.md"
Row = dict[str, Any]
Point = tuple[float, ...]


def table(header: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1) -> str:
    """Make a Markdown table whose first ``left`` columns are words."""
    rule = ["---" if k < left else "---:" for k in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in [list(header), rule, *map(list, lines)]) + "\n"


def count(number: int) -> str:
    """Write a whole number with commas."""
    return f"{number:,}"


def front(points: set[Point], tolerance: float) -> set[Point]:
    """Give the points of the front; less is better, and energies, the last figures, are equal within the tolerance."""
    found: set[Point] = set()
    for point in sorted(points):  # what beats a point comes before it
        if not any(_beats(other, point, tolerance) for other in found):
            found.add(point)
    return found


def _beats(one: Point, other: Point, tolerance: float) -> bool:
    exact = all(x <= y for x, y in zip(one[:-1], other[:-1], strict=True))
    if not exact or one[-1] > other[-1] * (1 + tolerance):
        return False
    return one[:-1] != other[:-1] or one[-1] < other[-1] * (1 - tolerance)


def _point(row: Mapping[str, Any]) -> Point:
    names = ("first_ticks", "full_ticks", "reaction_ticks", "period_ticks", "cores", "energy_joules")
    return tuple(float(row[name]) for name in names)


def compared(name: str) -> dict[str, Any]:
    """Hold the rows and the front of an exploration against those of brute force.

    Parameters
    ----------
    name : str
        Of the network.

    Returns
    -------
    dict
        Candidates of brute force, how many of them have the figures of a mapped row, and whether the fronts are equal.
    """
    brute, found = load(f"brute-{name}"), load(name)
    candidates = [dict(zip(brute["columns"], row, strict=True)) for row in brute["rows"]]
    every = {_point(row) for row in candidates}
    rows = {_point(row) for row in mapped_rows(found)}
    tolerance = found["energy_tolerance"]
    return {
        "candidates": len(candidates),
        "alike": sum(_point(row) in rows for row in candidates),
        "unknown_to_brute_force": len(rows - every),
        "points": len(every),
        "front_points": len(front(every, tolerance)),
        "fronts_equal": front(every, tolerance) == {_point(row) for row in mapped_rows(found) if row["on_front"]},
    }


def small_table() -> str:
    """Tell what the explorations of small networks found."""
    lines = []
    for name in ("digits-ff", "digits-s", "digits-sr", "sr", "dsr1"):
        found = load(name)
        rows = mapped_rows(found)
        lines.append(
            (
                found["network"], count(found["valid_patterns"]), str(found["behaviour_classes"]),
                str(found["distinct_rows"]), str(found["mapped"]),
                str(sum(r["on_front"] for r in rows)), str(sum(r["on_class_front"] and r["class"] == 1 for r in rows)),
                f"{min(r['cores'] for r in rows)} to {max(r['cores'] for r in rows)}", str(found["gap"]["core_bound"]),
                "yes" if found["gap"]["is_exact"] else "no",
            )
        )  # fmt: skip
    header = (
        "network", "patterns", "classes", "rows", "mapped", "front", "class front", "cores", "bound", "exact",
    )  # fmt: skip
    return table(header, lines)


def front_table(name: str) -> str:
    """Rows on a front, with what they are better in."""
    found = load(name)
    tick = found["tick_seconds"]
    rows = [row for row in mapped_rows(found) if row["on_front"]]
    return _rows_table(rows, tick)


def _rows_table(rows: Sequence[Row], tick: float) -> str:
    lines = [
        (
            f"`{row['pattern']}`", row["execution"], str(row["class"]),
            f"{row['first_ticks']} / {row['full_ticks']} / {row['reaction_ticks']}",
            f"{1 / (row['period_ticks'] * tick):.4g}", f"{count(row['cores'])} (≥ {count(row['core_bound'])})",
            f"{row['energy_joules'] * 1e6:.2f}",
        )
        for row in rows
    ]  # fmt: skip
    header = (
        "pattern", "execution", "class", "responses [ticks]", "sampling [Hz]", "cores", "energy [µJ]",
    )  # fmt: skip
    return table(header, lines, 2)


def schedules_table() -> str:
    """Patterns, classes and rows of DSR1 to DSR6."""
    lines = [
        (
            r["network"], str(r["edges"]), count(r["valid_patterns"]), count(r["classes"]), count(r["candidates"]),
            count(r["distinct_rows"]), count(r["distinct_times"]), count(r["core_bound"]),
        )
        for r in load("schedules")["rows"]
    ]  # fmt: skip
    header = (
        "network", "edges", "valid patterns", "classes", "candidates", "rows", "distinct times", "bound",
    )  # fmt: skip
    return table(header, lines)


def classes_text() -> str:
    """How windowed patterns compare with the curves of their classes."""
    parts = []
    for name in ("digits-s", "dsr1", "dsr2"):
        c = load(f"curves-{name}")
        parts.append(
            f"{c['network']}: {c['windowed_patterns']} patterns, {c['on_their_curve']} on the curve, "
            f"{c['windowed_patterns'] - c['on_their_curve'] - c['below_their_curve']} above, "
            f"{c['below_their_curve']} below"
        )
    return (
        "Windowed, at the period P = F(R) of each pattern, against first and full response of its class at that "
        f"period. {'. '.join(parts)}.\n"
    )


def large_text() -> str:
    """Tell what the guided search of DSR6 found, with its gap."""
    found = load("dsr6")
    rows = mapped_rows(found)
    head = (
        f"Of {count(found['candidates'])} candidates ({count(found['valid_patterns'])} patterns in two executions) "
        f"{count(found['distinct_rows'])} are distinct rows; {found['mapped']} were mapped. The explorer's statement:\n"
        "\n"
        f"> {found['gap']['statement']}\n\n"
    )
    return head + _rows_table(rows, found["tick_seconds"])


def tick_text() -> str:
    """Tell what the shortest ticks come to."""
    rows = load("ticks")["rows"]
    parts = []
    for name in ("sr", "dsr1"):
        mine = [r for r in rows if r["network"] == name]
        one = next(r for r in mine if r["name"] == "streaming")
        other = next(r for r in mine if r["name"] == "sequential" and r["execution"] == "windowed")
        a, b = one["shortest_tick_cycles"], other["shortest_tick_cycles"]
        first = other["first_ticks"] * b / (one["first_ticks"] * a)
        frame = other["period_ticks"] * b / (one["period_ticks"] * a)
        parts.append(
            f"- {name.upper()}: the shortest tick of the sequential pattern, windowed, is {b / a:.2f} times that of "
            f"streaming. In ticks its first response is {other['first_ticks'] / one['first_ticks']:.2f} times that of "
            f"streaming, in router cycles {first:.2f} times; its frame period is {other['period_ticks']} times as many "
            f"ticks, and {frame:.2f} times as many cycles. The busiest link of the mesh carries "
            f"{one['peak_mesh_link']} spikes in a tick under streaming and {other['peak_mesh_link']} under sequential, "
            f"the busiest one between a core and its router {one['peak_core_link']} and {other['peak_core_link']}."
        )
    return "\n".join(parts) + "\n"


BLOCKS: Mapping[str, Callable[[], str]] = {
    "small": small_table,
    "front-dsr1": lambda: front_table("dsr1"),
    "schedules": schedules_table,
    "classes": classes_text,
    "large": large_text,
    "tick-text": tick_text,
}
"""Every part by the name in its markers."""

_MARKED = re.compile(r"(<!-- begin ([a-z0-9-]+) -->\n\n?)(.*?)(\n?<!-- end \2 -->)", re.DOTALL)


def with_blocks(page: str) -> str:
    """Give the page's text with every part made anew from the results."""
    return _MARKED.sub(lambda m: f"<!-- begin {m[2]} -->\n\n{BLOCKS[m[2]]()}\n<!-- end {m[2]} -->", page)
