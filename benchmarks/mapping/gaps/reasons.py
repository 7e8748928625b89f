"""Which side is stuck and why, network by network: what the figures and the crops of this room were found to say."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REASONS"]

_BOTH, _BOUND, _OPEN = "both", "bound", "open"
_SIGNS = (
    "the bound counts sources with one axon position by position; the mapper gives nearly all an axon for each sign, "
    "where crops of this kind take fewer cores with types that are opposite in every neuron"
)
_TWO_FEEDS = (
    "as family 2, and a position reads two nodes, so that few of its features fit at two axons a source: "
    "the crop with two inputs takes half of the cores found"
)
_SHARING = (
    "found is what nodes apart take at least, to a fiftieth: what is left is whether nodes can share cores, "
    "which the bound allows wholly and the mapper does tile by tile"
)
_CROWDED = (
    "a self-edge: cores of the node are full of copies with axons to spare, which the bound spreads over all cores, "
    "and each core more asks for copies anew"
)
_ROWS = (
    "tiles of the node with a self-edge take 230 of 256 axons and hold a third fewer neurons than is not excluded: "
    "the next whole row or column does not fit, and nothing says that other shapes would"
)
REASONS: Mapping[str, tuple[str, str]] = {
    "convolution, ternary": (_BOTH, _SIGNS),
    "convolution, ternary with zeros": (
        _BOTH,
        "as ternary, and the bound counts types for windows without holes only: every source may have one axon",
    ),
    "irregular": (
        _BOUND,
        "neurons are taken to share sources as far as degrees and expansion allow; "
        "the crop is mapped to the fewest cores, which the bound does not reach",
    ),
    "grouped DSR4, streaming": (
        _BOUND,
        "each feed of H1 is bounded by neurons that are best for it alone: few positions of all features, or many of "
        "one group; no rectangle of windows without holes holds more than 36 neurons of it",
    ),
    "grouped DSR4, sequential": (_BOUND, "as streaming"),
    "16 chips": (
        _BOTH,
        "the bound lets all readers of a node share its axons (apart they take more); "
        "the mapper crowds the cores of nodes that are read twice with copies",
    ),
    "family 2": (_BOTH, _SIGNS),
    "family 4": (_BOTH, "as family 2"),
    "family 8": (_BOTH, _TWO_FEEDS),
    "family 15": (_BOTH, "as family 8"),
    "family 9": (_BOTH, _CROWDED),
    "family 1": (_BOTH, _SHARING),
    "family 13": (_BOTH, _SHARING),
    "family 5": (_OPEN, _ROWS),
    "family 11": (_BOTH, _CROWDED),
    "family 17": (_OPEN, "few cores: C1 takes 14 tiles where 12 are proven, and two more nodes fill one each"),
    "family 19": (_OPEN, "C1 takes 37 tiles where 33 are proven: tiles of whole rows and columns"),
    "family 20": (_OPEN, _ROWS),
}
"""By network; those that are proven to a tenth need none."""
