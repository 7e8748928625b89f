"""Small pieces of SVG as strings, escaped; colours and fonts come from the page's style sheet.

All colours are classes, so that a page can be light or dark; nothing refers to anything outside the drawing,
and no ``id`` is used, so that any number of drawings fit on one page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

__all__ = ["Point", "arrow", "drawing", "element", "label", "line_key", "number", "shorten"]

Point = tuple[float, float]


def number(value: float) -> str:
    """Write a coordinate with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))


def element(tag: str, *children: str, title: str = "", **attributes: str | float) -> str:
    """Make an element."""
    # *children: markup; text must have been escaped
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value) if isinstance(value, str) else number(value)}"'
        for name, value in attributes.items()
    )
    inner = (f"<title>{escape(title)}</title>" if title else "") + "".join(children)
    return f"<{tag}{written}>{inner}</{tag}>" if inner else f"<{tag}{written}/>"


def label(x: float, y: float, text: str, class_: str = "", anchor: str = "middle", title: str = "") -> str:
    """Make a line of text; ``y`` is its base line."""
    return element("text", escape(text), title=title, x=x, y=y, class_=class_, text_anchor=anchor)


def line_key(name: str, place: int, x: float, y: float) -> list[str]:
    """Make an entry of the key of curves: a piece of the line of its place, and its name on the base line ``y``."""
    return [
        element("path", d=f"M{number(x)} {number(y - 4)}h28", class_=f"accuracy line{place}"),
        label(x + 36, y, shorten(name, 60), "small", anchor="start", title=name),
    ]


def shorten(text: str, length: int) -> str:
    """Cut a name that would not fit; drawings put the whole name into a tooltip."""
    return text if len(text) <= length else text[: length - 1] + "…"


def arrow(path: str, before: Point, end: Point, class_: str, title: str = "", **attributes: str | float) -> str:
    """Make a path with a head at its end."""
    angle = math.atan2(end[1] - before[1], end[0] - before[0])
    length, half = 7.5, 3.2
    corners = [end]
    for side in (1, -1):
        corners.append(
            (
                end[0] - length * math.cos(angle) + side * half * math.sin(angle),
                end[1] - length * math.sin(angle) - side * half * math.cos(angle),
            )
        )
    points = " ".join(f"{number(x)},{number(y)}" for x, y in corners)
    line, head = element("path", d=path, class_="line"), element("polygon", points=points)
    return element("g", line, head, title=title, class_=class_, **attributes)


def drawing(width: float, height: float, children: Iterable[str], description: str) -> str:
    """Make the outermost element; ``description`` is read out by screen readers."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=description,
    )
