"""A NIR graph as plain values, whatever file or object it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.card import Card

__all__ = ["MetaValue", "NirGraph", "NirNode"]

MetaValue: TypeAlias = "str | NDArray[np.float64]"
"""What a key of metadata holds: a text, or numbers of any shape."""


@dataclass(frozen=True, eq=False)
class NirNode(Card):
    """One primitive of NIR.

    Attributes
    ----------
    kind : str
        Its type as NIR calls it, such as ``"LIF"``.
    parameters : mapping of str to ndarray of float64
        Numbers by the names of NIR, in its shapes; seconds and volts, or whatever the writer took for them.
    words : mapping of str to str
        Parameters that are words: ``padding``.
    metadata : mapping of str to str or ndarray of float64
        What the writer left beside them.
    """

    kind: str
    parameters: Mapping[str, NDArray[np.float64]]
    words: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("parameters", "words", "metadata"):
            held = getattr(self, name)
            locked = {key: frozen(value) if isinstance(value, np.ndarray) else value for key, value in held.items()}
            object.__setattr__(self, name, ReadOnlyMapping(locked))

    def _facts(self) -> dict[str, object]:
        return {"kind": self.kind} | {name: list(array.shape) for name, array in self.parameters.items()}


@dataclass(frozen=True, eq=False)
class NirGraph(Card):
    """Nodes and the pairs that are joined; values of several nodes that feed one add up.

    Attributes
    ----------
    nodes : mapping of str to NirNode or NirGraph
        In the order of the source; files give them by name.
    edges : tuple of (str, str)
        Source and target.
    metadata : mapping of str to str or ndarray of float64
        What the writer left beside them.
    version : str
        Of NIR, where the source says so.
    """

    nodes: Mapping[str, NirNode | NirGraph]
    edges: tuple[tuple[str, str], ...]
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)
    version: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", ReadOnlyMapping(self.nodes))
        object.__setattr__(self, "edges", tuple(self.edges))
        locked = {key: frozen(v) if isinstance(v, np.ndarray) else v for key, v in self.metadata.items()}
        object.__setattr__(self, "metadata", ReadOnlyMapping(locked))

    def _facts(self) -> dict[str, object]:
        return {"nodes": len(self.nodes), "edges": len(self.edges), "version": self.version}
