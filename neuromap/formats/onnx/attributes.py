"""Attributes of ONNX operators: numbers, texts, lists of numbers, and arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuromap.formats.onnx.stored_tensors import stored_array

__all__ = ["attributes_of"]


def attributes_of(node: Any) -> dict[str, Any]:
    """Read the attributes of an operator; subgraphs and tensors of texts are left out."""
    import onnx

    kind = onnx.AttributeProto
    plain = (kind.INT, kind.FLOAT, kind.STRING, kind.INTS, kind.FLOATS)
    found: dict[str, Any] = {}
    for one in node.attribute:
        if one.type in plain:
            value = onnx.helper.get_attribute_value(one)
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            found[one.name] = value if isinstance(value, int | float | str) else list(value)
        elif one.type == kind.TENSOR and one.t.data_location == 0:
            found[one.name] = stored_array(one.t, Path())
    return {name: value for name, value in found.items() if value is not None}
