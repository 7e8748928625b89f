"""A network from elsewhere, and what its import kept, approximated and refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly, frozen
from neuromap.network.network import Network
from neuromap.quantise.quantisation import Quantisation
from neuromap.render.value import Card, Documented, Formed, Paged


@dataclass(frozen=True)
class Note(Card):
    """One thing that an import says of a part of what it read.

    Attributes
    ----------
    about : str
        The part, named as in the source and, where it has a name there, in the network.
    text : str
        What became of it, in a clause.
    remedy : str
        The way out of a refusal; empty for what is kept or approximated.
    error : float or None
        By how much it is approximated; ``None`` where it is exact or cannot be told in a number.
    unit : str
        Of the error, such as ``"of the greatest weight"``; empty without one.
    """

    about: str
    text: str
    remedy: str = ""
    error: float | None = None
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Imported(ReadOnly, Documented, Paged):
    """A network from elsewhere with a summary of its import.

    Attributes
    ----------
    network : Network
        With weights where all could be taken over, else of structure with shapes, or of structure only.
    format : str
        As :data:`neuromap.exchange.formats.IMPORT_FORMATS` calls it.
    source : str
        File, or class of the module, that was read.
    producer : str
        Tool and version that wrote it, where the file says so; else empty.
    kept, approximated, refused : tuple of Note
        What is exactly as in the source; what is not, with errors; what was left out, with a way out. A source of which
        nothing can be taken over is refused with an error instead.
    work : mapping of str to int
        Multiply-accumulates of each node in one frame, as the source counts them; empty where they are not known.
    quantisation : Quantisation or None
        What putting float neurons and weights into a chip's integers cost; ``None`` where nothing was float.
    cores : mapping of str to ndarray of int64, shape (size,)
        Core of every neuron of a node, where the source says it: for
        :class:`~neuromap.mapping.options.options.Pins` as ``neurons``.
    """

    network: Network
    format: str
    source: str
    producer: str = ""
    kept: tuple[Note, ...] = ()
    approximated: tuple[Note, ...] = ()
    refused: tuple[Note, ...] = ()
    work: Mapping[str, int] = field(default_factory=dict)
    quantisation: Quantisation | None = None
    cores: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)

    _called = "an import"
    _forms = (
        "neuromap.exchange.of_imports",
        "neuromap.exchange.page",
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "cores", {name: frozen(of) for name, of in self.cores.items()})
        super().__post_init__()

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network.name,
            "format": self.format,
            "source": self.source,
            "nodes": len(self.network.nodes),
            "edges": len(self.network.edges),
            "kept": len(self.kept),
            "approximated": len(self.approximated),
            "refused": len(self.refused),
        }


@dataclass(frozen=True, eq=False)
class Exported(ReadOnly, Formed):
    """What an export gives: the content of its files, not yet written, with a summary.

    Attributes
    ----------
    name : str
        Of the network or program.
    format : str
        As :data:`neuromap.exchange.formats.EXPORT_FORMATS` calls it.
    contents : mapping of str to str or bytes
        Content of every file by its name in the folder that is written; the only one of a format that is one file.
    figures : mapping of str to int or str
        What was written, in numbers: names with units, as the summary prints them.
    kept, approximated, refused : tuple of Note
        What the tool is given exactly; what it computes otherwise; what it has no place for, with a way out. A source
        of which nothing can be written is refused with an error instead.
    """

    name: str
    format: str
    contents: Mapping[str, str | bytes]
    figures: Mapping[str, int | str] = field(default_factory=dict)
    kept: tuple[Note, ...] = ()
    approximated: tuple[Note, ...] = ()
    refused: tuple[Note, ...] = ()

    _called = "an export"
    _forms = ("neuromap.exchange.of_exports",)

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "format": self.format,
            "files": ", ".join(self.contents),
            **self.figures,
            "kept": len(self.kept),
            "approximated": len(self.approximated),
            "refused": len(self.refused),
        }
