"""A drawing as an image in a notebook, where its style sheet touches nothing else."""

from __future__ import annotations

import base64
import re
from html import escape, unescape

__all__ = ["inline_image"]


def inline_image(document: str) -> str:
    """Make an ``<img>`` element of an SVG file."""
    told = re.search('aria-label="(.*?)"', document)
    text = escape(unescape(told[1])) if told else ""
    data = base64.b64encode(document.encode()).decode()
    return f'<img alt="{text}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
