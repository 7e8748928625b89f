"""Figures as PDF, through the extra ``pages``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import PurePath


def with_pdf(figures: Mapping[str, str]) -> dict[str, str | bytes]:
    """Add a PDF to every SVG file, where ``vl-convert-python`` is installed."""
    found: dict[str, str | bytes] = dict(figures)
    try:
        from vl_convert import svg_to_pdf
    except ImportError:
        return found
    for name, document in figures.items():
        found[str(PurePath(name).with_suffix(".pdf"))] = svg_to_pdf(for_paper(document))
    return found


# A drawing as a file of its own: with its name space, style sheet and paper, light or dark as the reader's screen.


_PAPER = '<rect width="100%" height="100%" class="drawing-paper"/>'
_PAPER_RULE = ".drawing-paper { fill: var(--panel); }\n"
_STYLE = re.compile("<style>(.*?)</style>", re.DOTALL)
_DARK = "@media (prefers-color-scheme: dark)"
_FONT = 'svg { font-family: system-ui, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }\n'


def standalone(drawing: str) -> str:
    """Make an SVG file of a drawing of this package."""
    head, rest = drawing.split(">", 1)  # attributes are escaped, so the first one ends the tag
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    own = "".join(_STYLE.findall(rest))
    return f"{head}>\n<style>\n{_FONT}{_style(own)}</style>\n{_PAPER}{_STYLE.sub('', rest)}\n"


def for_paper(document: str) -> str:
    """Take the rules for dark screens and the ground out of an SVG file that :func:`standalone` made."""
    head, rest = document.split("<style>", 1)
    rules, body = rest.split("</style>", 1)
    return f"{head}<style>{rules.split(_DARK)[0]}</style>{body.replace(_PAPER, '', 1)}"


@cache
def _style(own: str) -> str:
    """Give the rules with colours as numbers: what draws files for papers and slides knows no variables of CSS."""
    light, dark = _sheet("colours.css").split(_DARK)
    rules = _PAPER_RULE + _sheet("drawing.css") + own
    return f"{_with_colours(rules, light)}{_DARK} {{\n{_with_colours(rules, dark)}}}\n"


def _sheet(name: str) -> str:
    return files("neuromap.forms").joinpath("templates", name).read_text(encoding="utf-8")


def _with_colours(rules: str, colours: str) -> str:
    value = dict(re.findall(r"--([\w-]+): *([^;]+);", colours))
    return re.sub(r"var\(--([\w-]+)\)", lambda found: value[found[1]], rules)
