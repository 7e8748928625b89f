"""Networks, programs and traces from other tools and for them, with a word on what became of each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "EXPORT_FORMATS": "formats",
    "Exported": "exported",
    "Format": "formats",
    "IMPORT_FORMATS": "formats",
    "Imported": "imported",
    "Note": "imported",
    "export_file": "to_file",
    "from_nir": "nir.import_nir",
    "from_onnx": "layers.take.onnx_file",
    "from_torch": "layers.take.torch_module",
    "import_file": "from_file",
    "to_neo": "traces.to_neo",
    "to_nir": "nir.export_nir",
    "to_perfetto": "traces.to_perfetto",
    "to_sonata": "traces.to_sonata",
}

if TYPE_CHECKING:
    from neuromap.exchange.exported import Exported as Exported
    from neuromap.exchange.formats import EXPORT_FORMATS as EXPORT_FORMATS
    from neuromap.exchange.formats import IMPORT_FORMATS as IMPORT_FORMATS
    from neuromap.exchange.formats import Format as Format
    from neuromap.exchange.from_file import import_file as import_file
    from neuromap.exchange.imported import Imported as Imported
    from neuromap.exchange.imported import Note as Note
    from neuromap.exchange.layers.take.onnx_file import from_onnx as from_onnx
    from neuromap.exchange.layers.take.torch_module import from_torch as from_torch
    from neuromap.exchange.nir.export_nir import to_nir as to_nir
    from neuromap.exchange.nir.import_nir import from_nir as from_nir
    from neuromap.exchange.to_file import export_file as export_file
    from neuromap.exchange.traces.to_neo import to_neo as to_neo
    from neuromap.exchange.traces.to_perfetto import to_perfetto as to_perfetto
    from neuromap.exchange.traces.to_sonata import to_sonata as to_sonata

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
