"""Small pieces of SVG as strings, escaped; colours and fonts come from the page's style sheet.

All colours are classes, so that a page can be light or dark; nothing refers to anything outside the drawing,
and no ``id`` is used, so that any number of drawings fit on one page.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape, unescape
from importlib.resources import files
from pathlib import PurePath

Point = tuple[float, float]

# Width of a drawing that fits a phone's screen, with letters as large as elsewhere.
PHONE = 336.0


def number(value: float) -> str:
    """Format a coordinate with at most two decimals."""
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
    """Make a line of text; ``y`` is its baseline."""
    return element("text", escape(text), title=title, x=x, y=y, class_=class_, text_anchor=anchor)


def line_key(name: str, place: int, x: float, y: float, longest: int = 60) -> Iterator[str]:
    """Make an entry of a key: a sample of the ``place``-th line, and its name on the baseline ``y``."""
    yield element("path", d=f"M{number(x)} {number(y - 4)}h28", class_=f"accuracy line{place}")
    yield label(x + 36, y, shorten(name, longest), "small", anchor="start", title=name)


def shorten(text: str, length: int) -> str:
    """Cut a name that would not fit; drawings put the whole name into a tooltip."""
    return text if len(text) <= length else text[: length - 1] + "…"


def names_width(names: Iterable[str]) -> float:
    """Return the width of names at the left of a drawing, cut to ten letters, with margins."""
    return max(46.0, 20 + 8.5 * max((len(shorten(name, 10)) for name in names), default=0))  # the axis has a name too


def arrow(path: str, before: Point, end: Point, class_: str, title: str = "", **attributes: str | float) -> str:
    """Make a path with an arrowhead at its end."""
    angle = math.atan2(end[1] - before[1], end[0] - before[0])
    length, half = 7.5, 3.2
    cos, sin = math.cos(angle), math.sin(angle)
    sides = [(end[0] - length * cos + side * sin, end[1] - length * sin - side * cos) for side in (half, -half)]
    points = " ".join(f"{number(x)},{number(y)}" for x, y in (end, *sides))
    line, head = element("path", d=path, class_="line"), element("polygon", points=points)
    return element("g", line, head, title=title, class_=class_, **attributes)


def drawing(width: float, height: float, children: Iterable[str], description: str) -> str:
    """Make the root ``<svg>`` element; ``description`` is for screen readers."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {number(width)} {number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=description,
    )


# A drawing as a standalone file: with namespace, style sheet and background, light or dark as the reader's screen.


_PAPER = '<rect width="100%" height="100%" class="drawing-paper"/>'
_PAPER_RULE = ".drawing-paper { fill: var(--panel); }\n"
_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)
_DARK = "@media (prefers-color-scheme: dark)"
_FONT = 'svg { font-family: system-ui, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }\n'


def standalone(drawing: str) -> str:
    """Make an SVG file from a drawing of this package."""
    head, rest = drawing.split(">", 1)  # attributes are escaped, so the first one ends the tag
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    own = "".join(_STYLE.findall(rest))
    return f"{head}>\n<style>\n{_FONT}{_style(own)}</style>\n{_PAPER}{_STYLE.sub('', rest)}\n"


def for_paper(document: str) -> str:
    """Remove the rules for dark screens and the background from an SVG file made by :func:`standalone`."""
    head, rest = document.split("<style>", 1)
    rules, body = rest.split("</style>", 1)
    return f"{head}<style>{rules.split(_DARK)[0]}</style>{body.replace(_PAPER, '', 1)}"


@cache
def _style(own: str) -> str:
    """Return the rules with literal colours: tools for papers and slides do not support CSS variables."""
    light, dark = _sheet("colours.css").split(_DARK)
    rules = _PAPER_RULE + _sheet("drawing.css") + own
    return f"{_with_colours(rules, light)}{_DARK} {{\n{_with_colours(rules, dark)}}}\n"


def _sheet(name: str) -> str:
    return files("neuromap.render").joinpath("templates", name).read_text(encoding="utf-8")


def _with_colours(rules: str, colours: str) -> str:
    value = dict(re.findall(r"--([\w-]+): *([^;]+);", colours))
    return re.sub(r"var\(--([\w-]+)\)", lambda found: value[found[1]], rules)


def inline_image(document: str) -> str:
    """Make an ``<img>`` element from an SVG file."""
    told = re.search('aria-label="(.*?)"', document)
    text = escape(unescape(told[1])) if told else ""
    data = base64.b64encode(document.encode()).decode()
    return f'<img alt="{text}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def with_pdf(figures: Mapping[str, str]) -> dict[str, str | bytes]:
    """Add a PDF to every SVG file, if ``vl-convert-python`` is installed."""
    found: dict[str, str | bytes] = dict(figures)
    try:
        from vl_convert import svg_to_pdf
    except ImportError:
        return found
    for name, document in figures.items():
        found[str(PurePath(name).with_suffix(".pdf"))] = svg_to_pdf(for_paper(document))
    return found
