"""Tensor shapes of an ONNX file for one frame, inferred by the package ``onnx`` in a process of its own.

Its shape inference is written in C++, and some files end the process that it runs in, or keep it busy without end. It
gets the graph without its weights: shapes follow from shapes, and from small integers.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from neuromap.errors import InputError
from neuromap.files.confined import Answer, confined
from neuromap.formats.layers import TensorShape

# Most elements of a tensor: larger shapes count as unknown, so that no product of lengths grows without bound.
MAX_ELEMENTS = 2**40
_MOST_AXES = 16
# Most elements of a stored tensor whose numbers may determine shapes: lengths, axes, sizes of parts.
_SMALL = 256
# Most bytes of a graph, without its weights, that is sent.
_MOST_BYTES = 2**25
_MEMORY = 2**29
# Types of integers that ONNX takes means of: int32, int64, uint32, uint64.
_WHOLE = (6, 7, 12, 13)
# Seconds of computing for any graph, and operators whose shapes a slow machine infers per further second.
_SECONDS, _OPERATORS_PER_SECOND = 5.0, 2000


def tensor_shapes(model: Any) -> tuple[dict[str, TensorShape | None], list[str], list[str]]:
    """Find the shapes of all tensors for a batch of one frame, as far as those of the inputs determine them."""
    # and which tensors hold integers of 32 or 64 bits
    # The model is changed: the first axis of its inputs, if not a number, and every axis of the same name become 1.
    stored = {tensor.name for tensor in model.graph.initializer}
    _one_frame(model.graph, stored)
    said = {info.name: _shape(info.type) for info in (*model.graph.value_info, *model.graph.output)}
    found = {info.name: _shape(info.type) for info in model.graph.input if info.name not in stored}
    whole = _whole((*model.graph.input, *model.graph.value_info, *model.graph.output))
    inferred, whole_too, unread = _inferred(model)
    for name, shape in inferred.items():
        found[name] = found.get(name) if shape is None else tuple(shape)
    wrong = [name for name, shape in said.items() if shape and inferred.get(name) and shape != found[name]]
    if wrong:
        first, more = wrong[0], f", and so for {len(wrong) - 1} more" if len(wrong) > 1 else ""
        unread.append(f"shapes: the file says {said[first]} of {first}; its operators give {found[first]}, used{more}")
    shapes = {**said, **{name: shape for name, shape in found.items() if shape is not None or name not in said}}
    return shapes, [*whole, *whole_too], unread


def _one_frame(graph: Any, stored: set[str]) -> None:
    """Set batch axes of any length to 1."""
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


def _inferred(model: Any) -> tuple[Mapping[str, Any], list[str], list[str]]:
    """Infer shapes in the child process; if it fails or does not return, those stated by the file must do."""
    content = without_weights(model).SerializeToString()
    if len(content) > _MOST_BYTES:
        why = f"shapes: the graph without its weights has more than {_MOST_BYTES} bytes, those it says are taken"
        return {}, [], [why]
    work = _SECONDS + len(model.graph.node) / _OPERATORS_PER_SECOND
    asked = {"content": b64encode(content).decode()}
    try:
        told, _ = confined(f"{__name__}:infer", asked, "graph of ONNX", memory=_MEMORY, keep=True, work=work)
    except InputError as error:
        return {}, [], [f"shapes: the graph {error}; those that the file says are taken"]
    return told["shapes"], told["whole"], [f"shapes: onnx finds none ({why})" for why in told["why"]]


def without_weights(model: Any) -> Any:
    """Copy what determines shapes; large stored tensors become inputs of the same type and shape."""
    import onnx

    graph = model.graph
    copy = onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    copy.graph.name = graph.name
    for field in ("input", "output", "value_info"):
        getattr(copy.graph, field).extend(getattr(graph, field))
    named = {info.name for info in graph.input}

    def as_input(name: str, kind: int, dims: Any) -> None:
        if name not in named:
            named.add(name)
            copy.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, list(dims)))

    copy.graph.initializer.extend(tensor for tensor in graph.initializer if _is_small(tensor))
    for tensor in graph.initializer:
        if not _is_small(tensor):
            as_input(tensor.name, tensor.data_type, tensor.dims)
    for sparse in graph.sparse_initializer:
        as_input(sparse.values.name, sparse.values.data_type, sparse.dims)
    for node in graph.node:
        large = next((one.t for one in node.attribute if one.HasField("t") and not _is_small(one.t)), None)
        if large is not None and node.op_type == "Constant" and len(node.output) == 1:
            as_input(node.output[0], large.data_type, large.dims)
            continue
        kept = copy.graph.node.add(op_type=node.op_type, domain=node.domain, input=node.input, output=node.output)
        kept.attribute.extend(node.attribute)
    return copy


def _is_small(tensor: Any) -> bool:
    return bool(tensor.data_location == 0 and math.prod(tensor.dims) <= _SMALL and tensor.ByteSize() <= 16 * _SMALL)


def infer(content: str) -> Answer:
    """Infer the shapes of a graph, in the child process."""
    import onnx
    from google.protobuf.message import DecodeError, EncodeError

    kinds = (onnx.shape_inference.InferenceError, DecodeError, EncodeError, ValueError, RuntimeError, MemoryError)
    try:
        model = onnx.load_model_from_string(b64decode(content))
        said = {}
        for info in (*model.graph.value_info, *model.graph.output):
            said[info.name] = onnx.TypeProto.FromString(info.type.SerializeToString())
            info.ClearField("type")
        # shapes from operators take precedence over those that the file states, which fill the gaps
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        infos = (*model.graph.value_info, *model.graph.output)
        unknown = [i for i in infos if _shape(i.type) is None and i.name in said and _agree(i.type, said[i.name])]
        for info in unknown:
            info.type.CopyFrom(said[info.name])
        if unknown:
            model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except kinds as error:
        why = " ".join(str(error).split())[:120] or type(error).__name__
        return {"shapes": {}, "whole": [], "why": [why]}, {}
    infos = (*model.graph.value_info, *model.graph.output)
    return {"shapes": {i.name: _shape(i.type) for i in infos}, "whole": _whole(infos), "why": []}, {}


def _agree(found: Any, said: Any) -> bool:
    """Whether all known lengths agree."""
    if not found.tensor_type.HasField("shape"):
        return True
    ours, theirs = found.tensor_type.shape.dim, said.tensor_type.shape.dim
    pairs = zip(ours, theirs, strict=False)
    known = [(a.dim_value, b.dim_value) for a, b in pairs if a.HasField("dim_value") and b.HasField("dim_value")]
    return len(ours) == len(theirs) and all(a == b for a, b in known)


def _whole(infos: Sequence[Any]) -> list[str]:
    return [info.name for info in infos if info.type.tensor_type.elem_type in _WHOLE]


def _shape(kind: Any) -> TensorShape | None:
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    axes = kind.tensor_type.shape.dim
    if len(axes) > _MOST_AXES or not all(axis.HasField("dim_value") and axis.dim_value > 0 for axis in axes):
        return None
    shape = tuple(int(axis.dim_value) for axis in axes)
    return shape if math.prod(shape) <= MAX_ELEMENTS else None
