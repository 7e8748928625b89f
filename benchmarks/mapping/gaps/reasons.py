"""Which side is stuck and why, network by network: what the figures and the crops of this room were found to say."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["REASONS"]

_BOTH, _BOUND, _MAPPER = "both", "bound", "mapper"
_SIGNS = (
    "the bound counts sources with one axon position by position; the mapper gives nearly all an axon for each sign, "
    "where crops take fewer cores with opposite types"
)
_SHARING = (
    "C1 takes 57 cores at least (tiles of any shape), as many as the bound of the whole; found is what nodes apart "
    "take at least: what is left is whether other nodes can share these cores, which the bound allows wholly"
)
_CROWDED = (
    "a self-edge: cores of the node are full of copies with axons to spare, which the bound spreads over all cores, "
    "and each core more asks for copies anew"
)
_EDGES = (
    "tiles of the node with a self-edge are the fewest there are, whatever their shapes, unless groups share cores; "
    "the bound leaves out neurons at the edges of an image this small"
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
    "family 2": (_BOTH, "as ternary"),
    "family 4": (_BOTH, "as ternary"),
    "family 8": (
        _BOTH,
        "C2 reads two nodes with random signs: cores hold four or five features of one position, as their patterns "
        "allow, the bound ten neurons of several positions, as if their types agreed; cores that are full of copies of "
        "C1 leave a third of their axons",
    ),
    "family 15": (
        _BOTH,
        "as ternary, and C3 and C4 read two nodes: two axons a source leave a core one position of them, "
        "the bound several, as if their types agreed",
    ),
    "family 9": (
        _BOTH,
        "C2: 43 tiles of other shapes exist where the mapper cuts 46, and the bound says 28; its cores are full of "
        "copies with axons to spare, which the bound spreads over all cores",
    ),
    "family 1": (_BOTH, _SHARING),
    "family 5": (_BOUND, _EDGES),
    "family 11": (_BOTH, _CROWDED),
    "family 17": (_BOUND, "C1 takes 14 cores at least (tiles of any shape), C2 shares them, and C3 fills one"),
    "family 19": (
        _MAPPER,
        "C1: 36 tiles of other shapes exist where the mapper cuts 37; no sets that were found allow fewer, "
        "the bound says 33",
    ),
    "family 20": (_BOUND, "as family 5"),
}
"""By network; those that are proven to a tenth need none."""
