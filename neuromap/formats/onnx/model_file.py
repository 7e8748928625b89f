"""An ONNX file as a message of protobuf: bounded, for one frame, with the shapes of its tensors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import show, show_name
from neuromap.files.regular_file import read_bytes
from neuromap.formats.layers.operator import TensorShape
from neuromap.formats.layers.operator_graph import MAX_OPERATORS

__all__ = ["MAX_ELEMENTS", "MAX_FILE_BYTES", "load_model", "tensor_shapes"]

MAX_FILE_BYTES = 2**31 - 1
"""Largest file: protobuf writes no larger message."""
MAX_ELEMENTS = 2**40
"""Most elements of a tensor: larger shapes are taken as unknown, so that no product of lengths grows without end."""
_MOST_AXES = 16


def load_model(path: Path) -> Any:
    """Read a model; weights in other files are left there.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    InputError
        If it is no ONNX model, is too large, or has no operators or too many.
    """
    import onnx
    from google.protobuf.message import DecodeError

    content = read_bytes(path, "model file of ONNX", MAX_FILE_BYTES, InputError)
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except (DecodeError, ValueError, RecursionError):
        raise InputError("is no ONNX model, or a truncated one; write it again, with onnx.save") from None
    if not _is_text(model):
        raise InputError("holds names that are no UTF-8; the file is damaged, write it again with onnx.save")
    nodes = len(model.graph.node)
    if not nodes:
        raise InputError("holds no operators; expected an ONNX model, as onnx.save writes it")
    if nodes > MAX_OPERATORS:
        raise InputError(f"holds {nodes} operators; at most {MAX_OPERATORS} are taken, split the model into parts")
    return model


def _is_text(message: Any) -> bool:
    """Tell whether all texts of a message, and of those in it, are texts: damaged ones come as bytes."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            parts = value if hasattr(value, "__len__") else [value]
            if not all(_is_text(part) for part in parts):
                return False
        elif field.type == field.TYPE_STRING:
            parts = [value] if isinstance(value, str | bytes) else value
            if any(isinstance(part, bytes) for part in parts):
                return False
    return True


def tensor_shapes(model: Any) -> dict[str, TensorShape | None]:
    """Find the shapes of all tensors for a batch of one frame, as far as they follow from those of the inputs.

    The model is changed: the first axis of its inputs, where it is no number, and every axis of the same name, is 1.

    Parameters
    ----------
    model : onnx.ModelProto

    Returns
    -------
    dict of str to (tuple of int or None)
    """
    stored = {tensor.name for tensor in model.graph.initializer}
    _one_frame(model.graph, stored)
    said = {info.name: _shape(info.type) for info in (*model.graph.value_info, *model.graph.output)}
    found = {info.name: _shape(info.type) for info in model.graph.input if info.name not in stored}
    inferred = _inferred(model)
    for info in (*inferred.graph.value_info, *inferred.graph.output):
        found[info.name] = _shape(info.type) or found.get(info.name)
    return {**said, **{name: shape for name, shape in found.items() if shape is not None or name not in said}}


def _one_frame(graph: Any, stored: set[str]) -> None:
    """Put 1 where a batch of any length may stand."""
    batches = set()
    for info in graph.input:
        axes = info.type.tensor_type.shape.dim
        if info.name in stored or len(axes) < 2 or (axes[0].HasField("dim_value") and axes[0].dim_value > 0):
            continue
        batches.add(axes[0].dim_param)
        axes[0].dim_value = 1
    batches.discard("")
    for info in (*graph.input, *graph.value_info, *graph.output):
        for axis in info.type.tensor_type.shape.dim:
            if axis.dim_param in batches:
                axis.dim_value = 1


def _inferred(model: Any) -> Any:
    """Let the ``onnx`` package find shapes; where it cannot, those that the file says must do."""
    import onnx
    from google.protobuf.message import DecodeError, EncodeError

    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, DecodeError, EncodeError, ValueError, RuntimeError, MemoryError):
        return onnx.ModelProto()


def _shape(kind: Any) -> TensorShape | None:
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    axes = kind.tensor_type.shape.dim
    if len(axes) > _MOST_AXES or not all(axis.HasField("dim_value") and axis.dim_value > 0 for axis in axes):
        return None
    shape = tuple(int(axis.dim_value) for axis in axes)
    return shape if math.prod(shape) <= MAX_ELEMENTS else None


def input_names(model: Any) -> Iterator[str]:
    """Name the inputs that no stored tensor gives a value.

    Raises
    ------
    InputError
        If one is given twice, or is no tensor.
    """
    stored = {tensor.name for tensor in model.graph.initializer}
    stored |= {tensor.values.name for tensor in model.graph.sparse_initializer}
    seen: set[str] = set()
    for info in model.graph.input:
        if info.name in seen:
            raise InputError(f"input {show_name(info.name)}: is given twice; names of tensors are given once")
        seen.add(info.name)
        if info.name not in stored:
            if not info.type.HasField("tensor_type"):
                raise InputError(
                    f"input {show_name(info.name)}: is {show(info.type.WhichOneof('value'))}; only tensors are taken"
                )
            yield info.name
