"""An ONNX file as a message of protobuf: bounded, with its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.messages import show, show_name
from neuromap.files.regular_file import read_bytes
from neuromap.formats.layers.operator_graph import MAX_OPERATORS

__all__ = ["MAX_FILE_BYTES", "input_names", "load_model"]

MAX_FILE_BYTES = 2**31 - 1
"""Largest file: protobuf writes no larger message."""


def load_model(path: Path) -> Any:
    """Read a model; weights in other files are left there."""
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


def input_names(model: Any) -> Iterator[str]:
    """Name the inputs that no stored tensor gives a value."""
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
