"""ONNX files, read into graphs of operators. Needs the extra ``onnx``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"read_onnx": "file_graph"}

if TYPE_CHECKING:
    from neuromap.formats.onnx.file_graph import read_onnx as read_onnx

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
