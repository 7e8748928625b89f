"""NIR (neuromorphs/NIR): graphs of its files and objects, read as plain values and written (``docs/nir.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "NirGraph": "nir_graph",
    "NirNode": "nir_graph",
    "graph_of": "nir_graph",
    "read_nir": "hdf5_file",
    "write_nir": "nir_object",
}

if TYPE_CHECKING:
    from neuromap.formats.nir.hdf5_file import read_nir as read_nir
    from neuromap.formats.nir.nir_graph import NirGraph as NirGraph
    from neuromap.formats.nir.nir_graph import NirNode as NirNode
    from neuromap.formats.nir.nir_graph import graph_of as graph_of
    from neuromap.formats.nir.nir_object import write_nir as write_nir

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
