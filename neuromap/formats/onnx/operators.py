"""How operators of ONNX are read; the opsets differ in where they say what, and all are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from neuromap.formats.onnx.elementwise import ELEMENTWISE
from neuromap.formats.onnx.moves import MOVES
from neuromap.formats.onnx.reading import Reading
from neuromap.formats.onnx.weighted import WEIGHTED

__all__ = ["TRANSLATORS", "take_other"]

Translator = Callable[[Any, str, dict[str, Any], Reading], bool]
"""Of an operator, its label, its attributes and what is known: whether it was taken over."""

TRANSLATORS: Mapping[str, Translator] = {**WEIGHTED, **MOVES, **ELEMENTWISE}
"""By type of operator."""


def take_other(node: Any, label: str, reading: Reading, within: Sequence[str] = ()) -> None:
    """Take an operator over as one that reads what it, and the graphs within it, read."""
    reads = dict.fromkeys(tensor for tensor in (*node.input, *within) if not reading.is_constant(tensor))
    gives = next(tensor for tensor in node.output if tensor)
    reading.add(node, label, "other", list(reads), work=0, gives=gives)
