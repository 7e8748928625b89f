"""Results of imports and exports: what was kept, approximated and refused."""

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
    """What became of one part of an import or export.

    Attributes
    ----------
    about : str
        The part, named as in the source and, where it has a name there, in the network.
    text : str
        What became of it, in a clause.
    remedy : str
        The way out of a refusal; empty for what is kept or approximated.
    error : float or None
        Error of the approximation; ``None`` if it is exact or has no number.
    unit : str
        Unit of the error, such as ``"of the greatest weight"``; empty without one.
    """

    about: str
    text: str
    remedy: str = ""
    error: float | None = None
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Imported(ReadOnly, Documented, Paged):
    """An imported network with a summary of its import.

    Attributes
    ----------
    network : Network
        With weights if all could be imported, else structure with shapes, or structure alone.
    format : str
        Name in :data:`neuromap.exchange.formats.IMPORT_FORMATS`.
    source : str
        File, or class of the module, that was read.
    producer : str
        Tool and version that wrote it; empty if the file does not say.
    kept, approximated, refused : tuple of Note
        Parts exactly as in the source; parts that differ, with errors; parts left out, with remedies. A source of which
        nothing can be imported is refused with an error instead.
    work : mapping of str to int
        Multiply-accumulates of each node in one frame, as the source counts them; empty if unknown.
    quantisation : Quantisation or None
        Cost of putting float neurons and weights into a chip's integers; ``None`` if nothing was float.
    cores : mapping of str to ndarray of int64, shape (size,)
        Core of every neuron of a node, if the source gives it, for ``neurons`` of
        :class:`~neuromap.mapping.options.options.Pins`.
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
    _forms = ("neuromap.exchange.of_imports", "neuromap.exchange.page")

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
    """Result of an export: the contents of its files, not yet written, with a summary.

    Attributes
    ----------
    name : str
        Name of the network, program or trace.
    format : str
        Name in :data:`neuromap.exchange.formats.EXPORT_FORMATS`.
    contents : mapping of str to str or bytes
        Content of every file by its name in the written folder; a single entry for formats of one file.
    figures : mapping of str to int or str
        Figures of what was written: names with units, as the summary prints them.
    kept, approximated, refused : tuple of Note
        Parts given to the tool exactly; parts that it computes differently; parts that it has no place for, with
        remedies. A source of which nothing can be written is refused with an error instead.
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
