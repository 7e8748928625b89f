"""Attributes of ONNX operators: numbers, texts and lists of them, each of the type that ONNX gives it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import show, show_name
from neuromap.formats.onnx.stored_tensors import stored_array

__all__ = ["attributes_of"]

_INTEGERS = (
    *(
        "axis",
        "group",
        "to",
        "transA",
        "transB",
        "keepdims",
        "ceil_mode",
        "count_include_pad",
        "allowzero",
        "start",
        "end",
    ),
    "training_mode",
)
_TYPES: Mapping[str, str] = {
    **dict.fromkeys(_INTEGERS, "INT"),
    **dict.fromkeys(("alpha", "beta", "epsilon", "min", "max"), "FLOAT"),
    **dict.fromkeys(("kernel_shape", "strides", "dilations", "perm", "axes", "starts", "ends"), "INTS"),
    **dict.fromkeys(("auto_pad", "mode", "equation"), "STRING"),
}
"""Attributes that are read, and what they are; ``pads`` are integers, and so is whatever else is asked for."""


def attributes_of(node: Any) -> dict[str, Any]:
    """Read the attributes of an operator; subgraphs and tensors of texts are left out.

    Parameters
    ----------
    node : onnx.NodeProto

    Returns
    -------
    dict of str to object
        Integers, floats, texts, lists of numbers, arrays.

    Raises
    ------
    InputError
        If one is of another type than ONNX says.
    """
    import onnx

    kind = onnx.AttributeProto
    plain = (kind.INT, kind.FLOAT, kind.STRING, kind.INTS, kind.FLOATS)
    found: dict[str, Any] = {}
    for one in node.attribute:
        wanted = _TYPES.get(one.name)
        if wanted is not None and one.type != getattr(kind, wanted):
            raise InputError(
                f"operator {show_name(node.name or node.op_type)}: attribute {one.name} is no {wanted}; write the file "
                "again"
            )
        if one.type in plain:
            value = onnx.helper.get_attribute_value(one)
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            found[one.name] = value if isinstance(value, int | float | str) else list(value)
        elif one.type == kind.TENSOR and one.t.data_location == 0:
            found[one.name] = stored_array(one.t, Path())
    if "pads" in found and not isinstance(found["pads"], list):
        raise InputError(f"operator {show_name(node.name or node.op_type)}: pads {show(found['pads'])} are no list")
    return {name: value for name, value in found.items() if value is not None}
