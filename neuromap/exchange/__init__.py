"""Networks, programs and traces from other tools and for them, with a word on what became of each part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "EXPORT_FORMATS": "formats",
    "Exported": "imported",
    "Format": "formats",
    "IMPORT_FORMATS": "formats",
    "Imported": "imported",
    "Note": "imported",
    "export_file": "formats",
    "from_nir": "nir.import_nir",
    "from_onnx": "layers.take_graph",
    "from_torch": "layers.take_graph",
    "import_file": "formats",
    "to_neo": "spike_traces",
    "to_nir": "nir.export_nir",
    "to_onnx": "layers.graded_onnx",
    "to_perfetto": "perfetto_trace",
    "to_sonata": "spike_traces",
}

if TYPE_CHECKING:
    from neuromap.exchange.formats import EXPORT_FORMATS as EXPORT_FORMATS
    from neuromap.exchange.formats import IMPORT_FORMATS as IMPORT_FORMATS
    from neuromap.exchange.formats import Format as Format
    from neuromap.exchange.formats import export_file as export_file
    from neuromap.exchange.formats import import_file as import_file
    from neuromap.exchange.imported import Exported as Exported
    from neuromap.exchange.imported import Imported as Imported
    from neuromap.exchange.imported import Note as Note
    from neuromap.exchange.layers.graded_onnx import to_onnx as to_onnx
    from neuromap.exchange.layers.take_graph import from_onnx as from_onnx
    from neuromap.exchange.layers.take_graph import from_torch as from_torch
    from neuromap.exchange.nir.export_nir import to_nir as to_nir
    from neuromap.exchange.nir.import_nir import from_nir as from_nir
    from neuromap.exchange.perfetto_trace import to_perfetto as to_perfetto
    from neuromap.exchange.spike_traces import to_neo as to_neo
    from neuromap.exchange.spike_traces import to_sonata as to_sonata

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
