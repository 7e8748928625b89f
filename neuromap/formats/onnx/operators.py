"""How operators of ONNX are read; the opsets differ in where they say what, and all are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def take_other(node: Any, label: str, reading: Reading) -> None:
    """Take an operator over as one that reads what it reads."""
    reads = list(dict.fromkeys(tensor for tensor in node.input if not reading.is_constant(tensor)))
    reading.add(node, label, "other", reads, work=0)
