"""NIR there and back: ``from_nir``, ``to_nir`` (``docs/nir.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "TOOLS": "float_network",
    "from_nir": "import_nir",
    "nir_graph": "export_nir",
    "to_nir": "export_nir",
}

if TYPE_CHECKING:
    from neuromap.exchange.nir.export_nir import nir_graph as nir_graph
    from neuromap.exchange.nir.export_nir import to_nir as to_nir
    from neuromap.exchange.nir.float_network import TOOLS as TOOLS
    from neuromap.exchange.nir.import_nir import from_nir as from_nir

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
