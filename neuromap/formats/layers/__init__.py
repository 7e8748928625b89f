"""Graphs of operators: what readers of ONNX files and of PyTorch modules make, and nothing else reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "KINDS": "operator",
    "Operator": "operator",
    "OperatorGraph": "operator_graph",
    "simplified": "operator_graph",
}

if TYPE_CHECKING:
    from neuromap.formats.layers.operator import KINDS as KINDS
    from neuromap.formats.layers.operator import Operator as Operator
    from neuromap.formats.layers.operator_graph import OperatorGraph as OperatorGraph
    from neuromap.formats.layers.operator_graph import simplified as simplified

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
