"""What every node of an imported network computes in a frame, as a picture."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.forms.svg import drawing, element, label, shorten

__all__ = ["MOST_BARS", "draw_work"]

MOST_BARS = 24
"""Nodes that are drawn; of more those with most work."""

_LEFT, _ROW, _WIDTH = 214.0, 24.0, 520.0


def draw_work(work: Mapping[str, int]) -> str:
    """Draw multiply-accumulates per frame of nodes as bars, in the order of the network."""
    # work: of some nodes, one at least
    most = sorted(work, key=lambda name: -work[name])[:MOST_BARS]
    shown = [name for name in work if name in set(most)]
    scale = _WIDTH / max(1, *work.values())
    parts = [label(_LEFT, 18, "multiply-accumulates per frame", "small", anchor="start")]
    for k, name in enumerate(shown):
        y = 30 + _ROW * (k + 0.5)
        length = max(1.5, work[name] * scale) if work[name] else 0
        tip = f"{name}: {work[name]:,} multiply-accumulates per frame"
        parts.append(label(_LEFT - 12, y + 4.5, shorten(name, 21), "name", "end", name))
        parts.append(element("rect", x=_LEFT, y=y - 6, width=length, height=12, class_="bar", title=tip))
        parts.append(label(_LEFT + length + 8, y + 4.5, f"{work[name]:,}", "figure", anchor="start"))
    height = 38 + _ROW * len(shown)
    return drawing(_LEFT + _WIDTH + 150, height, parts, f"Multiply-accumulates per frame of {len(shown)} nodes")
