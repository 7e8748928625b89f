"""Patterns as people write them: names, or streaming edges with commas between."""

from __future__ import annotations

import re

from neuromap.errors import PatternError
from neuromap.files.messages import show
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["pattern_of_text"]


def pattern_of_text(network: Network, text: str) -> RolloutPattern:
    """Read one pattern."""
    if "->" in text and text not in network.patterns:
        frames = _read_edges(text)
        label = ", ".join(f"{u} -> {v}" + ("" if r == 1 else f" by {r}") for (u, v), r in frames.items())
        return RolloutPattern.from_streaming_edges(network, frames, label, bridging=frames)
    if not text.strip():
        raise PatternError(
            "pattern: is empty; give a name (streaming, sequential, ...) or streaming edges ('H1 -> O, H2 -> O')"
        )
    return RolloutPattern.named(network, text.strip())


def _read_edges(text: str) -> dict[EdgeKey, int]:
    found: dict[EdgeKey, int] = {}
    for edge, frames in map(_read_edge, text.split(",")):
        if found.setdefault(edge, frames) != frames:
            raise PatternError(
                f"pattern: edge {' -> '.join(edge)} is given twice, by {found[edge]} and by {frames} frames; give it "
                "once"
            )
    return found


def _read_edge(text: str) -> tuple[EdgeKey, int]:
    edge, by, frames = text.partition(" by ")
    parts = [part.strip() for part in edge.split("->")]
    if len(parts) != 2 or not all(parts):
        raise PatternError(f"pattern: {text.strip()!r} is no edge; write edges as 'SOURCE -> TARGET', commas between")
    if by and not re.fullmatch("[1-9][0-9]{0,5}", frames.strip(), re.ASCII):
        raise PatternError(
            f"pattern: {show(text.strip())}: is by {show(frames.strip())} frames; give a whole number from 1 on"
        )
    return (parts[0], parts[1]), int(frames) if by else 1
