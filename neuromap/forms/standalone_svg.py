"""A drawing as a file of its own: with its name space, style sheet and paper, light or dark as the reader's screen."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["standalone"]

_SHEETS = ("colours.css", "drawing.css")
_PAPER = '<rect width="100%" height="100%" style="fill:var(--panel)"/>'
_FONT = 'svg { font-family: system-ui, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }\n'


def standalone(drawing: str) -> str:
    """Make an SVG file of a drawing of this package.

    Parameters
    ----------
    drawing : str
        One ``<svg>`` element, as the ``draw_…`` functions make it.

    Returns
    -------
    str
        A document that needs nothing else.
    """
    head, rest = drawing.split(">", 1)  # attributes are escaped, so the first one ends the tag
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{head}>\n<style>\n{_FONT}{_style()}</style>\n{_PAPER}{rest}\n"


@cache
def _style() -> str:
    folder = files("neuromap.forms").joinpath("templates")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in _SHEETS)
