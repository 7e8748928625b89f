"""Graphs of operators, as ONNX files and PyTorch modules hold them, made networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {"from_onnx": "take_graph", "from_torch": "take_graph", "to_onnx": "graded_onnx"}

if TYPE_CHECKING:
    from neuromap.exchange.layers.graded_onnx import to_onnx as to_onnx
    from neuromap.exchange.layers.take_graph import from_onnx as from_onnx
    from neuromap.exchange.layers.take_graph import from_torch as from_torch

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
