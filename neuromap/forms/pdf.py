"""Figures as PDF, through the extra ``pages``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from neuromap.forms.standalone_svg import for_paper

__all__ = ["with_pdf"]


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
